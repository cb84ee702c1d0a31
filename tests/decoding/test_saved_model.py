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
from tfcap.layers import SoftEmbedding
from tfcap.models import CausalLMSpeaker
from tfcap.models import StepwiseSpeaker
from tfcap.models import TeacherForcedSpeaker

pytestmark = pytest.mark.slow

T, V = 3, speakers.VOCABULARY
IDS = {"vocabulary_size": V, "bos": speakers.BOS, "eos": speakers.EOS}
BATCH = speakers.batch(images=3)
IMAGE = {"image": BATCH["image"]}


def relaxed(channel):
    return Sample(channel, 2, T, feedback="relaxed")


def every_decoder():
    return {
        "greedy": Greedy(T, suppress=(4,), no_repeat_ngram=2),
        "greedy_loop": Greedy(T, unroll=False),
        "greedy_guided": Greedy(T, guidance=2.0),
        "beam": BeamSearch(3, T, no_repeat_ngram=2),
        "beam_unrolled": BeamSearch(2, T, unroll=True, guidance=2.0),
        "beam_diverse": BeamSearch(4, T, groups=2, diversity=0.5),
        "sum_and_sample": SumAndSample(2, 1, T, seed=0),
        "sample": Sample(Categorical(seed=0), 2, T, top_k=9, top_p=0.9),
        "sample_loop": Sample(GumbelSoftmaxST(seed=0), 2, T, unroll=False),
        "sample_guided": Sample(ReinMax(seed=0), 2, T, guidance=2.0),
        "sample_endings": SampleEndings(Sample(GumbelSoftmaxST(seed=0), 2, T)),
        "relaxed_gumbel": relaxed(GumbelSoftmaxST(seed=0)),
        "relaxed_partial": relaxed(PartialSamplingST(0.5, seed=0)),
        "relaxed_rao": relaxed(GumbelRao(num_samples=2, seed=0)),
        "relaxed_probability": relaxed(ProbabilityChannel(seed=0)),
    }


def some_decoders(*names):
    made = every_decoder()
    return {name: made[name] for name in ("greedy", *names)}


class Cell(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.words = SoftEmbedding(V, 4, mask_zero=False)
        self.gru = keras.layers.GRUCell(4)
        self.head = keras.layers.Dense(V)

    def call(self, words, state):
        hidden, state = self.gru(self.words(words), state)
        return self.head(hidden), state


def stepwise():
    encoder = keras.Sequential(
        [keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(4)]
    )
    return StepwiseSpeaker(
        Cell(), encoder, from_logits=True, reads_ids=False, **IDS
    )


def teacher_forced():
    image = keras.Input((None, 3))
    words = keras.Input((None,), dtype="int32")
    state = keras.layers.GlobalAveragePooling1D()(image)
    hidden = keras.layers.GRU(3, return_sequences=True)(
        keras.layers.Embedding(V, 3)(words), initial_state=state
    )
    return TeacherForcedSpeaker(
        keras.Model([image, words], keras.layers.Dense(V)(hidden)),
        inputs=["image", "caption"],
        from_logits=True,
        **IDS,
    )


def causal_lm():
    hub = importlib.import_module("keras_hub").models
    sizes = {"hidden_dim": 4, "intermediate_dim": 4, "num_layers": 1}
    model = hub.GPT2CausalLM(hub.GPT2Backbone(V, num_heads=1, **sizes))
    model.backbone.enable_lora(1)
    prefix = keras.layers.Dense(4)
    ids = {"bos": speakers.BOS, "eos": speakers.EOS, "pad": 0}
    return CausalLMSpeaker(model, prefix=prefix, **ids)


def built(speaker):
    """Speaker whose words differ clearly in probability."""
    speaker(BATCH)
    rng = np.random.default_rng(0)
    for weight in speaker.trainable_variables:
        weight.assign(rng.normal(0, 0.7, weight.shape))
    return speaker


def small(kind, **options):
    def make():
        network, own = speakers.KINDS[kind]
        return built(network(V, **speakers.SIZES, **own, **options))

    return make


#: Makes a speaker, its inputs, and decoders.
CASES = {
    "every_decoder": (
        small("show_tell_every_step", dropout=0.1, condition_dropout=0.1),
        IMAGE,
        every_decoder,
    ),
    **{
        kind: (
            small(kind, dtype="mixed_bfloat16"),
            IMAGE,
            lambda: some_decoders("relaxed_gumbel"),
        )
        for kind in speakers.KINDS
        if kind != "show_tell_every_step"
    },
    "built_for_images": (
        lambda: speakers.speaker("up_down"),
        IMAGE,
        lambda: some_decoders("beam"),
    ),
    "stepwise": (
        lambda: built(stepwise()),
        IMAGE,
        lambda: some_decoders("relaxed_gumbel"),
    ),
    "teacher_forced": (
        lambda: built(teacher_forced()),
        IMAGE,
        lambda: some_decoders("sample"),
    ),
    "causal_lm": (
        lambda: built(causal_lm()),
        IMAGE,
        lambda: some_decoders("sample"),
    ),
    "dialog": (
        dialogs.generator,
        {
            name: rows
            for name, rows in dialogs.batches().inputs(np.arange(4)).items()
            if name in ("question", "history", "image")
        },
        lambda: some_decoders("relaxed_gumbel"),
    ),
}
if importlib.util.find_spec("keras_hub") is None:
    del CASES["causal_lm"]


def save(speaker, inputs, decoders, folder, archived):
    """Saves decodes as signatures, and returns them as functions."""
    specs = [
        tf.TensorSpec((None, *rows.shape[1:]), rows.dtype, name)
        for name, rows in inputs.items()
    ]

    def serving(decoder):
        @tf.function(input_signature=specs, autograph=False)
        def serve(*rows):
            state = speaker.begin(dict(zip(inputs, rows)))
            rollout = decoder.decode(speaker, state)
            said = {"tokens": rollout.tokens}
            # Searches have no gradient, and some networks none in a loop.
            if isinstance(decoder, Sample) and not archived:
                said["log_probs"] = rollout.log_probs
            return said

        return serve

    served = {name: serving(decoder) for name, decoder in decoders.items()}
    if archived:
        archive = keras.export.ExportArchive()
        archive.track(speaker)
        for name, function in served.items():
            archive.add_endpoint(name, function)
        archive.write_out(folder, verbose=False)
    else:
        module = tf.Module()
        module.speaker = speaker
        module.channels = [
            x.channel for x in decoders.values() if hasattr(x, "channel")
        ]
        tf.saved_model.save(module, folder, signatures=served)
    np.savez(folder.with_suffix(".npz"), **inputs)
    return served


@pytest.fixture(scope="module")
def wanted_and_found(tmp_path_factory):
    """Outputs of every case here, and in a process without tfcap."""
    root = tmp_path_factory.mktemp("saved")
    wanted, found = {}, {}
    for case, (make, inputs, decoders) in CASES.items():
        keras.utils.set_random_seed(0)
        functions = save(
            make(), inputs, decoders(), root / case, case != "every_decoder"
        )
        rows = {name: tf.constant(rows) for name, rows in inputs.items()}
        wanted[case] = {}
        for name, function in functions.items():
            with tf.GradientTape() as tape:
                tape.watch(rows["image"])
                said = function(*rows.values())
                score = tf.reduce_sum(said.get("log_probs", 0.0))
            if "log_probs" in said:
                said["gradient"] = tape.gradient(score, rows["image"])
            wanted[case] |= {f"{name}.{key}": x for key, x in said.items()}
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
    kept = {name for name in found if not name.startswith("serving_default")}
    assert kept == set(wanted)
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
