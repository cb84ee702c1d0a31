"""Every layer that is saved meets the contract; nothing is opt-in."""

import importlib
import importlib.util
import inspect
import pkgutil
import re

import keras
import numpy as np
import pytest

import tests.testing as contract
import tfcap
from tfcap import layers

RNG = np.random.default_rng(0)
LOGITS = {"logits": RNG.normal(size=(3, 4, 7)).astype("float32")}
IDS = {"inputs": RNG.integers(0, 7, size=(3, 4)).astype("int32")}
WORDS = {"inputs": RNG.normal(size=(3, 2, 4, 5)).astype("float32")}
DIALOG = {
    "question": RNG.normal(size=(3, 2, 4, 5)).astype("float32"),
    "history": RNG.normal(size=(3, 2, 6, 5)).astype("float32"),
    "image": RNG.normal(size=(3, 4, 6)).astype("float32"),
}
MEMORY = {
    "query": RNG.normal(size=(3, 2, 5)).astype("float32"),
    "memory": RNG.normal(size=(3, 4, 6)).astype("float32"),
}
ENCODER = {"units": 6, "output_units": 5, "dropout": 0.5, "seed": 3}
EVERYTHING = {**ENCODER, "return_state": True, "return_attention": True}
CASES = {
    "AnswerEncoder": (ENCODER, WORDS),
    "Categorical": (dict(temperature=0.7, seed=3), LOGITS),
    "GumbelRao": (dict(num_samples=2, rho=0.5, seed=3), LOGITS),
    "GumbelSoftmaxST": (
        dict(temperature=0.7, rho=0.5, seed=3, backward_temperature=1.5),
        LOGITS,
    ),
    "HCIAEEncoder": (EVERYTHING, DIALOG),
    "HREAEncoder": (EVERYTHING, DIALOG),
    "ImageStandardization": (
        dict(
            mean=RNG.normal(size=6),
            deviation=RNG.uniform(0.5, 2.0, size=6),
            pooled=True,
        ),
        {"image": DIALOG["image"]},
    ),
    "LateFusionEncoder": ({**ENCODER, "return_state": True}, DIALOG),
    "MaskedGRU": (
        dict(units=6, return_state=True),
        {"sequences": WORDS["inputs"][:, 0]},
    ),
    "MaskedLSTM": (
        dict(units=6, return_sequences=True),
        {"sequences": WORDS["inputs"][:, 0]},
    ),
    "MemoryNetworkEncoder": (EVERYTHING, DIALOG),
    "PartialSamplingST": (dict(rho=0.5, granularity="step", seed=3), LOGITS),
    "ProbabilityChannel": (
        dict(
            distribution="RelaxedOneHotCategorical",
            options={"temperature": 0.5},
            seed=3,
        ),
        LOGITS,
    ),
    "QueryAttention": (dict(units=6), MEMORY),
    "ReinMax": (dict(temperature=1.5, rho=0.5, seed=3), LOGITS),
    "ReinMaxCV": (dict(weight=0.3, num_samples=2, seed=3), LOGITS),
    "ReinMaxRao": (dict(temperature=0.7, num_samples=2, seed=3), LOGITS),
    "SequenceEncoder": (dict(units=6, return_state=True), WORDS),
    "SoftEmbedding": (dict(vocabulary_size=7, units=5), IDS),
}
#: Layers of the room by name, those that networks alone use included.
LAYERS = {
    name: made
    for found in pkgutil.iter_modules(layers.__path__, "tfcap.layers.")
    for name, made in vars(importlib.import_module(found.name)).items()
    if inspect.isclass(made)
    and made.__module__ == found.name != "tfcap.layers._fast"
    and keras.saving.get_registered_name(made) == f"tfcap>{name}"
}


#: One pass over every part is enough where each operation is compiled.
once = pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="checked on TensorFlow"
)


@pytest.fixture(params=sorted(CASES))
def case(request):
    name = request.param
    if name == "ProbabilityChannel":
        if keras.backend.backend() != "tensorflow":
            pytest.skip("needs TensorFlow")
        if importlib.util.find_spec("tensorflow_probability") is None:
            pytest.skip("needs TensorFlow Probability")
    options, inputs = CASES[name]

    def make(**more):
        return LAYERS[name](**{**options, **more})

    return make, inputs


def test_every_layer_that_is_saved_has_a_case():
    assert set(LAYERS) == set(CASES)


def test_config_is_complete_and_survives_json(case):
    contract.check_config(case[0])


@once
def test_numbers_of_numpy_are_numbers(case, request):
    name = request.node.callspec.params["case"]
    contract.check_numbers(LAYERS[name], CASES[name][0])


@once
def test_output_has_the_promised_shape(case):
    contract.check_symbolic_shapes(*case)


@once
def test_saved_model_predicts_the_same(case, tmp_path):
    contract.check_saved_model(*case, tmp_path)


def test_eager_and_graph_agree(case):
    contract.check_eager_equals_graph(*case)


@once
def test_a_row_alone_gives_what_it_gives_in_a_batch(case):
    contract.check_batch_of_one(*case)


def test_the_seed_decides_training(case):
    contract.check_seed(*case)


@once
def test_inference_draws_nothing(case):
    contract.check_inference(*case)


@once
@pytest.mark.parametrize("policy", contract.POLICIES)
def test_dtype_policy_is_followed(case, policy):
    contract.check_policy(*case, policy)


def test_training_moves_every_weight(case):
    make, inputs = case
    nothing = layers.WordChannel, layers.ImageStandardization
    if isinstance(make(), nothing):
        pytest.skip("has nothing to train")
    contract.check_trains(make, inputs)


#: What is told by other names, which tests of these classes see, and what
#: subclasses give or tell.
TOLD_OTHERWISE = {
    "CLIPListener": {"tokenizer", "vocabulary"},
    "HingeRetrievalLoss": {"step"},
    "StepwiseSpeaker": {"cell"},
    "WordByWord": {"mask_zero"},
    "WrappedSpeaker": {"vocabulary"},
}


KINDS = keras.layers.Layer, keras.losses.Loss, keras.metrics.Metric


def serialized():
    """Classes of the kit that write their own configs."""
    for found in pkgutil.walk_packages(tfcap.__path__, "tfcap."):
        for name, made in vars(importlib.import_module(found.name)).items():
            own = inspect.isclass(made) and made.__module__ == found.name
            if own and name[0] != "_" and issubclass(made, KINDS):
                yield made


def test_every_written_config_tells_every_argument():
    lacking, count = {}, 0
    for made in serialized():
        written = [
            inspect.getsource(vars(base)["get_config"])
            for base in made.__mro__
            if "get_config" in vars(base)
            and base.__module__.startswith("tfcap")
        ]
        # Otherwise Keras keeps what a layer was made with.
        if written:
            count += 1
            told = " ".join(re.findall(r'"([\w ]+)"', "".join(written)))
            given = inspect.signature(made.__init__).parameters.values()
            asked = {p.name for p in given if p.kind is not p.VAR_KEYWORD}
            asked -= {"self", "args", "name", "dtype", "reduction"}
            lacking[made.__name__] = asked - {*told.split()}
    assert count > 40
    assert {n: args for n, args in lacking.items() if args} == TOLD_OTHERWISE
