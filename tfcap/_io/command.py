"""Commands that report wrong input in one sentence."""

import functools
import sys
from collections.abc import Callable


def command(*errors: type[Exception]) -> Callable:
    """Decorates the main function of a command.

    If a file or a folder cannot be used, or an argument is rejected, the
    command prints one sentence and ends with status 2. Other errors, which are
    not the user's, keep their traceback.

    Args:
        *errors: Classes of other exceptions to report in one sentence.

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
                ours = text.startswith(("`", "-"))
                if not ours and not isinstance(error, (OSError, *errors)):
                    raise
                print(f"error: {text}", file=sys.stderr)
                return 2
            except KeyboardInterrupt:
                print("\ninterrupted", file=sys.stderr)
                return 130

        return run

    return decorate


def sentence(error):
    """Returns the sentence to print for an error.

    Example:

    >>> from tfcap._io.command import sentence
    >>> sentence(PermissionError(13, "Permission denied", "runs"))[:42]
    '`path` must be a file or folder that can b'
    """
    if isinstance(error, OSError) and error.filename is not None:
        return (
            "`path` must be a file or folder that can be used. Received: "
            f"path={str(error.filename)!r} ({error.strerror}). Choose another "
            "one, or repair it."
        )
    # Our own messages are printed without the error number before them.
    ours = str(getattr(error, "strerror", "")).startswith("`")
    return error.strerror if ours else str(error)
