"""The contracts on another backend, in a process of their own.

On the CPU, and elsewhere if asked: `TFCAP_JAX_PLATFORMS=cuda`.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import pytest

# One pass over every part; the rest of the contracts has no backend in it.
# What is trained is compiled by that; a sum of rewards compiles each again.
# Every shape is compiled: of the sizes of one part, one is enough.
CHOSEN = (
    "config or (every_weight and not SequenceEncoder and not LateFusion)"
    " or ((graph_agree or the_seed)"
    " and not Encoder and not Masked and not QueryAttention)"
    " or (values and not laid_out and not WeightedSum)"
    " or (logits and not units0 and not units1)"
    " or (word_vectors and (some or read or gone)) or stateless"
    " or impossible or test_backends"
)
FILES = (
    "test_contract.py",
    "test_impossible_words.py",
    "losses/test_values.py",
    "rewards/test_contract.py",
    "rewards/test_grammar.py",
    "models/test_discriminators.py",
    "layers/test_word_vectors.py",
    "layers/test_stateless_schedules.py",
    "ops/test_loops.py",
    "training/test_backends.py",
)
TESTS = pathlib.Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_parts_meet_their_contract_on_jax():
    environment = {
        **os.environ,
        # Most of the time is the compiler's.
        "XLA_FLAGS": "--xla_backend_optimization_level=0"
        " --xla_force_host_platform_device_count=2",
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": os.environ.get("TFCAP_JAX_PLATFORMS", "cpu"),
    }
    # One process: each would import all of it once more.
    command = [sys.executable, "-m", "pytest", "-q"]
    command += ["-p", "no:cacheprovider", "-W", "default"]
    command += ["-k", CHOSEN, *(str(TESTS / file) for file in FILES)]
    run = subprocess.run(
        command,
        cwd=TESTS.parent,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-2000:]


WITHOUT_TENSORFLOW = """
import sys
sys.modules["tensorflow"] = None
import keras
from tests.methods import stranger
import tfcap

speaker = stranger.speaker()
reward = tfcap.rewards.CIDErD(stranger.frequencies())
training = tfcap.methods.scst(speaker, reward, max_length=3)
training.compile(keras.optimizers.Adam(0.1))
print(training.fit(stranger.batch(), epochs=2, verbose=0).history["cider_d"])
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_a_speaker_is_trained_without_tensorflow():
    run = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW],
        cwd=TESTS.parent,
        env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0 and run.stdout.startswith("["), run.stderr
