import dataclasses
import json
import pathlib

import pytest
import tensorflow as tf

from reproduce.psst.settings import SETTINGS
from reproduce.psst.settings import PSSTSettings
from tests.reproduce.psst.tiny_study import study
from tfcap.losses import BidirectionalContrastiveLoss
from tfcap.losses import HingeRetrievalLoss

RESULTS = pathlib.Path(__file__).parents[3] / "results"


@pytest.fixture
def eagerly():
    # A few steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.parametrize("name", ["world", "flickr8k"])
def test_records_are_of_the_settings_that_are_there(name):
    text = (RESULTS / f"tradeoff_{name}" / "sweep.json").read_text()
    found = json.loads(text)["shared"]["settings"]
    usual = dataclasses.asdict(PSSTSettings())
    now = dataclasses.asdict(SETTINGS[name])
    assert found == {k: v for k, v in now.items() if v != usual[k]}


@pytest.mark.filterwarnings("ignore:Even though the `tf.config")
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("hinge", HingeRetrievalLoss),
        ("contrastive", BidirectionalContrastiveLoss),
    ],
)
def test_settings_choose_the_listener_and_its_loss(
    eagerly, tmp_path, name, kind
):
    made = study(
        tmp_path,
        listener_loss=name,
        listener_temperature=0.3,
        listener_pooling="max",
        listener_bag_of_words=True,
        listener_epochs=1,
    )
    listener = made.networks("listener_gt")["listener"]
    assert isinstance(listener.loss, kind)
    assert listener.pooling == "max" and listener.bag_of_words
    if name == "contrastive":
        assert listener.loss.temperature == 0.3
        assert not listener.loss.decoupled


def test_an_unknown_loss_is_named():
    with pytest.raises(ValueError, match="`listener_loss`.*'triplet'"):
        PSSTSettings(listener_loss="triplet")
