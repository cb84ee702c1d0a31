import numpy as np
import pytest

from tests import dialogs
from tests.eager import run_eagerly
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.training import generate


@pytest.fixture(scope="module")
def speaker():
    return dialogs.generator("lf")


def test_every_question_is_answered_in_order(speaker):
    batches, decoder = dialogs.batches(), Greedy(max_length=4)
    found = generate(speaker, decoder, batches, batch_size=3)
    state = speaker.begin(batches.inputs(np.arange(8)))
    expected = decoder.decode(speaker, state).tokens
    assert found.shape == (24, 1, 4)
    np.testing.assert_array_equal(found, expected)


def test_the_limit_counts_dialogs(speaker):
    batches, decoder = dialogs.batches(), Greedy(max_length=1)
    with run_eagerly():
        every = generate(speaker, decoder, batches, batch_size=3)
        for limit in (1, 7, 99):
            found = generate(speaker, decoder, batches, 3, limit=limit)
            np.testing.assert_array_equal(found, every[: 3 * limit])


def test_several_sequences_a_question_are_kept(speaker):
    decoder = BeamSearch(width=2, max_length=3)
    found = generate(speaker, decoder, dialogs.batches(), limit=2)
    assert found.shape == (6, 2, 3)


def test_any_data_set_is_decoded(speaker):
    batches, decoder = dialogs.batches(), Greedy(max_length=2)
    found = generate(speaker, decoder, batches.inputs(np.arange(8)), 5)
    np.testing.assert_array_equal(found, generate(speaker, decoder, batches))


def test_the_limit_counts_dialogs_of_any_number_of_rounds(speaker):
    decoder = Greedy(max_length=2)
    whole = dialogs.batches().inputs(np.arange(2))
    short = dialogs.batches().inputs(np.arange(2, 4))
    short = {k: v[:, :2] if k != "image" else v for k, v in short.items()}
    batches = [whole, short]
    with run_eagerly():
        every = generate(speaker, decoder, batches)
        assert len(every) == 2 * 3 + 2 * 2
        for limit, rows in ((1, 3), (2, 6), (3, 8), (4, 10)):
            found = generate(speaker, decoder, batches, limit=limit)
            np.testing.assert_array_equal(found, every[:rows])
