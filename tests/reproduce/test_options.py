import argparse
import dataclasses

import pytest

from reproduce.command import main
from reproduce.options import adapted
from reproduce.options import asked_grid
from reproduce.options import epoch_numbers
from reproduce.options import image_limits
from reproduce.options import sweep_parser
from reproduce.psst.paper import PSST
from reproduce.wtf_rl.settings import FLICKR8K


def parsed(*words):
    return sweep_parser(PSST).parse_args(words)


def test_numbers_that_are_not_asked_for_are_the_usual_ones():
    rows = ["--methods", "psst_multinomial", "--rhos", "0.5"]
    (part,) = asked_grid(PSST, parsed(*rows))
    assert part["rho"] == [0.5] and part["lambda"] == list(PSST.usual["lambda"])
    words = ["--methods=psst_multinomial", "--temperatures=3"]
    with pytest.raises(ValueError, match="must apply to a row.*gumbel"):
        asked_grid(PSST, parsed(*words))


def test_unknown_scores_are_refused_before_anything_is_made(tmp_path, capsys):
    out = tmp_path / "sweep"
    assert main(["psst", "--metrics", "nope", "--out", str(out)]) == 2
    assert "`--metrics` must be among" in capsys.readouterr().err
    assert not out.exists()


def test_every_phase_or_some_have_other_epochs():
    own = adapted(FLICKR8K, epoch_numbers("30,reward=2,unseen=9"))
    assert own.speaker_epochs == own.grammar_epochs == 30
    assert own.reward_epochs == 2
    assert (own.retriever.epochs, own.unseen.epochs) == (30, 9)
    assert own.retriever.network == FLICKR8K.retriever.network
    same = adapted(own, epoch_numbers("speaker=7"), FLICKR8K.min_count)
    assert same == dataclasses.replace(own, speaker_epochs=7)
    options = parsed("--epochs", "speaker=4", "--limit", "train=4,test=2")
    assert options.epochs == {"speaker": 4}
    assert options.limit == {"train": 4, "test": 2}
    with pytest.raises(ValueError, match="speaker, .*Received: joint"):
        adapted(FLICKR8K, {"joint": 3})


@pytest.mark.parametrize(
    "read, text",
    [
        *[(epoch_numbers, x) for x in ("0", "many", "speaker=", "-3", "1,,")],
        *[(epoch_numbers, x) for x in ("30,20", "speaker=3,speaker=7")],
        *[(image_limits, x) for x in ("4", "train=0", "rest=3", "train=1,")],
        (image_limits, "train=5,val=2,train=9"),
    ],
)
def test_numbers_and_names_that_there_are_not_are_refused(read, text):
    with pytest.raises(argparse.ArgumentTypeError, match=f"Received: '{text}'"):
        read(text)
