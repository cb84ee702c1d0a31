"""Variants of methods do what they did.

What methods do by default is compared in `tests.training.test_backends`.
"""

import json
import pathlib

import keras
import numpy as np
import pytest

from tests.methods import stranger
from tfcap import methods
from tfcap.rewards import CIDErD
from tfcap.training import ExponentialTemperature

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())
SAID = {
    "max_length": stranger.LENGTH,
    "suppress": (stranger.VOCABULARY.unk,),
    "global_clipnorm": 5.0,
}
WORDS = {**SAID, "seed": 7}


def cider():
    return CIDErD(stranger.frequencies(), jit_compile=False)


def check(name, model, steps=2, **networks):
    optimizers = {name: keras.optimizers.SGD(0.2) for name in model.learners}
    # In a graph, as the row was: its hinges are at a kink.
    model.compile(optimizers, run_eagerly=not name.startswith("st_gumbel"))
    annealed = []
    for step in range(8):
        for channel in model.scheduled():
            channel.step.assign(step)
        annealed += map(float, model.scheduled_values().values())
    for channel in model.scheduled():
        channel.step.assign(0)
    (wanted,) = GOLDEN[name].get("annealed", [[]])
    np.testing.assert_allclose(annealed, wanted, rtol=1e-6)
    found = stranger.told(model, networks, steps)
    assert set(found) == set(GOLDEN[name]) - {"annealed"}
    for key, values in found.items():
        wanted = GOLDEN[name][key]
        np.testing.assert_allclose(values, wanted, rtol=2e-4, atol=2e-5)


def option(method, **own):
    return lambda **options: method(**options, **own)


COOPERATIVE = {
    "psst_gumbel": option(methods.psst, channel="gumbel", temperature=0.7),
    "dense": option(methods.psst, rho=1.0),
    "st_gumbel": option(
        methods.straight_through, channel="gumbel", temperature=0.7
    ),
    "reinforce_joint_code": option(methods.reinforce, credit="own"),
    "luo2018_code": option(methods.frozen_listener, credit="own"),
    "gumbel_speaker": option(
        methods.frozen_listener,
        estimator="straight_through",
        channel="gumbel",
        temperature=0.7,
    ),
    "psst_speaker": option(methods.frozen_listener, estimator="psst"),
}


def cooled(step):
    """Partial sampling whose rho falls every second step."""
    return keras.ops.minimum(1.0, (1.0 + step // 2.0) ** -0.5)


COOPERATIVE |= {
    "psst_soft_cooling": option(methods.psst, rho=cooled),
    "st_gumbel_annealed": option(
        methods.straight_through,
        channel="gumbel",
        temperature=ExponentialTemperature(1.0, rate=0.1),
    ),
}


@pytest.mark.parametrize("name", COOPERATIVE)
def test_speakers_and_listeners(name):
    networks = {"speaker": stranger.speaker(), "listener": stranger.listener()}
    trade = {"lambda_": 0.3, "naturalness": cider()}
    model = COOPERATIVE[name](**networks, **trade, **WORDS)
    check(name, model, **networks)


ALONE = {
    "sll_sle_loo": option(
        methods.sll_sle, num_samples=3, alpha=0.75, variant="code"
    ),
    "scst_leave_one_out": option(methods.scst, num_samples=3),
}


@pytest.mark.parametrize("name", ALONE)
def test_speakers_alone(name):
    speaker = stranger.speaker()
    model = ALONE[name](speaker=speaker, reward=cider(), **WORDS)
    check(name, model, speaker=speaker)


def test_scheduled_sampling():
    speaker = stranger.speaker()
    model = methods.mle(
        speaker,
        scheduled_sampling=lambda step: 0.25 * step,
        seed=7,
        global_clipnorm=5.0,
    )
    check("mle_scheduled_sampling", model, speaker=speaker)


def test_reinforce_with_a_learned_baseline():
    speaker = stranger.speaker()
    model = methods.policy_gradient(
        speaker,
        cider(),
        num_continuations=0,
        baseline_units=(3,),
        state_units=stranger.UNITS,
        **WORDS,
    )
    baseline = stranger.fill(model.learners["baseline"].network, 5)
    check("reinforce", model, speaker=speaker, baseline=baseline)


BEAM = {"alpha": 0.75, "beam_width": 2, "no_repeat_ngram": 0}
CONTRAST = {
    "temperature": 0.1,
    "neighbors": "neighbor_image",
    "same": "row",
    "neighbor_same": "neighbor_row",
}
DISTINCTIVE = {
    "rl_unidirectional": option(methods.rl, **CONTRAST, directions=("text",)),
    "scst_discriminator": option(methods.rl, reward="cosine"),
}


@pytest.mark.parametrize("name", DISTINCTIVE)
def test_distinctive_speakers(name):
    networks = {
        "speaker": stranger.speaker(),
        "discriminator": stranger.critic(),
    }
    model = DISTINCTIVE[name](
        retriever=stranger.listener(), **networks, **BEAM, **SAID
    )
    check(name, model, **networks)
