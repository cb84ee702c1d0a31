import argparse
import dataclasses

import pytest

from reproduce.own_data import adapted
from reproduce.own_data import epoch_numbers
from reproduce.own_data import image_limits
from reproduce.psst.paper import PSST
from reproduce.sweep_options import sweep_parser
from reproduce.wtf_rl.settings import FLICKR8K


def test_every_phase_or_some_have_other_epochs():
    own = adapted(FLICKR8K, epoch_numbers("30,reward=2,unseen=9"))
    assert own.speaker_epochs == own.grammar_epochs == 30
    assert own.reward_epochs == 2
    assert (own.retriever.epochs, own.unseen.epochs) == (30, 9)
    assert own.retriever.network == FLICKR8K.retriever.network
    same = adapted(
        own, epoch_numbers("speaker=7"), min_count=FLICKR8K.min_count
    )
    assert same == dataclasses.replace(own, speaker_epochs=7)
    options = sweep_parser(PSST).parse_args(["--epochs", "speaker=4"])
    assert options.epochs == {"speaker": 4}
    options = sweep_parser(PSST).parse_args(["--limit", "train=4,test=2"])
    assert options.limit == {"train": 4, "test": 2}


def test_numbers_and_phases_that_there_are_not_are_refused():
    for text in ("0", "many", "speaker=", "-3", "1,,"):
        with pytest.raises(argparse.ArgumentTypeError, match="no positive"):
            epoch_numbers(text)
    for text in ("4", "train=0", "rest=3", "train=", "train=1,"):
        with pytest.raises(argparse.ArgumentTypeError, match="no list"):
            image_limits(text)
    for text in ("30,20", "speaker=3,speaker=7", "train=5,val=2,train=9"):
        name = text.partition("=")[0] if "=" in text else "every phase"
        read = image_limits if name == "train" else epoch_numbers
        with pytest.raises(argparse.ArgumentTypeError, match=f"for {name}$"):
            read(text)
    with pytest.raises(ValueError, match="speaker, .*Received: joint"):
        adapted(FLICKR8K, {"joint": 3})
    with pytest.raises(ValueError, match="`--min-count` must be at least 1"):
        adapted(FLICKR8K, min_count=0)
