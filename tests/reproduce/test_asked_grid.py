import pytest

from reproduce.command import main
from reproduce.psst.paper import PSST
from reproduce.sweep_options import asked_grid
from reproduce.sweep_options import sweep_parser


def grid(*words):
    return asked_grid(PSST, sweep_parser(PSST).parse_args(words))


def test_numbers_that_are_not_asked_for_are_the_usual_ones():
    rows = ["--methods", "psst_multinomial", "--rhos", "0.5"]
    (part,) = grid(*rows)
    assert part["rho"] == [0.5] and part["lambda"] == list(PSST.usual["lambda"])


@pytest.mark.parametrize(
    "words, cure",
    [
        (["--lambdas=nan"], "`lambda` must be at least 0.*nan"),
        (["--lambdas=-1"], "`lambda` must be at least 0"),
        (["--rhos=2"], "`rho` must be in"),
        (["--temperatures=0"], "`temperature` must be positive"),
        (["--seeds=-1"], "`--seeds` must be in"),
        (
            ["--methods=psst_multinomial", "--temperatures=3"],
            "`temperature` must move a row.*It moves .*psst_gumbel",
        ),
        (["--methods=speaker_mle", "--lambdas=0.1"], "`lambda` must move"),
    ],
)
def test_what_cannot_be_swept_is_refused(words, cure):
    with pytest.raises(ValueError, match=cure):
        grid(*words)


def test_unknown_scores_are_refused_before_anything_is_made(tmp_path, capsys):
    out = tmp_path / "sweep"
    assert main(["psst", "--metrics", "nope", "--out", str(out)]) == 2
    assert "`--metrics` must be among" in capsys.readouterr().err
    assert not out.exists()
