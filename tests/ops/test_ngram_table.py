import numpy as np
import pytest
import tensorflow as tf

from tfcap._ops import NGramTable
from tfcap.text.ngrams import pack_ngrams

RNG = np.random.default_rng(0)


def ngrams(count, largest=9000, longest=4):
    """Distinct n-grams of any order, as rows of ids padded with -1."""
    rows = RNG.integers(0, largest, (count, 4))
    lengths = RNG.integers(1, longest + 1, count)
    rows[np.arange(4) >= lengths[:, None]] = -1
    return np.unique(rows, axis=0).astype("int32")


def packed(rows):
    lengths = (rows >= 0).sum(axis=1)
    keys = pack_ngrams(rows[rows >= 0], lengths)
    return keys[lengths - 1, np.cumsum(lengths) - lengths]


def looked_up(table, rows, function=None):
    """Value of the n-gram that each row is."""
    found = np.asarray((function or table.lookup)(rows))
    return found[np.arange(len(rows)), (rows >= 0).sum(axis=1) - 1, 0]


@pytest.mark.parametrize("count", [1, 2, 3, 1000, 31457])
def test_every_ngram_has_its_value(count):
    rows = ngrams(count)
    values = RNG.normal(size=len(rows)).astype("float32")
    table = NGramTable(packed(rows), values, default=-7.0)
    np.testing.assert_array_equal(looked_up(table, rows), values)


def test_every_other_ngram_has_the_default():
    rows = ngrams(5000, largest=30)
    table = NGramTable(packed(rows), np.ones(len(rows)), default=-7.0)
    known = set(map(tuple, rows.tolist()))
    others = ngrams(5000, largest=30)
    wanted = [1.0 if tuple(r) in known else -7.0 for r in others.tolist()]
    assert set(wanted) == {1.0, -7.0}
    np.testing.assert_array_equal(looked_up(table, others), wanted)


@pytest.mark.parametrize("jit", [False, True])
def test_graphs_find_the_same(jit):
    rows = ngrams(2000)
    table = NGramTable(packed(rows), np.arange(len(rows)), default=-1.0)
    graph = tf.function(table.lookup, jit_compile=jit)
    found = looked_up(table, rows, lambda x: graph(tf.constant(x)))
    np.testing.assert_array_equal(found, np.arange(len(rows)))


def test_ngrams_stop_where_words_do():
    key = packed(np.array([[7, 5, -1, -1], [5, -1, -1, -1]]))
    table = NGramTable(key, [1.0, 2.0])
    words = np.array([[7, 5, -1, 7, 5], [-1, -1, 5, 7, -1]])
    found = np.asarray(table.lookup(words, max_order=2))
    np.testing.assert_array_equal(found[0], [[0, 2, 0, 0, 2], [1, 0, 0, 1, 0]])
    np.testing.assert_array_equal(found[1], [[0, 0, 2, 0, 0], [0] * 5])


def test_ids_beyond_what_a_key_holds_are_unknown():
    rows = np.array([[65533, 5, 65533, 65533]])
    table = NGramTable(packed(rows), [1.0])
    assert looked_up(table, rows) == [1.0]
    strange = rows + np.array([[0, 0, 0, 2**16]])
    assert looked_up(table, strange) == [0.0]
    cut = np.array([[65533, 5, 65533, 65534]])
    assert looked_up(table, cut) == [0.0]


def test_an_empty_table_knows_nothing_and_ngrams_do_not_repeat():
    table = NGramTable(np.zeros(0, np.int64), np.zeros(0), default=2.5)
    found = table.lookup(np.array([[0, 1, -1]]))
    np.testing.assert_array_equal(found, np.full((1, 4, 3), 2.5))
    with pytest.raises(ValueError, match="`keys` must be distinct"):
        NGramTable(np.array([7, 7, 7]), np.ones(3))


def test_ngrams_take_less_than_sixty_bytes():
    rows = ngrams(100_000)
    table = NGramTable(packed(rows), np.ones(len(rows)))
    assert table.nbytes < 60 * len(rows)
