"""State of the global random generators of a process, as arrays.

Layers of Keras hold their own `SeedGenerator`s, which are variables of a
model. What draws without one draws from Python, NumPy or Keras' global one, or
from `tf.random.get_global_generator()`. `tf.random.normal()` and its kind draw
a seed from a generator of the process where they run eagerly; in a graph they
have no state to save: see `tfcap.training.draws`.
"""

import random

import numpy as np
import tensorflow as tf
from keras.src.backend.common.global_state import get_global_attribute
from keras.src.random.seed_generator import global_seed_generator
from tensorflow.python.eager import context
from tensorflow.python.ops import stateful_random_ops

from tfcap.training.workers import from_chief

#: Of what moments a checkpoint may hold the state: of the save, of the begin of
#: the epoch that is interrupted, and of that of its `fit()`.
MOMENTS = "now", "epoch", "fit"
#: Words of a Mersenne Twister, and with its position.
_WORDS, _PLACED = 624, 625


def global_variables() -> list:
    """Variables of the global generators of Keras and TensorFlow."""
    keras_own, other = (
        get_global_attribute("global_seed_generator"),
        _of_tensorflow(),
    )
    found = [] if keras_own is None else [keras_own.state.value]
    return found if other is None else [*found, other.state]


def _of_tensorflow():
    """The global generator of TensorFlow, if there is one that can be kept.

    `tf.random.get_global_generator()` would make one, and by chance.
    """
    found = stateful_random_ops.global_generator
    # One that is made in the scope of a strategy has a stream a replica.
    of_replicas = hasattr(getattr(found, "state", None), "values")
    return None if of_replicas else found


def _eager():
    """Generator of the seeds of eager operations; `None` without a seed."""
    return getattr(context.context(), "_rng", None)


def random_arrays():
    """The state of the global generators.

    Returns:
        Dict of arrays by name: `words`, uint32 of shape `(3, 625)`, of Python,
        NumPy and, if `tf.random.set_seed()` was called (otherwise `(2, 625)`),
        TensorFlow's eager operations, `normals`, float64 of shape `(2,)`, the
        normal deviates that the first two hold back, NaN for none, and
        `keras`, uint32 of shape `(2,)`, and `tensorflow`, int64 of shape
        `(3,)`, or, where nothing has drawn from one of these, `(0,)`.
    """
    _, words, normal = random.getstate()
    _, keys, place, held, deviate = np.random.get_state()
    generator = get_global_attribute("global_seed_generator")
    other, eager = _of_tensorflow(), _eager()
    more = [] if eager is None else [eager.getstate()[1]]
    return {
        "words": np.array([words, [*keys, place], *more], np.uint32),
        "normals": np.array(
            [np.nan if normal is None else normal, deviate if held else np.nan]
        ),
        "keras": np.array(
            [] if generator is None else generator.state, np.uint32
        ),
        "tensorflow": np.array([] if other is None else other.state, np.int64),
    }


def set_random_arrays(arrays: dict, host: bool = True):
    """Sets the global generators to what `random_arrays()` returned."""
    if len(arrays["keras"]):
        global_seed_generator().state.assign(arrays["keras"])
    state = arrays.get("tensorflow", ())
    if len(state):
        if stateful_random_ops.global_generator is None:
            tf.random.set_global_generator(tf.random.Generator.from_seed(0))
        tf.random.get_global_generator().reset(state)
    if not host:
        return
    python, numpy, *more = arrays["words"]
    normal, deviate = arrays["normals"]
    normal = None if np.isnan(normal) else float(normal)
    random.setstate((3, tuple(map(int, python)), normal))
    if more and (eager := _eager()) is not None:
        eager.setstate((3, tuple(map(int, more[0])), None))
    held = not np.isnan(deviate)
    state = numpy[:_WORDS], int(numpy[_WORDS]), int(held)
    np.random.set_state(("MT19937", *state, float(deviate) if held else 0.0))


def check_random_arrays(arrays: dict):
    """Refuses what is no state of generators.

    Raises:
        ValueError: If it is none. The message is a clause.
    """
    layouts = {name: (a.shape, a.dtype.kind) for name, a in arrays.items()}
    drawn = layouts.pop("keras", None)
    # Older checkpoints do not know it.
    other = layouts.pop("tensorflow", ((0,), "i"))
    rows = 3 if len(arrays.get("words", ())) == 3 else 2
    wanted = {"words": ((rows, _PLACED), "u"), "normals": ((2,), "f")}
    fits = layouts == wanted and drawn in (((0,), "u"), ((2,), "u"))
    fits = fits and other in (((0,), "i"), ((3,), "i"))
    if not fits or (arrays["words"][:, _WORDS] > _WORDS).any():
        raise ValueError("its random states are none")


def named(state: dict | None, moment: str) -> dict:
    """A state under the names by which a checkpoint holds it."""
    return {f"random_{moment}_{k}": v for k, v in (state or {}).items()}


def random_state_of(arrays: dict, moment: str) -> dict:
    """The state of a moment, among the arrays of a checkpoint."""
    begin = f"random_{moment}_"
    return {
        name.removeprefix(begin): array
        for name, array in arrays.items()
        if name.startswith(begin)
    }


def arrays_from_chief(arrays: dict, model) -> dict:
    """Arrays by name, as the first of several workers has them."""
    names = from_chief(sorted(arrays), model)
    return {name: from_chief(arrays.get(name), model) for name in names}
