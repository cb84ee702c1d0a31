"""The methods do what the laboratory's rows did before: see make_golden.py."""

import json
import pathlib

import keras
import numpy as np
import pytest

import tfcap
from tests.methods import stranger
from tfcap import methods
from tfcap.rewards import CIDErD

GOLDEN = json.loads((pathlib.Path(__file__).parent / "golden.json").read_text())
WORDS = {
    "max_length": stranger.LENGTH,
    "suppress": (stranger.VOCABULARY.unk,),
    "seed": 7,
    "global_clipnorm": 5.0,
}


def cider():
    return CIDErD(stranger.frequencies(), jit_compile=False)


def check(name, model, **networks):
    game = isinstance(model, tfcap.training.Game)
    players = model.players if game else ["speaker"]
    optimizers = {name: keras.optimizers.SGD(0.2) for name in players}
    model.compile(optimizers, run_eagerly=True)
    found = stranger.told(model, networks)
    for key, values in found.items():
        wanted = GOLDEN[name][key]
        np.testing.assert_allclose(values, wanted, rtol=2e-4, atol=2e-5)


def pair():
    return {"speaker": stranger.speaker(), "listener": stranger.listener()}


COOPERATIVE = {
    "psst_multinomial": lambda **own: methods.psst(rho=0.25, **own),
    "psst_gumbel": lambda **own: methods.psst(
        channel="gumbel", temperature=0.7, **own
    ),
    "psst_multinomial_code": lambda **own: methods.psst(rho=0.75, **own),
    "dense": lambda **own: methods.psst(rho=1.0, **own),
}


@pytest.mark.parametrize("name", COOPERATIVE)
def test_cooperative_rows(name):
    networks = pair()
    trade = {"lambda_": 0.3, "naturalness": cider()}
    model = COOPERATIVE[name](**networks, **trade, **WORDS)
    check(name, model, **networks)
