import numpy as np
import pytest
import tensorflow as tf

from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import tiny_captions
from tfcap.data import GrammarBatches

CAPTIONS = tiny_captions()
HUMAN = {tuple(row) for row in CAPTIONS.references.reshape(-1, 6)}


def make(batch_size=4, **options):
    return GrammarBatches(CAPTIONS, batch_size, **options)


def test_every_caption_stands_beside_a_corrupted_one():
    inputs, labels = make().batch(1)
    assert inputs["caption"].shape == (4, 2, 6)
    assert inputs["caption"].dtype == np.int32
    np.testing.assert_array_equal(labels, [[1.0, 0.0]] * 4)
    for human, corrupted in inputs["caption"]:
        assert tuple(human) in HUMAN
        assert (human != corrupted).any()
        assert corrupted.max() < CAPTIONS.vocabulary.size


def test_an_epoch_has_each_caption_once_in_another_order():
    batches = make()
    assert batches.steps_per_epoch == sum(COUNTS) // 4
    epochs = []
    for epoch in range(2):
        steps = range(6 * epoch, 6 * epoch + 6)
        found = [batches.batch(step)[0]["caption"] for step in steps]
        found = np.concatenate(found)
        assert len({tuple(row) for row in found[:, 0]}) == 24
        epochs.append(found)
    assert (epochs[0][:, 0] != epochs[1][:, 0]).any()


def test_captions_are_corrupted_anew_in_every_epoch():
    batches = make(26)
    seen = {tuple(row): set() for row in CAPTIONS.references.reshape(-1, 6)}
    for step in range(30):
        for human, corrupted in batches.batch(step)[0]["caption"]:
            seen[tuple(human)].add(tuple(corrupted))
    seen.pop((0,) * 6)
    assert min(map(len, seen.values())) > 15


def test_a_resumed_run_sees_what_the_uninterrupted_one_sees():
    whole = list(make(seed=3).dataset(epochs=2))
    rest = list(make(seed=3).dataset(epochs=2, start_step=5))
    assert len(whole) == 12 and len(rest) == 7
    for one, other in zip(whole[5:], rest):
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            np.testing.assert_array_equal(a, b)
    other = make(seed=4).batch(0)[0]["caption"]
    assert (other != whole[0][0]["caption"].numpy()).any()


def test_kinds_may_be_chosen():
    batches = make(26, kinds=["remove"])
    human, corrupted = batches.batch(0)[0]["caption"].transpose(1, 0, 2)
    assert ((corrupted > 0).sum(-1) < (human > 0).sum(-1)).all()


def test_captions_without_words_are_left_out():
    captions = tiny_captions()
    captions.references[0, 0] = [captions.vocabulary.eos, 0, 0, 0, 0, 0]
    assert len(GrammarBatches(captions, 4).captions) == sum(COUNTS) - 1


@pytest.mark.parametrize("size", [0, 27])
def test_a_batch_must_have_captions_that_there_are(size):
    with pytest.raises(ValueError, match=f"batch_size={size} with 26 capt"):
        make(size)
