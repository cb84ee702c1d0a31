import keras
import numpy as np
import pytest

import tests.testing as contract
from tfcap._ops import sequence_mask
from tfcap.models import GrammarClassifier

VOCABULARY, EOS = 11, 2
CAPTION = np.array(
    [[[5, 6, 7, 2], [8, 2, 0, 0]], [[3, 4, 2, 0], [9, 10, 8, 7]]], "int32"
)
BATCH = {"caption": CAPTION}


def small(**arguments):
    return GrammarClassifier(
        VOCABULARY, **{"units": 6, "embedding_units": 5, **arguments}
    )


def built(**arguments):
    keras.utils.set_random_seed(0)
    network = small(**arguments)
    network(BATCH)
    table = network.embedding.embeddings
    table.assign(20.0 * table)
    return network


def test_logits_are_of_what_an_lstm_keeps_of_the_words_alone():
    network = built()
    found = network(BATCH)
    assert found.shape == (2, 2)
    numpy = keras.ops.convert_to_numpy
    plain = keras.layers.LSTM(6)
    plain.build((None, None, 5))
    plain.set_weights(network.read.get_weights())
    for place in np.ndindex(2, 2):
        words = CAPTION[place][CAPTION[place] > 0]
        state = plain(numpy(network.embedding.embeddings)[words][None])
        hidden = np.maximum(numpy(state) @ numpy(network.hidden.kernel), 0)
        wanted = numpy(network.score(hidden))[0, 0]
        np.testing.assert_allclose(found[place], wanted, atol=1e-5)


def test_words_and_their_ids_are_read_alike():
    network = built()
    mask = sequence_mask(CAPTION, EOS)
    words = np.eye(VOCABULARY, dtype="float32")[CAPTION]
    found = network.logits(words * np.array(mask)[..., None], mask)
    np.testing.assert_allclose(found, network(BATCH), atol=1e-6)


def test_what_stands_after_the_end_changes_nothing():
    network = built()
    noisy = CAPTION.copy()
    noisy[0, 1, 2:] = 7
    np.testing.assert_array_equal(network({"caption": noisy}), network(BATCH))


@pytest.mark.parametrize("pad", [1, EOS])
def test_padding_may_be_any_id(pad):
    plain, other = built(), built(pad=pad)
    other.set_weights(plain.get_weights())
    padded = {"caption": np.where(CAPTION == 0, pad, CAPTION)}
    np.testing.assert_array_equal(other(padded), plain(BATCH))
    again = GrammarClassifier.from_config(other.get_config())
    assert again.pad == pad


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_is_saved_and_says_the_same(tmp_path, policy):
    network = built(dtype=policy, eos=3)
    said = network(BATCH)
    assert keras.backend.standardize_dtype(said.dtype) == "float32"
    network.save(tmp_path / "classifier.keras")
    loaded = keras.saving.load_model(tmp_path / "classifier.keras")
    np.testing.assert_array_equal(loaded(BATCH), said)
    contract.check_config(lambda: small(eos=3, pad=1))


def test_captions_must_have_their_axes():
    with pytest.raises(ValueError, match="`caption` must have shape .B, S, T"):
        small()({"caption": CAPTION[0]})
