"""Commands that end with a sentence where their input is wrong."""

import errno
import functools
import sys
from collections.abc import Callable

#: What a path must be and what to do, by what the system says of it.
_WANTED = {
    errno.ENOENT: ("there", "See that it is written right."),
    errno.EEXIST: ("no file that is there already", "Choose another one."),
    errno.ENOTDIR: ("in a folder, not in a file", "Choose another one."),
    errno.EISDIR: ("a file, not a folder", "Name a file in it."),
    errno.ENOSPC: (
        "on a disk with room",
        "Make room, and run the same command again: what is done is kept.",
    ),
    errno.EMFILE: (
        "one of as many as a process may have open",
        "Raise their number, as by `ulimit -n 4096`, and run the same command "
        "again: what is done is kept.",
    ),
}
_WANTED[errno.EDQUOT] = _WANTED[errno.ENOSPC]
_CLOSED = (
    "open to this user",
    "Choose another one, or change its permissions. What is done is kept.",
)


def command(*errors: type[Exception]) -> Callable:
    """Decorator of the main function of a command.

    Where a file or a folder cannot be used, or an argument is refused, the
    command prints one sentence and ends with status 2. Errors of other kinds,
    which are not the user's, keep their traceback.

    Args:
        *errors: Classes of other exceptions that are told in a sentence.

    Returns:
        Decorator of a function that returns the exit status.

    Example:

    >>> from tfcap._io import command
    >>> @command()
    ... def main(path):
    ...     with open(path) as file:
    ...         print(len(file.read()))
    ...     return 0
    >>> main("/no/such/file")
    2
    """

    def decorate(main):
        @functools.wraps(main)
        def run(*arguments, **options):
            try:
                return main(*arguments, **options)
            except (OSError, ValueError, *errors) as error:
                text = sentence(error)
                if not (text.startswith(("`", "-")) or _is_told(error, errors)):
                    raise
                print(f"error: {text}", file=sys.stderr)
                return 2
            except KeyboardInterrupt:
                print("\ninterrupted", file=sys.stderr)
                return 130

        return run

    return decorate


def sentence(error):
    """An error as the sentence to print of it.

    Returns:
        String. An error of the system that names a file says what the file
        must be, and what to do.

    Example:

    >>> from tfcap._io.command import sentence
    >>> sentence(PermissionError(13, "Permission denied", "runs"))[:36]
    '`path` must be open to this user. Re'
    """
    if not isinstance(error, OSError) or error.errno is None:
        return str(error)
    if error.filename is None:
        # One of ours says it all.
        ours = str(error.strerror).startswith("`")
        return error.strerror if ours else str(error)
    closed = isinstance(error, PermissionError) or error.errno == errno.EROFS
    wanted, hint = _WANTED.get(error.errno, (None, None))
    wanted, hint = _CLOSED if closed else (wanted, hint)
    if wanted is None:
        return str(error)
    return (
        f"`path` must be {wanted}. Received: path={str(error.filename)!r} "
        f"({error.strerror}). {hint}"
    )


def _is_told(error, errors):
    return isinstance(error, (OSError, *errors))
