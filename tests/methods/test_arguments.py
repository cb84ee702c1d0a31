"""Every option of every method reaches a part of the model that it makes."""

import functools
import inspect
import types

import keras
import numpy as np
import pytest

from tests import dialogs
from tests.methods import stranger
from tests.methods.stranger import bleu
from tfcap import methods
from tfcap.objectives import ClippedRatio

NETWORKS = {
    "speaker": stranger.speaker,
    "reference": stranger.speaker,
    "listener": stranger.listener,
    "retriever": stranger.listener,
    "evaluator": stranger.listener,
    "retrievers": lambda: [stranger.listener()],
    "discriminator": stranger.critic,
    "generator": dialogs.generator,
    "reward": bleu,
    "naturalness": bleu,
    "lambda_": lambda: 0.2,
    "state_units": lambda: stranger.UNITS,
    "stage_steps": lambda: 1,
}
#: A value of each option that is not its default.
OTHERS = {
    "alpha": 0.3,
    "baseline": "greedy",
    "baseline_units": (3,),
    "beam_weight": 0.5,
    "beam_width": 2,
    "beta": 0.4,
    "candidates": "batch",
    "channel": "gumbel_rao",
    "clip": ClippedRatio(0.3),
    "combine": "sum",
    "credit": "own",
    "delta": 1,
    "directions": ("image",),
    "distractors": "rivals",
    "entropy_weight": 0.5,
    "estimator": "straight_through",
    "gamma": 0.5,
    "global_clipnorm": 2.5,
    "human_weight": 0.5,
    "kl_estimator": "k1",
    "kl_weight": 0.5,
    "lambda_": 0.5,
    "loss": "ipo",
    "margin": 0.7,
    "mask_unfinished": True,
    "max_length": 3,
    "mle_weight": 0.25,
    "negatives": "sum",
    "neighbors": "neighbors",
    "no_repeat_ngram": 2,
    "normalize": "length",
    "num_continuations": 2,
    "num_samples": 3,
    "pair_temperature": 0.5,
    "pairs": "all",
    "reward_shift": 0.5,
    "rho": 0.5,
    "rollout_every": 2,
    "same": "caption_id",
    "scale": 2.0,
    "scheduled_sampling": 0.5,
    "seed": 7,
    "standardize": False,
    "suppress": (5,),
    "temperature": 0.3,
    "termination": "expected",
    "threshold": 0.2,
    "updates_per_rollout": 2,
    "variant": "code",
    "weight": 0.25,
}
GUMBEL = {"channel": "gumbel", "estimator": "psst"}
#: Other values where those above are none of a method's, and what else must
#: be given for an option to be read, by method and option.
OWN = {
    "dpo.gamma": {"gamma": 0.5, "loss": "simpo", "reference": None},
    "frozen_listener.channel": {"channel": "gumbel", "estimator": "psst"},
    "frozen_listener.rho": {"rho": 0.5, "estimator": "psst"},
    "frozen_listener.temperature": {"temperature": 0.5, **GUMBEL},
    "frozen_listener.termination": {"termination": "expected", **GUMBEL},
    "grpo.normalize": {"normalize": "sequence"},
    "grpo.clip": {"clip": ClippedRatio(0.3), "updates_per_rollout": 2},
    "grpo.kl_estimator": {"kl_estimator": "k1", "reference": stranger.speaker},
    "grpo.kl_weight": {"kl_weight": 0.5, "reference": stranger.speaker},
    "mle.seed": {"seed": 7, "scheduled_sampling": 0.5},
    "psst.temperature": {"temperature": 0.5, "channel": "gumbel"},
    "retriever_ensemble.estimator": {"estimator": "psst", "num_samples": 1},
    "retriever_ensemble.rho": {"rho": 0.5, "estimator": "psst"},
    "retriever_ensemble.threshold": {
        "threshold": 0.2,
        "estimator": "teacher_forcing",
        "naturalness": None,
    },
    "rloo.clip": {"clip": ClippedRatio(0.3), "updates_per_rollout": 2},
    "rloo.kl_weight": {"kl_weight": 0.5, "reference": stranger.speaker},
    "scst.baseline": {"baseline": "greedy", "num_samples": 2},
    "straight_through.temperature": {"temperature": 0.5, "channel": "gumbel"},
    "structured.loss": {"loss": "softmax_margin"},
    "wtf_rl.neighbor_same": {
        "neighbor_same": "neighbor_caption_id",
        "neighbors": "neighbors",
        "same": "caption_id",
    },
    "wtf_rl.num_samples": {"num_samples": 3, "naturalness": bleu},
    "wtf_rl.reward": {"reward": "cosine"},
    "wtf_rl.seed": {"seed": 7, "naturalness": bleu},
}


def options_of(method):
    """Names of the options of a method."""
    return [
        p.name
        for p in inspect.signature(method).parameters.values()
        if p.kind is not p.VAR_KEYWORD and p.default is not p.empty
    ]


def networks_of(method):
    """What a method cannot do without, and a reward of naturalness."""
    names = inspect.signature(method).parameters
    made = {
        p.name: NETWORKS[p.name]()
        for p in names.values()
        if p.kind is not p.VAR_KEYWORD and p.default is p.empty
    }
    if "discriminator" in made and "retriever" not in names:
        made["discriminator"] = dialogs.discriminator()
    if {"lambda_", "naturalness"} <= {*names} or method is methods.sr_pl:
        made["naturalness"] = bleu()
    return made


def described(thing, seen):
    """All that an object of the project holds, as nested plain values."""
    if isinstance(thing, str | int | float | bool | type | None):
        return thing
    if id(thing) in seen:
        return seen[id(thing)][0]
    # With the object, whose id would be that of another one after it.
    seen[id(thing)] = f"object {len(seen)}", thing
    inside = functools.partial(described, seen=seen)
    if isinstance(thing, dict):
        return {str(key): inside(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple | set):
        return [*map(inside, thing)]
    if isinstance(thing, functools.partial):
        parts = thing.func, *thing.args, *thing.keywords.values()
        return [*map(inside, parts)]
    if isinstance(thing, types.MethodType):
        return [thing.__name__, inside(thing.__self__)]
    if isinstance(thing, types.FunctionType):
        cells = thing.__closure__ or ()
        return [thing.__qualname__, *(inside(c.cell_contents) for c in cells)]
    if isinstance(thing, np.ndarray):
        return thing.tolist()
    kind = f"{type(thing).__module__}.{type(thing).__qualname__}"
    if kind.startswith("tfcap"):
        # Names are counted up by Keras.
        held = {k: v for k, v in vars(thing).items() if "name" not in k}
        return [kind, *map(inside, held), *map(inside, held.values())]
    if isinstance(thing, keras.Variable):
        return [kind, thing.path, list(thing.shape)]
    if isinstance(thing, keras.Model):
        return [kind, *map(inside, thing.variables)]
    config = getattr(thing, "get_config", dict)()
    return [kind, str(config)]


METHODS = {
    name: method
    for name, method in vars(methods).items()
    if inspect.isfunction(method)
}


def made(method, options):
    """Description of the model that a method makes."""
    keras.backend.clear_session(free_memory=False)
    keras.utils.set_random_seed(0)
    return described(method(**options), {})


@pytest.mark.parametrize("name", METHODS)
def test_no_option_is_ignored(name):
    method = METHODS[name]
    known = networks_of(method)
    usual = made(method, known)
    assert made(method, known) == usual
    for option in options_of(method):
        if option in known:
            continue
        changed = {option: OTHERS.get(option, NETWORKS.get(option))}
        changed |= OWN.get(f"{name}.{option}", {})
        changed = {
            key: value() if inspect.isfunction(value) else value
            for key, value in changed.items()
        }
        plain = {k: v for k, v in changed.items() if k != option}
        one = made(method, {**known, **plain}) if plain else usual
        assert made(method, {**known, **changed}) != one, option
