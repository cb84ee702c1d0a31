"""Memory of callbacks, as JSON and arrays hold it."""

import json

import keras
import numpy as np
import pytest

from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap.training.callback_memory import give_back
from tfcap.training.callback_memory import memory_of


class Told(keras.callbacks.Callback):
    """Remembers what it is given."""

    def __init__(self, state):
        super().__init__()
        self.state = state

    def get_state(self):
        return self.state

    def set_state(self, state):
        self.state = state


def remembered(state):
    """What a callback of another process has again."""
    memory, arrays = memory_of([Told(state)])
    again = Told({})
    assert not give_back([again], json.loads(json.dumps(memory)), arrays)
    return again.state


@pytest.mark.parametrize(
    "state",
    [
        {"best": {1: 0.5, 2: 0.7}, "t": (1, 2), "list": [1, (2, [None])]},
        {(1, "a"): True, "array": {}, "dict": {"dict": {}}, None: ()},
        {"tuple": [1], "items": ({"items": 1},), "": {}},
        [1.5, "two"],
    ],
)
def test_keys_and_tuples_come_back_as_they_were(state):
    found = remembered(state)
    assert found == state and repr(found) == repr(state)


def test_arrays_and_numbers_of_numpy_come_back():
    found = remembered({3: (np.arange(3), np.float32(0.5))})
    np.testing.assert_array_equal(found[3][0], np.arange(3))
    assert found[3][1] == 0.5


def test_arrays_of_half_precision_come_back_through_a_file(tmp_path):
    half = keras.ops.convert_to_numpy(keras.ops.ones(2, "bfloat16"))
    memory, (array,) = memory_of([Told(half)])
    save_arrays(tmp_path / "a.npz", {"memory": array})
    again = Told({})
    give_back([again], memory, [load_arrays(tmp_path / "a.npz", [])["memory"]])
    np.testing.assert_array_equal(again.state, np.ones(2))


def test_what_earlier_versions_wrote_is_read():
    memory = ["Told", {"dict": {"a": [1, {"dict": {"b": {"array": 0}}}]}}]
    again = Told({})
    give_back([again], [memory], [np.ones(2)])
    assert again.state["a"][0] == 1
    np.testing.assert_array_equal(again.state["a"][1]["b"], np.ones(2))


@pytest.mark.parametrize(
    "state, told",
    [
        ({"seen": {1, 2}}, r"Received: \{1, 2\} as Told\['seen'\]"),
        ({"x": keras.ops.ones(2)}, r"as Told\['x'\]"),
        ({"a": {1: [0, object]}}, r"<class 'object'> as Told\['a'\]\[1\]\[1\]"),
        ({frozenset(): 1}, r"Received: frozenset\(\) as a key of Told\b"),
        ({"a": np.array([None])}, r"as Told\['a'\]"),
    ],
)
def test_what_cannot_be_kept_is_named_with_its_callback(state, told):
    with pytest.raises(TypeError, match=told):
        memory_of([Told(state)])
