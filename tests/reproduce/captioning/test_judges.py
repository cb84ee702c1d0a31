import numpy as np
import pytest

from reproduce.captioning.judges import pretrained_discriminator
from reproduce.captioning.judges import pretrained_grammar
from reproduce.experiment import Experiment
from reproduce.grammar_batches import CORRUPTIONS
from reproduce.study import read_written
from tests.eager import run_eagerly
from tests.reproduce.psst.tiny_study import study
from tfcap.decoding import BeamSearch

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    with run_eagerly():
        yield


def same(one, other):
    pairs = zip(one.get_weights(), other.get_weights(), strict=True)
    return all(np.array_equal(a, b) for a, b in pairs)


def never(*args, **options):
    raise RuntimeError("trained again")


def test_a_discriminator_learns_alone_once(tmp_path, monkeypatch):
    made = study(tmp_path)
    speaker = made.networks("speaker_mle")["speaker"]
    retriever = made.networks("listener_gt")["listener"]
    kept = speaker.get_weights(), retriever.get_weights()
    decoder = BeamSearch(2, max_length=6)
    options = speaker, retriever, decoder, 1, 1e-3, (4, 3)
    first = pretrained_discriminator(made, *options)
    for network, weights in zip((speaker, retriever), kept):
        for before, now in zip(weights, network.get_weights(), strict=True):
            np.testing.assert_array_equal(now, before)
    monkeypatch.setattr(Experiment, "fit", never)
    again = pretrained_discriminator(study(tmp_path), *options)
    assert first is not again and same(first, again)
    assert first.units == (4, 3)


def test_a_grammar_classifier_learns_alone_once(tmp_path, monkeypatch):
    options = 1, 1e-3, 4, 3
    first = pretrained_grammar(study(tmp_path), *options)
    accuracy = read_written(tmp_path / "grammar" / "accuracy.json")
    assert {"human", "mean"} < set(accuracy) <= {"human", "mean", *CORRUPTIONS}
    monkeypatch.setattr(Experiment, "fit", never)
    again = pretrained_grammar(study(tmp_path), *options)
    assert first is not again and same(first, again)
