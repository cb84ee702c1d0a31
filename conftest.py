import gc
import importlib
import os
import pathlib
import re
import sys
import zlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
# What XLA compiles is run a few times.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_backend_optimization_level=0"
    " --xla_force_host_platform_device_count=8",
)

import numpy as np
import pytest
from _pytest.doctest import DoctestItem
from _pytest.doctest import DoctestModule

ROOT = str(pathlib.Path(__file__).parent)
# Processes that tests start find `reproduce` here: it is not installed.
if ROOT not in os.environ.get("PYTHONPATH", "").split(os.pathsep):
    os.environ["PYTHONPATH"] = os.pathsep.join(
        [ROOT, *filter(None, [os.environ.get("PYTHONPATH")])]
    )
#: Folders and files that are tested on JAX, where a file does not import
#: TensorFlow, and a pattern of the names of those tests.
ON_JAX = {
    "tests/data/": "(begins|in_order|run_sees)(?!.*tf)",
    # What takes long there, or is TensorFlow's own, is left out; what
    # tests/training/test_backends.py holds by its numbers, too.
    "tests/decoding/test_beam_search": "^$",
    "tests/decoding/test_mixed_prefix": "^$",
    "tests/layers/test_word_vectors": "^$",
    "tests/objectives/test_leave_one_out": "^$",
    "tests/objectives/test_score_function": "^$",
    "tests/decoding/": "^(?!.*(traced_once|bounds_change|GRU|hands_the_words"
    "|each_place|guided|without_dropout|speaker_trains|fill_with|hold_id_0"
    "|is_drawn_as|gradients_are_of))",
    "tests/layers/test_inverse_cdf": "^$",
    "tests/layers/test_encoder_equations": "^$",
    "tests/losses/test_cross_effects": "^$",
    "tests/losses/test_hinge": "^$",
    "tests/layers/": "",
    "tests/losses/": "",
    "tests/objectives/test_monte_carlo.py": "digit|mean.*0",
    "tests/objectives/": "^(?!.*(may_hold_layers|credit1|rows_of_equal"
    "|exact_one.1|sequences_too|is_refused.options1"
    "|is_read_once|best_worst|as_by_a_loop|the_first_words|constant_reward"
    "|unfinished_captions|normalized_by|cannot_be_known|only_drawn"
    "|2-baseline2|refused.options0|everything.*.7-))",
    "tests/ops/test_loops.py": "",
    "tests/rewards/test_contract.py": "",
    "tests/test_impossible_words.py": "not_silent",
    "tests/training/test_backends.py": r"^(?!.*\[(dialog_mle|reinforce|sr_pl|rl"
    r"|straight_through|gan1|gan2|sll|sll_me|ipo|simpo|gdpo|dr_grpo)\])",
    "tests/training/test_joint_training": r"scaled_too|reaches.*nothing\]"
    "|moves_nothing.*options0|gradient_is_named|accumulated|clipped_step",
    "tests/training/test_resume.py": "devices|memory"
    r"|\[(linear|unbuilt)(?!.*(weighted|endless|tf|shuffled|epochs))",
    "tests/training/test_schedules.py": "frozen_networks|of_rows",
}
JAX = os.environ.get("KERAS_BACKEND") == "jax"


def pattern_on_jax(path):
    """Pattern of the tests of a file that run on JAX, or `None`."""
    file = os.path.relpath(path, ROOT)
    found = (ON_JAX[name] for name in ON_JAX if file.startswith(name))
    return next(found, None)


def pytest_ignore_collect(collection_path):
    if JAX and collection_path.suffix == ".py":
        imported = "\nimport tensorflow" in collection_path.read_text()
        return imported or pattern_on_jax(collection_path) is None or None
    return None


def pytest_collectstart(collector):
    # pytest imports a module by its file and puts it into its package, where a
    # function may have its name: the package is first, and has both.
    if isinstance(collector, DoctestModule):
        folder = collector.path.parent
        if (folder / "__init__.py").exists():
            parts = folder.relative_to(ROOT).parts
            importlib.import_module(".".join(parts))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    # Files with slow tests begin first: no process ends long after the others.
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)
    if JAX:
        items[:] = [
            item
            for item in items
            if re.search(pattern_on_jax(item.path), item.name)
        ]


def pytest_collection_finish():
    # All that was imported stays: no later garbage collection visits it.
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def seeded(request):
    # Weights without a seed are a test's own, the same in every run.
    if keras := sys.modules.get("keras"):
        keras.utils.set_random_seed(zlib.crc32(request.node.nodeid.encode()))


@pytest.fixture(autouse=True)
def doctest_names(request, doctest_namespace):
    # Tests of the light parts run without Keras.
    if not isinstance(request.node, DoctestItem):
        yield
        return
    import keras
    import tensorflow as tf

    import reproduce
    import tfcap

    doctest_namespace.update(
        tfcap=tfcap, reproduce=reproduce, np=np, keras=keras
    )
    # A trace takes longer than the steps of an example that trains.
    code = "".join(example.source for example in request.node.dtest.examples)
    tf.config.run_functions_eagerly(bool(re.search(r"fit\(|train_on", code)))
    yield
    tf.config.run_functions_eagerly(False)
