"""Batches on two replicas, which share them and lose nothing.

Run by `tests/two_replicas.py`.
"""

import numpy as np
import tensorflow as tf

from tests import dialogs
from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionBatches


def check(strategy, batches):
    dataset = batches.dataset(epochs=3, start_step=1)
    steps = 1
    for batch in strategy.experimental_distribute_dataset(dataset):
        wanted = tf.nest.flatten(batches.batch(steps))
        for value, want in zip(tf.nest.flatten(batch), wanted, strict=True):
            parts = strategy.experimental_local_results(value)
            if [len(part) for part in parts] != [len(want) // 2] * 2:
                raise SystemExit(f"parts {[part.shape for part in parts]}")
            np.testing.assert_array_equal(np.concatenate(parts), want)
        steps += 1
    if steps != 3 * batches.steps_per_epoch:
        raise SystemExit(f"{steps} steps")


def check_all(strategy):
    check(strategy, dialogs.batches(negatives=3, in_batch_negatives=2))
    distractors = {"distractors": 6, "distractor_features": FEATURES}
    check(strategy, CaptionBatches(tiny_captions(), FEATURES, 4, **distractors))
