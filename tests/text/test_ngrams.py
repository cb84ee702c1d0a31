import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcap.text import ngrams

sentences = st.lists(st.lists(st.integers(0, 6), max_size=8), max_size=6)


def every_ngram(rows, order):
    """The n-gram at each word, or None where none starts."""
    return [
        tuple(row[i : i + order]) if i + order <= len(row) else None
        for row in rows
        for i in range(len(row))
    ]


@given(sentences)
def test_words_know_their_row_and_how_many_are_left_of_it(rows):
    ids, lengths = ngrams.flatten_rows(rows)
    assert ids.tolist() == [i for row in rows for i in row]
    assert lengths.tolist() == [len(row) for row in rows]
    wanted = [
        (r, len(x) - i) for r, x in enumerate(rows) for i in range(len(x))
    ]
    found = zip(ngrams.row_of_word(lengths), ngrams.words_left(lengths))
    assert list(found) == wanted


@given(sentences, st.integers(1, 4))
def test_equal_ngrams_and_only_those_have_equal_keys(rows, max_order):
    keys = ngrams.pack_ngrams(*ngrams.flatten_rows(rows), max_order)
    packed = {}
    for k in range(1, max_order + 1):
        for key, ngram in zip(keys[k - 1].tolist(), every_ngram(rows, k)):
            assert (key == 0) == (ngram is None)
            packed.setdefault(ngram, set()).add(key)
    assert all(len(found) == 1 for found in packed.values())
    assert len(set().union(*packed.values())) == len(packed)


def test_a_key_can_be_unpacked():
    ids = np.array([0, 65534, 7, 32767])
    keys = ngrams.pack_ngrams(ids, np.array([4]))
    for k in range(4):
        key = int(keys[k, 0]) % 2**64
        words = [(key >> 16 * i & 0xFFFF) - 1 for i in range(4)]
        assert words == [*ids[: k + 1], *[-1] * (3 - k)]


def test_what_cannot_be_packed_is_refused():
    for wrong in (-1, 65535):
        with pytest.raises(ValueError, match="`ids` must lie in 0..65534"):
            ngrams.pack_ngrams(np.array([3, wrong]), np.array([2]))
    with pytest.raises(ValueError, match="from 1 to 4"):
        ngrams.pack_ngrams(np.array([3]), np.array([1]), 5)


@given(sentences, st.integers(1, 6))
def test_equal_ngrams_and_only_those_have_equal_numbers(rows, max_order):
    numbers, sizes = ngrams.number_ngrams(*ngrams.flatten_rows(rows), max_order)
    for k in range(1, max_order + 1):
        pairs = set(zip(numbers[k - 1].tolist(), every_ngram(rows, k)))
        assert len({number for number, _ in pairs}) == len(pairs)
        assert len({ngram for _, ngram in pairs}) == len(pairs)
        assert all((number < 0) == (ngram is None) for number, ngram in pairs)
        assert numbers[k - 1].max(initial=-1) == sizes[k - 1] - 1


def test_any_number_of_words_can_be_numbered():
    ids = np.array([2**31 - 2, 5, 2**31 - 2, 5, 70000])
    numbers, sizes = ngrams.number_ngrams(ids, np.array([5]), 3)
    assert numbers[1].tolist() == [2, 1, 2, 0, -1]
    assert numbers[2].tolist() == [2, 0, 1, -1, -1]
    assert sizes == [2**31 - 1, 3, 3]
