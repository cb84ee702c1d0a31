"""Given words are read up to the longest sequence of the batch."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from tests import speakers
from tests import tiny
from tests.testing import same
from tfcap.decoding import stepwise_log_probs
from tfcap.decoding.loop import read_again
from tfcap.decoding.rollout import NONE
from tfcap.decoding.rollout import LogitsProcessors
from tfcap.decoding.speaker import has_method
from tfcap.models import CausalLMSpeaker

LENGTH = 40
TOKENS = np.zeros((2, 2, LENGTH), "int32")
TOKENS[:, :, :3] = [[[3, 4, 2], [4, 2, 0]], [[2, 0, 0], [4, 4, 2]]]
MASK = (TOKENS > 0).astype("float32")


class Roomy(tiny.TableSpeaker):
    """Its state holds all words so far, and may have room for more."""

    def begin(self, inputs, training=False):
        return {"said": ops.zeros_like(inputs["rows"])[:, :0]}

    def fixed_state(self, state, steps):
        said = ops.pad(state["said"], [(0, 0), (0, steps)])
        return {"said": said, "count": ops.zeros_like(said[:, 0], "int32")}

    def step(self, words, state, training=False):
        logits, _ = super().step(words, state)
        words = ops.cast(words, "float32")[:, None]
        if "count" in state:
            here = ops.arange(ops.shape(state["said"])[1], dtype="int32")
            here = ops.equal(here, state["count"][:, None])
            said = ops.where(here, words, state["said"])
            state = {"said": said, "count": state["count"] + 1}
        else:
            said = ops.concatenate([state["said"], words], axis=1)
            state = {"said": said}
        past = ops.sum(said, axis=1)[:, None]
        return logits + 0.1 * past * self.table[0], state


def causal_lm():
    hub = pytest.importorskip("keras_hub").models
    sizes = {"num_layers": 1, "num_heads": 1, "hidden_dim": 4}
    backbone = hub.GPT2Backbone(13, intermediate_dim=4, **sizes)
    return CausalLMSpeaker(hub.GPT2CausalLM(backbone), bos=1, eos=2, pad=0)


MADE = {
    "lstm": lambda: speakers.speaker("show_tell_start"),
    "transformer": lambda: speakers.speaker("transformer", max_length=LENGTH),
    "causal_lm": causal_lm,
    "teacher_forced": lambda: speakers.lively(speakers.teacher_forced()),
    "stepwise": lambda: speakers.lively(speakers.stepwise()),
    "stranger": lambda: tiny.MemorySpeaker(1),
    "stranger_with_room": lambda: Roomy(1),
}


def batch(kind):
    if kind.startswith("stranger"):
        return tiny.batch(2)
    return {**speakers.batch(images=2), "prompt": np.array([[5], [6]])}


def count(speaker):
    """A variable that counts what the speaker reads from now on."""
    read, passes = tf.Variable(0), has_method(speaker, "logits")

    def counted(own, *args, **options):
        words = tf.shape(args[1])[-1] if passes else read + 1
        read.assign(tf.maximum(read, words))
        return own(*args, **options)

    for name in ("logits", "log_probs") if passes else ("step",):
        method = functools.partial(counted, getattr(speaker, name))
        object.__setattr__(speaker, name, method)
    return read


def slopes(score, speaker):
    """Scores `(2, 2, 3)`, and gradients of their weighted sum."""
    with tf.GradientTape() as tape:
        scores = score()
        loss = ops.sum(scores * np.arange(1.0, 4.0, dtype="float32"))
    variables = [x.value for x in speaker.trainable_variables]
    zero = tf.UnconnectedGradients.ZERO
    found = tape.gradient(loss, variables, unconnected_gradients=zero)
    return scores, [tf.convert_to_tensor(x) for x in found]


@pytest.mark.parametrize("graph", [False, True])
@pytest.mark.parametrize("kind", MADE)
def test_words_again_are_read_up_to_the_longest(kind, graph):
    keras.utils.set_random_seed(0)
    speaker, inputs = MADE[kind](), batch(kind)
    state = speaker.begin(inputs)

    def stepwise(processors):
        words = TOKENS[..., :3]
        return stepwise_log_probs(speaker, state, words, False, processors)

    def again(processors):
        _, found = read_again(speaker, state, TOKENS, MASK, processors, False)
        assert tuple(found.shape) == TOKENS.shape
        return found[..., :3]

    processed = LogitsProcessors(suppress=(3,), no_repeat_ngram=1)
    ways = [functools.partial(stepwise, x) for x in (NONE, processed)]
    wanted = [slopes(way, speaker) for way in ways]
    read = count(speaker)
    for processors, (scores, gradients) in zip((NONE, processed), wanted):
        read.assign(0)
        call = tf.function(slopes, autograph=False) if graph else slopes
        found, own = call(functools.partial(again, processors), speaker)
        np.testing.assert_allclose(found, scores, atol=1e-5)
        same(own, gradients, 1e-4, 1e-4)
        # A step more tells whether the state keeps its shapes.
        assert int(read) in (3, 4)
