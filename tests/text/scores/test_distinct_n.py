import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import tfcap
from tests.text.scores import naive

SETS = [
    naive.split(
        ["a man rides a horse", "a man is riding a horse"]
        + ["a person on a horse"]
    ),
    naive.split(["two dogs play", "two dogs play", "dogs running on grass"]),
]


@pytest.mark.parametrize("order", [1, 2])
def test_div_n_gives_the_golden_values_of_the_reference_code(order):
    golden = naive.GOLDEN["scores"][f"distinct_{order}"]
    scores = tfcap.text.distinct_n(naive.SAMPLES, order)
    assert scores.corpus == pytest.approx(golden["corpus"], abs=1e-11)
    np.testing.assert_allclose(scores.each, golden["each"], atol=1e-11)


def test_div_n_gives_the_published_example():
    one, two = (tfcap.text.distinct_n(SETS, order) for order in (1, 2))
    assert one.corpus == pytest.approx(0.54999995, abs=1e-8)
    assert two.corpus == pytest.approx(0.56249995, abs=1e-8)


@given(naive.sets, st.integers(1, 5))
def test_div_n_is_that_of_a_loop_over_sets(sets, order):
    scores = tfcap.text.distinct_n(sets, order)
    for score, members in zip(scores.each, sets):
        found = {g for words in members for g in naive.ngrams(words, order)}
        wanted = len(found) / (1e-6 + sum(map(len, members)))
        assert score == pytest.approx(wanted, abs=1e-12)


@given(naive.sets)
def test_div_n_lies_between_0_and_1_whatever_the_order_of_captions(sets):
    scores = tfcap.text.distinct_n(sets)
    assert ((scores.each >= 0) & (scores.each <= 1)).all()
    turned = tfcap.text.distinct_n([members[::-1] for members in sets])
    np.testing.assert_array_equal(scores.each, turned.each)


def test_an_order_of_0_is_refused_by_its_name():
    with pytest.raises(ValueError, match="`order` must be an integer"):
        tfcap.text.distinct_n(SETS, order=0)
