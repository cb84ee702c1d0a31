"""The contracts on another backend, in a process of their own.

On the CPU, and elsewhere if asked: `TFCAP_JAX_PLATFORMS=cuda`.
"""

import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

import numpy as np
import pytest

from tfcap._io import load_arrays

# One pass over every part; the rest of the contracts has no backend in it.
# What is trained is compiled by that; a sum of rewards compiles each again.
# Every shape is compiled: of the sizes of one part, one is enough.
CHOSEN = (
    "begins or in_order or run_sees or (test_resume and (devices or unbuilt"
    " or memory or (linear and not weighted and not endless and not tf)))"
    " or config or (every_weight and not SequenceEncoder and not LateFusion)"
    " or ((graph_agree or the_seed)"
    " and not Encoder and not Masked and not QueryAttention)"
    " or (values and not laid_out and not WeightedSum)"
    " or (logits and not units0 and not units1)"
    " or (word_vectors and (some or read or gone)) or stateless"
    " or impossible or test_backends or scaled_too or reaches_nothing"
    " or (moves_nothing and options0) or gradient_is_named or accumulated"
    " or clipped_step or frozen_networks or of_rows or (moves_all and False)"
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
    "data/test_caption_batches.py",
    "data/test_dataset_batches.py",
    "data/test_dialog_batches.py",
    "training/test_resume.py",
    "training/test_backends.py",
    "training/test_joint_training.py",
    "training/test_joint_training_update.py",
    "training/test_schedules.py",
)
TESTS = pathlib.Path(__file__).parent


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_parts_meet_their_contract_on_jax():
    environment = {
        **os.environ,
        # Most of the time is the compiler's.
        "XLA_FLAGS": "--xla_backend_optimization_level=0"
        " --xla_force_host_platform_device_count=8",
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
import os, signal, sys
sys.modules["tensorflow"] = None
import keras
from tests.methods import stranger
import tfcap

def train(folder, seed, batch_begins=None):
    keras.utils.set_random_seed(seed)
    reward = tfcap.rewards.CIDErD(stranger.frequencies())
    training = tfcap.methods.scst(stranger.speaker(), reward, max_length=3)
    training.compile(keras.optimizers.Adam(0.1))
    batches = tfcap.data.DatasetBatches.from_arrays(stranger.batch(8), 2)
    happens = keras.callbacks.LambdaCallback(on_train_batch_begin=batch_begins)
    resume = tfcap.training.Resume(folder, save_every=1e-9)
    data, callbacks = batches.dataset(2), [resume, happens]
    training.fit(data, epochs=2, callbacks=callbacks, verbose=0)

def kill(batch, logs, begun=[]):
    begun.append(batch)
    if len(begun) == 7:
        os.kill(os.getpid(), signal.SIGKILL)

os.chdir(sys.argv[1])
if os.path.exists("parts"):
    train("parts", 9)
else:
    train("whole", 0)
    train("parts", 0, kill)
"""


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="needs JAX")
def test_a_run_without_tensorflow_is_killed_and_goes_on(tmp_path):
    for status in (-signal.SIGKILL, 0):
        run = subprocess.run(
            [sys.executable, "-c", WITHOUT_TENSORFLOW, tmp_path],
            cwd=TESTS.parent,
            env={**os.environ, "KERAS_BACKEND": "jax", "JAX_PLATFORMS": "cpu"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == status, run.stderr
    parts, whole = (
        load_arrays(tmp_path / name / "checkpoint.npz")
        for name in ("parts", "whole")
    )
    np.testing.assert_equal(parts, whole)
