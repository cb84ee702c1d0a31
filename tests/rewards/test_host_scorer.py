import threading
import time

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tfcap.decoding import Rollout
from tfcap.rewards import HostScorer
from tfcap.rewards.score_memory import ScoreMemory

BATCH = captions.Batch()
TEXTS = [[" ".join(c) for c in rows] for rows in BATCH.captions]


class Recorder:
    """Scores captions by their length, and remembers what it was asked."""

    def __init__(self):
        self.calls = []

    def __call__(self, texts, references=None):
        self.calls.append((texts, references))
        return [len(text) for text in texts]


def lengths():
    rows = [[captions.ids(row, eos=False) for row in r] for r in BATCH.tokens]
    decode = captions.VOCABULARY.decode
    return np.array([[len(decode(ids)) for ids in row] for row in rows])


def score(reward, batch=BATCH):
    rollout = captions.rollout(batch.tokens)
    return np.asarray(reward(rollout, captions.episode(batch.human)))


def test_captions_come_as_text():
    scorer = Recorder()
    found = score(HostScorer(scorer, captions.VOCABULARY))
    np.testing.assert_array_equal(found, lengths())
    ((texts, _),) = scorer.calls
    assert texts[0] == TEXTS[0][0] and all(type(t) is str for t in texts)


def test_identical_captions_are_scored_once():
    scorer = Recorder()
    tokens = np.tile(BATCH.tokens[:2], (3, 1, 1))
    reward = HostScorer(scorer, captions.VOCABULARY)
    found = reward(captions.rollout(tokens), captions.episode())
    ((texts, _),) = scorer.calls
    assert len(texts) == len(set(texts)) <= 6
    np.testing.assert_array_equal(found, np.tile(lengths()[:2], (3, 1)))


def test_references_come_with_the_captions_of_their_image():
    scorer = Recorder()
    reward = HostScorer(scorer, captions.VOCABULARY, references="references")
    tokens, human = BATCH.tokens[[0, 0, 1]], BATCH.human[[0, 2, 1]]
    tokens[:, 1] = tokens[:, 0]
    reward(captions.rollout(tokens), captions.episode(human))
    ((texts, references),) = scorer.calls
    # Twice the same caption: of one image once, of two images twice.
    assert texts.count(TEXTS[0][0]) == 2
    for i, image in ((0, 0), (texts.index(TEXTS[0][0], 1), 2)):
        wanted = [" ".join(c) for c in BATCH.references[image]]
        assert references[i] == wanted


def test_what_is_under_the_mask_is_not_read():
    reward = HostScorer(Recorder(), captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    noisy = np.where(rollout.mask > 0, rollout.tokens, 7)
    found = reward(Rollout(noisy, rollout.mask), captions.episode())
    np.testing.assert_array_equal(found, lengths())


def test_graphs_call_the_function_at_every_step():
    scorer = Recorder()
    reward = HostScorer(scorer, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)

    @tf.function
    def step(tokens, mask):
        found = reward(Rollout(tokens, mask), captions.episode())
        assert found.shape == (5, 3) and found.dtype == "float32"
        return found

    for _ in range(2):
        found = step(tf.constant(rollout.tokens), tf.constant(rollout.mask))
    np.testing.assert_array_equal(found, lengths())
    assert len(scorer.calls) == 2


def test_captions_are_shared_out_to_threads():
    together, seen = threading.Barrier(3, timeout=30), []

    def function(texts):
        together.wait()
        seen.append(threading.get_ident())
        return [len(text) for text in texts]

    reward = HostScorer(function, captions.VOCABULARY, num_threads=3)
    np.testing.assert_array_equal(score(reward), lengths())
    assert len(set(seen)) == 3


@pytest.mark.parametrize("num_threads", [1, 2])
def test_no_more_calls_overlap_than_there_are_threads(num_threads):
    running, most = [], []

    def function(texts):
        running.append(1)
        most.append(len(running))
        time.sleep(0.02)
        running.pop()
        return [0.0] * len(texts)

    reward = HostScorer(function, captions.VOCABULARY, num_threads=num_threads)
    threads = [threading.Thread(target=score, args=(reward,)) for _ in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(most) == 3 * num_threads and max(most) <= num_threads


@pytest.mark.parametrize(
    "scores", [[1.0], [[1.0]] * 15, [float("nan")] * 15, [float("inf")] * 15]
)
def test_wrong_numbers_are_refused_by_name(scores):
    reward = HostScorer(lambda _: scores, captions.VOCABULARY, name="spice")
    with pytest.raises(ValueError, match="of the reward 'spice' must return"):
        score(reward)


def test_errors_of_the_function_reach_the_caller():
    def function(texts):
        raise OSError("no such parser")

    reward = HostScorer(function, captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    graph = tf.function(lambda: reward(rollout, captions.episode()))
    with pytest.raises(tf.errors.OpError, match="no such parser"):
        graph()
    with pytest.raises(OSError, match="no such parser"):
        score(reward)


def test_no_gradient_passes():
    assert not HostScorer.differentiable
    logits = keras.Variable(np.ones((5, 3, 8), "float32"))
    reward = HostScorer(Recorder(), captions.VOCABULARY)
    rollout = captions.rollout(BATCH.tokens)
    with tf.GradientTape() as tape:
        values = reward(rollout, captions.episode())
        loss = tf.reduce_sum(values[..., None] * logits.value)
    np.testing.assert_array_equal(
        tape.gradient(loss, logits.value), np.tile(lengths()[..., None], 8)
    )


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="`function` must be a callable"):
        HostScorer("spice", captions.VOCABULARY)
    with pytest.raises(ValueError, match="`num_threads` must be at least 1"):
        HostScorer(len, captions.VOCABULARY, num_threads=0)


def test_what_is_remembered_is_not_asked_for_again():
    scorer = Recorder()
    reward = HostScorer(
        scorer, captions.VOCABULARY, references="references", remember=100
    )
    first = score(reward)
    np.testing.assert_array_equal(score(reward), first)
    assert len(scorer.calls) == 1
    # The same captions of images that people describe otherwise.
    other = captions.episode(np.roll(BATCH.human, 1, axis=0))
    found = reward(captions.rollout(BATCH.tokens), other)
    np.testing.assert_array_equal(found, first)
    assert len(scorer.calls[1][0]) == len(scorer.calls[0][0])


def test_the_longest_unused_is_forgotten():
    memory = ScoreMemory(2)
    asked = []

    def find(places):
        asked.append(places)
        return [float(place) for place in places]

    assert memory.scores([("a", ["x"]), ("b", ["x"])], find) == [0.0, 1.0]
    assert memory.scores([("a", ["x"]), ("c", ["x"])], find) == [0.0, 1.0]
    assert memory.scores([("b", ["x"]), ("a", ["y"])], find) == [0.0, 1.0]
    assert asked == [[0, 1], [1], [0, 1]]


def test_more_than_is_kept_at_once_is_scored_rightly():
    memory = ScoreMemory(1)
    pairs = [(caption, []) for caption in "abc"]
    for _ in range(2):
        found = memory.scores(pairs, lambda new: [10.0 + i for i in new])
        assert found == [10.0, 11.0, 12.0]


def test_a_negative_memory_is_refused():
    with pytest.raises(ValueError, match="`remember` must not be negative"):
        HostScorer(len, captions.VOCABULARY, remember=-1)
