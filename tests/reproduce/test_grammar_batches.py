import collections

import keras
import numpy as np
import pytest
import tensorflow as tf

from reproduce.grammar_batches import CORRUPTIONS
from reproduce.grammar_batches import GrammarBatches
from reproduce.grammar_batches import corrupt_captions
from tests.data.tiny_captions import COUNTS
from tests.data.tiny_captions import tiny_captions
from tfcap.data import CaptionSplit
from tfcap.data import EncodedCaptions
from tfcap.text import as_vocabulary

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


def test_corrupted_captions_hold_pieces_and_the_padding_of_a_tokenizer():
    layer = keras.layers.TextVectorization(
        standardize=None,
        split="character",
        vocabulary=["^", "$", *"redbusog "],
    )
    vocabulary = as_vocabulary(layer, bos="^", eos="$", pad="$")
    split = CaptionSplit([7, 9], [["bus"], ["red dogs"]], ["", ""], ["", ""])
    captions = EncodedCaptions.from_split(split, vocabulary, max_length=12)
    batches = GrammarBatches(captions, batch_size=2, kinds=["swap", "insert"])
    assert {*batches.words.tolist()} == {*range(4, vocabulary.size)}
    for step in range(20):
        for row in batches.batch(step)[0]["caption"][:, 1].tolist():
            words = row[: row.index(vocabulary.eos)]
            assert min(words) > 3
            assert {*row[len(words) :]} == {vocabulary.eos}


EOS, T = 2, 12
#: Of the captions, and others that do not stand in them.
OWN, OTHERS = np.arange(4, 12), np.arange(50, 60)


def captions(count, seed=0, longest=T - 1, shortest=1):
    """Captions of some words, then EOS, then 0."""
    rng = np.random.default_rng(seed)
    rows = np.zeros((count, T), "int32")
    for row in rows:
        size = rng.integers(shortest, longest + 1)
        row[:size] = rng.choice(OWN, size)
        row[size] = EOS
    return rows


def words_of(row):
    end = row.tolist().index(EOS)
    assert not row[end + 1 :].any() and (row[:end] > EOS).all()
    return row[:end].tolist()


def corrupted(kind, rows, seed=1):
    found, kinds = corrupt_captions(
        rows, OTHERS, np.random.default_rng(seed), [kind]
    )
    assert (kinds == kind).all() and found.dtype == rows.dtype
    return [(words_of(a), words_of(b)) for a, b in zip(rows, found)]


def test_no_caption_stays_as_it_is():
    rows = captions(2000, shortest=0)
    found, kinds = corrupt_captions(rows, OTHERS, np.random.default_rng(0))
    assert (found != rows).any(axis=1).all()
    assert set(kinds) == set(CORRUPTIONS)
    for row in found:
        words_of(row)
    # The given captions are only read.
    np.testing.assert_array_equal(rows, captions(2000, shortest=0))


def test_kinds_that_fit_are_equally_likely():
    rows = captions(10_000, longest=6, shortest=6)
    rows[:, :6] = OWN[:6]
    _, kinds = corrupt_captions(rows, OTHERS, np.random.default_rng(0))
    shares = [count / 10_000 for count in collections.Counter(kinds).values()]
    np.testing.assert_allclose(shares, 0.2, atol=0.02)


def test_a_repeated_phrase_is_one_of_the_caption():
    sizes = set()
    for words, found in corrupted("repeat", captions(2000, longest=4)):
        sizes.add(len(found) - len(words))
        assert set(found) == set(words)
        # Without the copies, which may stand in one another, it is itself.
        left = iter(found)
        assert all(word in left for word in words)
    # A phrase of three words has no room for three more of it.
    assert sizes == {1, 2, 3, 4, 6}


def test_what_is_removed_is_one_phrase_and_not_all():
    sizes = set()
    for words, found in corrupted("remove", captions(2000, shortest=2)):
        size = len(words) - len(found)
        sizes.add(size)
        assert found and any(
            words[:i] + words[i + size :] == found for i in range(len(words))
        )
    assert sizes == {1, 2, 3}


def test_what_is_inserted_are_other_words():
    sizes, places = set(), set()
    for words, found in corrupted("insert", captions(2000, longest=8)):
        assert [word for word in found if word in OWN] == words
        sizes.add(len(found) - len(words))
        places |= {i for i, word in enumerate(found) if word in OTHERS}
    assert sizes == {1, 2, 3} and places == set(range(T - 1))


def test_what_is_swapped_are_some_words():
    sizes = set()
    for words, found in corrupted("swap", captions(2000)):
        assert len(found) == len(words)
        new = [b for a, b in zip(words, found) if a != b]
        assert set(new) <= set(OTHERS)
        sizes.add(len(new))
    assert sizes == {1, 2, 3}


def test_a_word_is_never_swapped_for_itself():
    rows = np.full((500, 2), [50, EOS])
    found, _ = corrupt_captions(
        rows, np.array([50, 51]), np.random.default_rng(0), ["swap"]
    )
    assert (found == [51, EOS]).all()


def test_what_is_shuffled_has_the_same_words():
    rows = captions(2000, shortest=5)
    for words, found in corrupted("shuffle", rows):
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
    found, drawn = corrupt_captions(rows, OTHERS, np.random.default_rng(0))
    assert set(drawn) == kinds
    assert (found != rows).any(axis=1).all()
    for row in found:
        words_of(row)


def test_the_generator_decides():
    rows = captions(50)
    first, again, other = (
        corrupt_captions(rows, OTHERS, np.random.default_rng(seed))[0]
        for seed in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


@pytest.mark.parametrize(
    "options, message",
    [
        ({"kinds": ["shuffle"]}, r"caption 0, \[4, 2, 0\]"),
        ({"words": np.array([7, 7])}, "`words` must hold two distinct"),
        ({"captions": np.array([4, EOS])}, r"shape \(n, T\).*shape=\(2,\)"),
        ({"captions": np.array([[4, 5]])}, "EOS in each row"),
    ],
)
def test_what_cannot_be_corrupted_is_refused(options, message):
    arguments = {"captions": np.array([[4, EOS, 0]]), "words": OTHERS}
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match=message):
        corrupt_captions(**{**arguments, "rng": rng, **options})
