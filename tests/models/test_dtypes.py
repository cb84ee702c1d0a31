"""The dtype of a network is that of all its layers, also when it is saved."""

import inspect

import keras
import numpy as np
import pytest

from tests import speakers
from tfcap import models
from tfcap.layers import AnswerEncoder
from tfcap.layers import HCIAEEncoder

HALF = "mixed_bfloat16"
CAPTIONS = {
    "image": np.ones((2, 4, 3), "float32"),
    "caption": np.array([[[5, 6, 2]], [[7, 2, 0]]]),
}
DIALOG = {
    "image": np.ones((1, 4, 3), "float32"),
    "question": np.array([[[5, 6, 4]]]),
    "history": np.array([[[7, 8, 9]]]),
    "answer": np.array([[[5, 2]]]),
    "options": np.array([[[[5, 2], [6, 2]]]]),
}
PAIRS = {"image": np.ones((2, 3), "f4"), "text": np.ones((2, 1, 4), "f4")}
#: Scores that are always summed in float32.
WHOLE = {
    models.GrammarClassifier: ("score",),
    models.PairDiscriminator: ("score",),
}
#: Made of networks that somebody has, which have dtypes of their own.
WRAPPERS = {
    models.CLIPListener,
    models.CausalLMSpeaker,
    models.StepwiseSpeaker,
    models.TeacherForcedSpeaker,
}


def dialog_encoder(dtype, **options):
    return HCIAEEncoder(6, output_units=5, dtype=dtype, **options)


def generator(dtype):
    encoder = dialog_encoder(dtype, return_state=True)
    return models.DialogGenerator(13, encoder, 5, dtype=dtype)


def discriminator(dtype):
    encoders = dialog_encoder(dtype), AnswerEncoder(5, dtype=dtype)
    return models.DialogDiscriminator(13, *encoders, 5, dtype=dtype)


def made(kind, *sizes, **options):
    return lambda dtype: kind(13, *sizes, dtype=dtype, **options), CAPTIONS


#: No option has its default.
WORDS = {"eos": 3, "pad": 1, "seed": 4}
RATES = {"dropout": 0.2, "word_dropout": 0.15, "image_dropout": 0.1}
SPOKEN = {**RATES, "condition_dropout": 0.1, "logit_scale": 2.0, "eos": 3}
HEARD = {"word_dropout": 0.15, "image_dropout": 0.1, **WORDS}
NETWORKS = {
    **{
        kind: made(speaker, 6, **options, **SPOKEN)
        for kind, (speaker, options) in speakers.KINDS.items()
    },
    "listener": made(
        *(models.RetrievalListener, 4, 4), pooling="mean", **HEARD
    ),
    "dual": made(models.DualEncoder, 4, 4, layers=1, heads=2, **HEARD),
    "evaluator": made(models.CaptionEvaluator, 4, 4, scale=2.0, **HEARD),
    "grammar": made(models.GrammarClassifier, 4, 4, eos=3, pad=1),
    "discriminator": (discriminator, DIALOG),
    "generator": (generator, DIALOG),
    "pairs": (
        lambda dtype: models.PairDiscriminator((5, 4), dtype=dtype),
        PAIRS,
    ),
}


def dtypes(network):
    """Compute dtypes of all layers but those of scores, by path."""
    whole = WHOLE.get(type(network), ())
    return {
        layer.path: layer.compute_dtype
        for layer in network._flatten_layers()
        if layer.name not in whole
    }


def options(network):
    """What a network was made with but for its parts and its dtype."""
    config = network.get_config()
    return {k: v for k, v in config.items() if not isinstance(v, dict)}


def test_every_network_is_tested():
    exported = {
        value
        for value in vars(models).values()
        if inspect.isclass(value) and issubclass(value, keras.Model)
    }
    tested = {type(make("float32")) for make, _ in NETWORKS.values()}
    assert exported == tested | WRAPPERS | {models.CaptionSpeaker}


@pytest.mark.parametrize("name", NETWORKS)
def test_all_layers_compute_in_the_dtype_of_the_network(name):
    make, inputs = NETWORKS[name]
    network = make(HALF)
    network(inputs)
    assert set(dtypes(network).values()) == {"bfloat16"}, dtypes(network)


def test_an_encoder_may_have_a_dtype_of_its_own():
    encoder = dialog_encoder("float32", return_state=True)
    network = models.DialogGenerator(13, encoder, 5, dtype=HALF)
    assert np.isfinite(network(DIALOG)).all()
    assert all(x.dtype == "bfloat16" for x in network.begin(DIALOG))


@pytest.mark.parametrize("name", NETWORKS)
def test_what_was_saved_under_a_policy_computes_alike_without_it(
    name, tmp_path
):
    make, inputs = NETWORKS[name]
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(HALF)
    try:
        network = make(None)
        wanted = network(inputs)
        network.save(tmp_path / "network.keras")
    finally:
        keras.config.set_dtype_policy(before)
    again = keras.saving.load_model(tmp_path / "network.keras")
    assert set(dtypes(again).values()) == {"bfloat16"}
    np.testing.assert_array_equal(*map(np.float32, (again(inputs), wanted)))
    assert options(again) == options(network)
