import pathlib
import re

import keras
import tensorflow as tf

import tfcap
from tfcap._ops.private_names import is_function_graph
from tfcap._ops.private_names import is_softmax_output
from tfcap._ops.private_names import layer_of_output
from tfcap._ops.private_names import layers_of
from tfcap._ops.private_names import seed_generators
from tfcap._ops.private_names import tracked

PRIVATE = re.compile(
    r"\b(?:_flatten_layers|_seed_generators|_keras_history|_keras_logits|"
    r"_autoconvert_optionals|_trainable_variables|_getframe|__internal__|"
    r"(?:keras\.src|tensorflow\.python))\b"
)


def test_layers_and_their_seeds_are_found_at_any_depth():
    inner = keras.Sequential([keras.layers.Dropout(0.5), keras.layers.Dense(1)])
    network = keras.Sequential([keras.layers.Dense(2), inner])
    found = layers_of(network)
    assert {*map(id, [network, inner, *inner.layers])} <= {*map(id, found)}
    assert layers_of(object()) == []
    (seeds,) = seed_generators(inner.layers[0])
    assert isinstance(seeds, keras.random.SeedGenerator)
    assert seed_generators(inner.layers[1]) == []


def test_an_output_tells_its_layer():
    dense = keras.layers.Dense(1)
    assert layer_of_output(dense(keras.Input((2,)))) is dense


def test_the_output_of_a_softmax_is_known_in_graphs_too():
    head = keras.layers.Dense(2, activation="softmax")

    def softmax(x):
        probabilities = head(x)
        logits = keras.ops.log(probabilities)
        return is_softmax_output(probabilities), is_softmax_output(logits)

    seen = [*softmax(keras.ops.ones((1, 3)))]
    tf.function(lambda x: seen.extend(softmax(x)))(keras.ops.ones((1, 3)))
    assert seen == [True, False] * 2


def test_functions_and_loops_are_told_apart():
    kinds = []

    def loop(i):
        kinds.append(is_function_graph(tf.compat.v1.get_default_graph()))
        return i + 1

    @tf.function(autograph=False)
    def function():
        kinds.append(is_function_graph(tf.compat.v1.get_default_graph()))
        return tf.while_loop(lambda i: i < 2, loop, (0,))

    function()
    assert kinds == [True, False]


def test_what_is_tracked_is_saved_with_its_layer():
    class Part(tracked()):
        def __init__(self):
            self.value = tf.Variable(1.0)

    layer = keras.layers.Layer()
    layer.part = Part()
    assert layer.part._lookup_dependency("value") is layer.part.value


def test_no_other_file_reads_such_names():
    sources = pathlib.Path(tfcap.__file__).parent.rglob("*.py")
    found = {
        path.name
        for path in sources
        if PRIVATE.search(path.read_text().replace("super()._", ""))
    }
    assert found == {"private_names.py"}
