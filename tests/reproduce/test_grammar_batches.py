import collections

import keras
import numpy as np
import pytest
import tensorflow as tf

from reproduce.grammar_batches import CORRUPTIONS
from reproduce.grammar_batches import GrammarBatches
from reproduce.grammar_batches import corrupt_captions
from reproduce.grammar_batches import grammar_accuracy
from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.models import GrammarClassifier
from tfcap.text import as_vocabulary

CAPTIONS = tiny_captions()
ROWS = CAPTIONS.references.reshape(-1, 6)
EOS, T = 2, 12
#: Of the captions, and others that do not stand in them.
OWN, OTHERS = np.arange(4, 12), np.arange(50, 60)


def test_an_epoch_has_each_caption_once_beside_a_corrupted_one():
    batches, epochs = GrammarBatches(CAPTIONS, 4), []
    assert batches.steps_per_epoch == sum(COUNTS) // 4
    for epoch in range(2):
        steps = [batches.batch(6 * epoch + k) for k in range(6)]
        found = np.concatenate([inputs["caption"] for inputs, _ in steps])
        assert found.shape == (24, 2, 6) and found.dtype == np.int32
        np.testing.assert_array_equal(steps[0][1], [[1.0, 0.0]] * 4)
        human = {tuple(row) for row in found[:, 0]}
        assert len(human) == 24 and human <= {*map(tuple, ROWS)}
        assert (found[:, 0] != found[:, 1]).any(-1).all()
        assert found.max() < CAPTIONS.vocabulary.size
        epochs.append(found)
    assert (epochs[0][:, 0] != epochs[1][:, 0]).any()
    # Captions are corrupted anew in every epoch.
    pairs = {tuple(pair.ravel()) for found in epochs for pair in found}
    assert len(pairs) > 40


def test_a_resumed_run_sees_what_the_uninterrupted_one_sees():
    batches = GrammarBatches(CAPTIONS, 4, seed=3)
    whole = list(batches.dataset(epochs=2))
    rest = list(batches.dataset(epochs=2, start_step=5))
    assert len(whole) == 12 and len(rest) == 7
    for one, other in zip(whole[5:], rest):
        for a, b in zip(tf.nest.flatten(one), tf.nest.flatten(other)):
            np.testing.assert_array_equal(a, b)
    other = GrammarBatches(CAPTIONS, 4, seed=4).batch(0)[0]["caption"]
    assert (other != whole[0][0]["caption"].numpy()).any()


def test_captions_without_words_are_left_out():
    captions = tiny_captions()
    captions.references[0, 0] = [captions.vocabulary.eos, 0, 0, 0, 0, 0]
    assert len(GrammarBatches(captions, 4).captions) == sum(COUNTS) - 1


def test_corrupted_captions_hold_pieces_and_the_padding_of_a_tokenizer():
    layer = keras.layers.TextVectorization(
        standardize=None,
        split="character",
        vocabulary=["^", "$", *"redbusog "],
    )
    vocabulary = as_vocabulary(layer, bos="^", eos="$", pad="$")
    split = CaptionSplit([7, 9], [["bus"], ["red dogs"]], ["", ""], ["", ""])
    captions = EncodedCaptions.from_split(split, vocabulary, max_length=12)
    batches = GrammarBatches(captions, batch_size=2)
    assert {*batches.words.tolist()} == {*range(4, vocabulary.size)}
    for step in range(20):
        for row in batches.batch(step)[0]["caption"][:, 1].tolist():
            words = row[: row.index(vocabulary.eos)]
            assert min(words) > 3
            assert {*row[len(words) :]} == {vocabulary.eos}


def captions(count, seed=0, longest=T - 1, shortest=1):
    """Captions of some words, then EOS, then 0."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, T), "int32")
    for row in rows:
        size = rng.integers(shortest, longest + 1)
        row[:size] = rng.choice(OWN, size)
        row[size] = EOS
    return rows


def corrupt(rows, seed=0, **options):
    rng = np.random.default_rng(seed)
    return corrupt_captions(rows, OTHERS, rng, **options)


def words_of(row):
    end = row.tolist().index(EOS)
    assert not row[end + 1 :].any() and (row[:end] > EOS).all()
    return row[:end].tolist()


def corrupted(kind, rows):
    found, kinds = corrupt(rows, seed=1, kinds=[kind])
    assert (kinds == kind).all() and found.dtype == rows.dtype
    return [(words_of(a), words_of(b)) for a, b in zip(rows, found)]


def test_no_caption_stays_as_it_is_and_the_generator_decides():
    rows = captions(1000, shortest=0)
    found, kinds = corrupt(rows)
    assert (found != rows).any(axis=1).all()
    assert set(kinds) == set(CORRUPTIONS)
    for row in found:
        words_of(row)
    # The given captions are only read.
    np.testing.assert_array_equal(rows, captions(1000, shortest=0))
    np.testing.assert_array_equal(found, corrupt(rows)[0])
    assert (found != corrupt(rows, seed=4)[0]).any()


def test_kinds_that_fit_are_equally_likely():
    rows = np.tile([*OWN[:6], EOS, *[0] * 5], (5_000, 1))
    counts = collections.Counter(corrupt(rows)[1])
    shares = [count / 5_000 for count in counts.values()]
    np.testing.assert_allclose(shares, 0.2, atol=0.02)


def test_a_repeated_phrase_is_one_of_the_caption():
    sizes = set()
    for words, found in corrupted("repeat", captions(1000, longest=4)):
        sizes.add(len(found) - len(words))
        assert set(found) == set(words)
        # Without the copies, which may stand in one another, it is itself.
        left = iter(found)
        assert all(word in left for word in words)
    # A phrase of three words has no room for three more of it.
    assert sizes == {1, 2, 3, 4, 6}


def test_what_is_removed_is_one_phrase_and_not_all():
    sizes = set()
    for words, found in corrupted("remove", captions(1000, shortest=2)):
        size = len(words) - len(found)
        sizes.add(size)
        assert found and any(
            words[:i] + words[i + size :] == found for i in range(len(words))
        )
    assert sizes == {1, 2, 3}


def test_what_is_inserted_are_other_words():
    sizes, places = set(), set()
    for words, found in corrupted("insert", captions(1000, longest=8)):
        assert [word for word in found if word in OWN] == words
        sizes.add(len(found) - len(words))
        places |= {i for i, word in enumerate(found) if word in OTHERS}
    assert sizes == {1, 2, 3} and places == set(range(T - 1))


def test_what_is_swapped_are_some_words():
    sizes = set()
    for words, found in corrupted("swap", captions(1000)):
        assert len(found) == len(words)
        new = [b for a, b in zip(words, found) if a != b]
        assert set(new) <= set(OTHERS)
        sizes.add(len(new))
    assert sizes == {1, 2, 3}
    # A word is never swapped for itself.
    rows, rng = np.full((500, 2), [50, EOS]), np.random.default_rng(0)
    found, _ = corrupt_captions(rows, np.array([50, 51]), rng, ["swap"])
    assert (found == [51, EOS]).all()


def test_what_is_shuffled_has_the_same_words():
    for words, found in corrupted("shuffle", captions(1000, shortest=5)):
        assert sorted(found) == sorted(words) and found != words
    # Each other order of three words as often.
    rows = np.tile([4, 5, 6, EOS], (5000, 1))
    orders = collections.Counter(
        tuple(found) for _, found in corrupted("shuffle", rows)
    )
    np.testing.assert_allclose(list(orders.values()), 1000, atol=120)
    assert len(orders) == 5


@pytest.mark.parametrize(
    "caption, kinds",
    [
        ([EOS, 0, 0], {"insert"}),
        ([4, EOS, 0], {"insert", "repeat", "swap"}),
        ([4, 4, EOS], {"remove", "swap"}),
        ([4, 5, EOS], {"remove", "swap", "shuffle"}),
    ],
)
def test_short_and_full_captions_have_the_kinds_that_fit(caption, kinds):
    rows = np.tile(caption, (300, 1))
    found, drawn = corrupt(rows)
    assert set(drawn) == kinds and (found != rows).any(axis=1).all()
    with pytest.raises(ValueError, match="one that fits every caption"):
        corrupt(rows, kinds=sorted(CORRUPTIONS.keys() - kinds)[:1])


class Sayer(keras.Model):
    """Takes for well formed what stands in a list."""

    def __init__(self, known):
        super().__init__()
        self.known = np.array(known)

    def call(self, inputs):
        same = inputs["caption"][..., None, :] == self.known
        known = keras.ops.any(keras.ops.all(same, axis=-1), axis=-1)
        return keras.ops.cast(known, "float32") - 0.5


def test_accuracy_is_told_by_kind():
    found = grammar_accuracy(Sayer(ROWS), CAPTIONS)
    assert set(found) <= {"human", "mean", *CORRUPTIONS} and len(found) > 4
    assert set(found.values()) == {1.0}
    found = grammar_accuracy(Sayer([[0] * 6]), CAPTIONS)
    assert found.pop("human") == 0.0 and found.pop("mean") == 0.5
    assert set(found.values()) == {1.0}


def test_a_classifier_learns_to_tell_corrupted_captions():
    keras.utils.set_random_seed(0)
    classifier = GrammarClassifier(CAPTIONS.vocabulary.size, 32, 16)
    classifier.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.BinaryCrossentropy(from_logits=True),
    )
    before = grammar_accuracy(classifier, CAPTIONS)["mean"]
    batches = GrammarBatches(CAPTIONS, 26)
    classifier.fit(batches.dataset(epochs=60), shuffle=False, verbose=0)
    after = grammar_accuracy(classifier, CAPTIONS, seed=9)["mean"]
    assert after > 0.85 > before
