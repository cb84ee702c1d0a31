"""Batches on two replicas, which share them and lose nothing.

Run by `tests/two_replicas.py`.
"""

import numpy as np
import tensorflow as tf

from tests.data.tiny_captions import FEATURES
from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionBatches
from tfcap.data import DialogBatches
from tfcap.data import EncodedDialogs
from tfcap.data import build_vocabulary
from tfcap.data.visdial_split import VisDialSplit


def dialog_batches():
    rng = np.random.default_rng(0)
    options = rng.permuted(np.tile(np.arange(9), (10, 3, 1)), axis=-1)
    gt = rng.integers(0, 9, (10, 3))
    split = VisDialSplit(
        image_ids=np.arange(10),
        captions=["a dog"] * 10,
        questions=["is it red", "who?"],
        answers=[f"answer {i}" for i in range(9)],
        question_index=rng.integers(0, 2, (10, 3)),
        answer_index=np.take_along_axis(options, gt[..., None], -1)[..., 0],
        options=options,
        gt_index=gt,
    )
    dialogs = EncodedDialogs.from_split(split, build_vocabulary(split, 1))
    features = rng.normal(size=(10, 4, 3))
    return DialogBatches(
        dialogs, features, 4, negatives=3, in_batch_negatives=2
    )


def caption_batches():
    return CaptionBatches(
        tiny_captions(),
        FEATURES,
        4,
        distractors=6,
        distractor_features=FEATURES,
    )


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
    if steps != 6:
        raise SystemExit(f"{steps} steps")


def check_all(strategy):
    for make in (dialog_batches, caption_batches):
        check(strategy, make())
