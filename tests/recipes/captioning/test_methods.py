import pytest

from tests.recipes.captioning.tiny_study import study
from tfcap.recipes.captioning import METHODS
from tfcap.recipes.captioning.methods import Task


@pytest.fixture
def task(tmp_path):
    made = study(tmp_path)
    speaker = made.networks("speaker_mle")["speaker"]
    listener = made.networks("listener_gt")["listener"]
    return Task(made, speaker, listener, 1e-3, 0.25, 1.0)


def test_the_cooling_rho_falls_with_every_epoch_and_not_within_one(task):
    _, (anneal,) = METHODS["psst_soft_cooling"](task)
    steps = task.study.batches().steps_per_epoch
    first, last = anneal.schedule(0), anneal.schedule(steps - 1)
    assert first == last == 1.0
    assert anneal.schedule(steps) == pytest.approx(0.5**0.5)
    assert anneal.schedule(3 * steps) == pytest.approx(0.5)
