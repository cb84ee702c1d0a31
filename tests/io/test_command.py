import errno

import pytest

from tfcap._io import command


def ended(capsys, error, *errors):
    """Status of a command in which an error is raised, and what it says."""

    @command(*errors)
    def main(error, status=0):
        """Its own words."""
        if error is not None:
            raise error
        return status

    assert main.__doc__ == "Its own words."
    return main(error, status=7), capsys.readouterr().err


@pytest.mark.parametrize(
    "error, told",
    [
        (
            PermissionError(errno.EACCES, "Permission denied", "runs/a"),
            "`path` must be .* Received: path='runs/a' (Permission denied)",
        ),
        (OSError(errno.ENOSPC, "No space left", "a"), "Make room"),
        (OSError(errno.EMFILE, "Too many", "a"), "ulimit -n"),
        (OSError(errno.EIO, "Input/output error"), "[Errno 5] Input"),
        (OSError(errno.EACCES, "`path` must be x."), "`path` must be x."),
        (OSError("the disk is gone"), "the disk is gone"),
        (ValueError("`root` must be one. Received: 0."), "`root` must be one."),
        (ValueError("--root must be given."), "--root must be given."),
        (KeyError("a"), "'a'"),
    ],
)
def test_an_error_of_the_user_is_one_sentence(capsys, error, told):
    status, said = ended(capsys, error, KeyError)
    assert status == 2 and said.startswith("error: ") and said.count("\n") == 1
    for part in told.split(".*"):
        assert part in said


def test_other_errors_keep_their_traceback(capsys):
    for error in (KeyError("a"), ValueError("Dimensions must be equal")):
        with pytest.raises(type(error)):
            ended(capsys, error)
    assert ended(capsys, ValueError("anything"), ValueError)[0] == 2


def test_a_command_returns_its_status_or_that_it_was_interrupted(capsys):
    assert ended(capsys, None) == (7, "")
    assert ended(capsys, KeyboardInterrupt()) == (130, "\ninterrupted\n")
