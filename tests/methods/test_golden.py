"""The methods do what the laboratory's rows did before they called them."""

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
    "psst_multinomial": option(methods.psst, rho=0.25),
    "psst_gumbel": option(methods.psst, channel="gumbel", temperature=0.7),
    "dense": option(methods.psst, rho=1.0),
    "st_multinomial": methods.straight_through,
    "st_gumbel": option(
        methods.straight_through, channel="gumbel", temperature=0.7
    ),
    "reinforce_joint": methods.reinforce,
    "reinforce_joint_code": option(methods.reinforce, credit="own"),
    "luo2018": methods.frozen_listener,
    "luo2018_code": option(methods.frozen_listener, credit="own"),
    "gumbel_speaker": option(
        methods.frozen_listener,
        estimator="straight_through",
        channel="gumbel",
        temperature=0.7,
    ),
    "psst_speaker": option(methods.frozen_listener, estimator="psst"),
    "sr_pl": methods.sr_pl,
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


@pytest.mark.parametrize("name", ["frozen_speaker_luo", "frozen_speaker_mle"])
def test_frozen_speakers(name):
    networks = {"speaker": stranger.speaker(), "listener": stranger.listener()}
    check(name, methods.frozen_speaker(**networks, **WORDS), **networks)


def test_g_gan():
    speaker, evaluator = stranger.speaker(), stranger.listener(4)
    model = methods.g_gan(speaker, evaluator, num_continuations=2, **WORDS)
    networks = {"listener": stranger.listener(), "evaluator": evaluator}
    check("g_gan", model, speaker=speaker, **networks)


ALONE = {
    "sll": option(methods.sll, num_samples=3),
    "sll_me": option(methods.sll_me, num_samples=3),
    "sll_sle": option(methods.sll_sle, num_samples=3),
    "sll_sle_loo": option(
        methods.sll_sle, num_samples=3, alpha=0.75, variant="code"
    ),
    "scst": methods.scst,
    "scst_leave_one_out": option(methods.scst, num_samples=3),
}


@pytest.mark.parametrize("name", ALONE)
def test_speakers_alone(name):
    speaker = stranger.speaker()
    model = ALONE[name](speaker=speaker, reward=cider(), **WORDS)
    check(name, model, speaker=speaker)


@pytest.mark.parametrize(
    "name, probability",
    [("mle", 0.0), ("mle_scheduled_sampling", lambda step: 0.25 * step)],
)
def test_maximum_likelihood(name, probability):
    speaker = stranger.speaker()
    model = methods.mle(
        speaker, scheduled_sampling=probability, seed=7, global_clipnorm=5.0
    )
    check(name, model, speaker=speaker)


STATES = {"state_units": stranger.UNITS}


@pytest.mark.parametrize("name, continued", [("pg_cider", 2), ("reinforce", 0)])
def test_policy_gradients(name, continued):
    speaker = stranger.speaker()
    model = methods.policy_gradient(
        speaker,
        cider(),
        num_continuations=continued,
        baseline_units=(3,),
        **STATES,
        **WORDS,
    )
    baseline = stranger.fill(model.learners["baseline"].network, 5)
    check(name, model, speaker=speaker, baseline=baseline)


def test_mixer():
    speaker = stranger.speaker()
    # Two stages in half of three epochs of two steps.
    stages = {"stage_steps": 1.5, "delta": 2}
    model = methods.mixer(speaker, cider(), **stages, **STATES, **WORDS)
    baseline = stranger.fill(model.learners["baseline"].network, 5)
    # The last step is in the second stage.
    check("mixer_cider", model, 3, speaker=speaker, baseline=baseline)


BEAM = {"alpha": 0.75, "beam_width": 2, "no_repeat_ngram": 0}
CONTRAST = {
    "temperature": 0.1,
    "neighbors": "neighbor_image",
    "same": "row",
    "neighbor_same": "neighbor_row",
}
DISTINCTIVE = {
    "wtf": option(methods.wtf, **CONTRAST),
    "wtf_rl": option(methods.wtf_rl, **CONTRAST),
    "rl": option(methods.rl, **CONTRAST),
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
