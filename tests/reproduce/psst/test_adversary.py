import numpy as np
import pytest
import tensorflow as tf

from reproduce.experiment import Experiment
from reproduce.psst.adversary import pretrained_evaluator
from reproduce.psst.paper import PSST
from tests.reproduce.psst.tiny_study import study

pytestmark = pytest.mark.filterwarnings("ignore:Even though the `tf.config")


@pytest.fixture(scope="module", autouse=True)
def eagerly():
    # A dozen steps cost less than the graphs that would run them.
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder in which all have learned by themselves."""
    folder = tmp_path_factory.mktemp("study")
    pretrained_evaluator(study(folder))
    study(folder).networks("listener_gt")
    return folder


def game(folder, **settings):
    made = study(folder, **settings)
    return made, made.training("g_gan")


def same(one, other):
    return all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_evaluator_learns_alone_once(folder, monkeypatch):
    def never(*args, **options):
        raise RuntimeError("trained again")

    monkeypatch.setattr(Experiment, "fit", never)
    first, again = (pretrained_evaluator(study(folder)) for _ in range(2))
    assert first is not again
    assert same(first.get_weights(), again.get_weights())
    # The speaker is read, not trained.
    roles = [path.stem for path in (folder / "gan_evaluator").glob("*.keras")]
    assert roles == ["evaluator"]


def test_both_learn_from_one_sample_and_nobody_listens(folder):
    experiment, training = game(folder)
    made = training.model
    speaker, evaluator = made.learners["speaker"], made.learners["evaluator"]
    assert set(made.learners) == {"speaker", "evaluator"}
    assert speaker.objective.decoder is evaluator.objective.decoder
    assert speaker.objective.reward.evaluator is evaluator.network
    assert made.period == 1
    batch = experiment.batches().batch(0)
    learners = [speaker.network, evaluator.network]
    before = [network.get_weights() for network in learners]
    experiment.compiled(training)
    # The first step of a warm-up is of length 0.
    for _ in range(2):
        logs = made.train_on_batch(batch, return_dict=True)
    assert 0 < logs["speaker_match_probability"] < 1
    assert {"evaluator_discriminator_human", "speaker_loss"} <= set(logs)
    for network, weights in zip(learners, before, strict=True):
        assert not same(network.get_weights(), weights)


def test_beginnings_are_continued_as_often_as_settings_say(folder):
    learners = game(folder)[1].model.learners
    credit = learners["speaker"].objective.credit
    assert credit.num_continuations == 3


def test_a_point_needs_no_lambda(folder):
    scores = study(folder).result("g_gan")
    assert 0 <= scores["r@10"] <= 100
    assert (folder / "points" / "g_gan" / "result.json").exists()
    listener = study(folder).trained("g_gan")["listener"]
    untouched = study(folder).networks("listener_gt")["listener"]
    assert same(listener.get_weights(), untouched.get_weights())
    grid = PSST.grid(["g_gan"], **{"lambda": [1e-3, 2e-3]})
    assert grid == [{"method": "g_gan", "seed": 0}]
