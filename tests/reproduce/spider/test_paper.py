from types import SimpleNamespace

import numpy as np
import pytest

from reproduce.spider.paper import state_units
from tests import speakers
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import Episode
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import ConstantReward

BATCH = speakers.batch(images=2)


@pytest.mark.parametrize("kind", list(speakers.KINDS))
def test_the_baseline_reads_the_states_of_every_speaker(kind):
    speaker = speakers.speaker(kind)
    batches = SimpleNamespace(
        inputs=lambda rows: {k: v[rows] for k, v in BATCH.items()}
    )
    samples = Sample(Categorical(seed=0), max_length=3, keep_states=True)
    units = state_units(speaker, batches)
    baseline = LearnedBaseline(units, (4,))
    objective = ScoreFunction(ConstantReward(), samples, baseline)
    loss, _ = objective.loss(Episode(speaker, BATCH))
    assert np.isfinite(float(loss))
