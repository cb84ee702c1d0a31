"""Decodes in a SavedModel say the same where there is no tfcap."""

import importlib.util
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import dialogs
from tests import speakers
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding import SumAndSample
from tfcap.decoding.endings import SampleEndings
from tfcap.layers import Categorical
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ProbabilityChannel
from tfcap.layers import ReinMax
from tfcap.models import CausalLMSpeaker

pytestmark = pytest.mark.slow

T, V = 2, speakers.VOCABULARY
BATCH = speakers.batch(images=3)
IMAGE = {"image": BATCH["image"]}


def relaxed(channel):
    return Sample(channel, 2, T, feedback="relaxed")


#: Each way to decode once, and each channel.
DECODERS = {
    "greedy": Greedy(T, suppress=(4,), no_repeat_ngram=1),
    "greedy_loop": Greedy(T, unroll=False, guidance=2.0),
    "beam": BeamSearch(4, T, groups=2, diversity=0.5, no_repeat_ngram=1),
    "beam_unrolled": BeamSearch(2, T, unroll=True, guidance=2.0),
    "sum_and_sample": SumAndSample(2, 1, T, seed=0),
    "sample": Sample(Categorical(seed=0), 2, T, top_k=9, top_p=0.9),
    "loop": Sample(GumbelSoftmaxST(seed=0), 2, T, unroll=False),
    "guided": Sample(ReinMax(seed=0), 2, T, guidance=2.0),
    "endings": SampleEndings(Sample(PartialSamplingST(0.2, seed=0), 2, T)),
    "partial": relaxed(PartialSamplingST(0.5, seed=0)),
    "rao": relaxed(GumbelRao(num_samples=2, seed=0)),
    "probability": relaxed(ProbabilityChannel(seed=0)),
}


def causal_lm():
    hub = importlib.import_module("keras_hub").models
    sizes = {"hidden_dim": 4, "intermediate_dim": 4, "num_layers": 1}
    model = hub.GPT2CausalLM(hub.GPT2Backbone(V, num_heads=1, **sizes))
    model.backbone.enable_lora(1)
    prefix = keras.layers.Dense(4)
    ids = {"bos": speakers.BOS, "eos": speakers.EOS, "pad": 0}
    return CausalLMSpeaker(model, prefix=prefix, **ids)


def alive(make):
    """Function that makes a speaker whose words differ in probability."""
    return lambda: speakers.lively(make())


def small(kind, **options):
    network, own = speakers.KINDS[kind]
    options = {"dtype": "mixed_bfloat16", **own, **options}
    return alive(lambda: network(V, **speakers.SIZES, **options))


EVERY = {"dtype": "float32", "dropout": 0.1, "condition_dropout": 0.1}
#: Makes a speaker, and the decoders that it is asked by.
CASES = {
    "every_decoder": (small("show_tell_every_step", **EVERY), [*DECODERS]),
    "up_down": (small("up_down"), ["sample"]),
    "transformer": (small("transformer", layers=1), ["sample"]),
    "stepwise": (alive(speakers.stepwise), ["partial"]),
    "teacher_forced": (alive(speakers.teacher_forced), ["sample"]),
    "causal_lm": (alive(causal_lm), ["sample"]),
    "dialog": (dialogs.generator, ["partial"]),
}
DIALOG = {
    name: rows
    for name, rows in dialogs.batches().inputs(np.arange(4)).items()
    if name in ("question", "history", "image")
}
if importlib.util.find_spec("keras_hub") is None:
    del CASES["causal_lm"]


def save(speaker, inputs, names, folder, archived):
    """Saves decodes as a signature, and returns it as a function."""
    specs = [
        tf.TensorSpec((None, *rows.shape[1:]), rows.dtype, name)
        for name, rows in inputs.items()
    ]

    def serve(*rows):
        state, said = speaker.begin(dict(zip(inputs, rows))), {}
        for name in names:
            rollout = DECODERS[name].decode(speaker, state)
            said[f"{name}_tokens"] = rollout.tokens
            # Searches have no gradient, and some networks none in a loop.
            if isinstance(DECODERS[name], Sample) and not archived:
                said[f"{name}_log_probs"] = rollout.log_probs
        return said

    if archived:
        archive = keras.export.ExportArchive()
        archive.track(speaker)
        archive.add_endpoint("serve", serve, specs)
        archive.write_out(folder, verbose=False)
    else:
        module = tf.Module()
        module.speaker = speaker
        module.channels = [
            x.channel for x in DECODERS.values() if hasattr(x, "channel")
        ]
        graph = tf.function(serve, specs, autograph=False)
        tf.saved_model.save(module, folder, signatures=graph)
    np.savez(folder.with_suffix(".npz"), **inputs)
    return serve


def outputs(function, inputs):
    """What is said, and of a sum of all scores the gradient to the image."""
    inputs = {name: tf.constant(rows) for name, rows in inputs.items()}
    with tf.GradientTape() as tape:
        tape.watch(inputs["image"])
        said = dict(function(*inputs.values()))
        scores = [x for name, x in said.items() if name.endswith("log_probs")]
        score = sum(map(tf.reduce_sum, scores), 0.0)
    if scores:
        said["gradient"] = tape.gradient(score, inputs["image"])
    return said


@pytest.fixture(scope="module")
def wanted_and_found(tmp_path_factory):
    """Outputs of every case here, and in a process without tfcap."""
    root, wanted, found = tmp_path_factory.mktemp("saved"), {}, {}
    for case, (make, names) in CASES.items():
        inputs = DIALOG if case == "dialog" else IMAGE
        keras.utils.set_random_seed(0)
        archived = case != "every_decoder"
        function = save(make(), inputs, names, root / case, archived)
        wanted[case] = outputs(function, inputs)
    script = pathlib.Path(__file__).parent / "load_saved_model.py"
    child = subprocess.run(
        [sys.executable, "-I", str(script), str(root)],
        capture_output=True,
        text=True,
    )
    assert child.returncode == 0, child.stderr[-4000:]
    for case in CASES:
        with np.load(root / f"{case}.found.npz") as file:
            found[case] = dict(file)
    return wanted, found


@pytest.mark.parametrize("case", CASES)
def test_a_saved_decode_says_the_same_without_tfcap(case, wanted_and_found):
    wanted, found = (outputs[case] for outputs in wanted_and_found)
    assert found.keys() == wanted.keys()
    tokens = [x for name, x in wanted.items() if name.endswith("tokens")]
    assert len(np.unique(np.concatenate([np.ravel(x) for x in tokens]))) > 2
    for name, value in wanted.items():
        if name.endswith("tokens"):
            np.testing.assert_array_equal(found[name], value, err_msg=name)
        else:
            np.testing.assert_allclose(
                found[name], value, atol=1e-5, rtol=1e-5, err_msg=name
            )
            assert np.any(value != 0), name
