"""The contract that every exported part meets, as reusable checks.

A check takes a `make` function, which returns a new part with the same
arguments at every call, and example inputs as NumPy arrays, batch axis first.
"""

import functools
import importlib
import inspect
import json

import keras
import numpy as np

#: TensorFlow, or `None` where tests run on JAX, without it.
tf = None
if keras.backend.backend() == "tensorflow":
    tf = importlib.import_module("tensorflow")

POLICIES = ("float32", "mixed_float16", "mixed_bfloat16")


def same(found, wanted, rtol=0.0, atol=0.0):
    """Leaves of two nested structures are equal, or close."""
    found, wanted = map(keras.tree.flatten, (found, wanted))
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol, atol)


def arguments(part):
    """Names of all constructor arguments that tfcap's classes declare."""
    names = []
    for cls in type(part).__mro__:
        if cls.__module__.split(".")[0] == "tfcap" and "__init__" in vars(cls):
            names += list(inspect.signature(cls.__init__).parameters)
    return set(names) - {"self", "args", "kwargs"}


def check_config(make):
    """The config survives JSON, is complete, and is registered as `tfcap>`."""
    part = make()
    wire = json.loads(json.dumps(keras.saving.serialize_keras_object(part)))
    assert wire["registered_name"] == f"tfcap>{type(part).__name__}"
    again = keras.saving.deserialize_keras_object(wire)
    assert type(again) is type(part)
    assert again.get_config() == part.get_config()
    missing = arguments(part) - set(part.get_config())
    assert not missing, f"not in get_config(): {missing}"
    hidden = {x for x in arguments(part) if not hasattr(part, x)}
    assert not hidden, f"not an attribute: {hidden}"


def check_numbers(make, options):
    """NumPy's numbers are taken as arguments, and saved as Python's."""
    kinds = {int: np.int64, float: np.float64}
    given = {
        name: kinds.get(type(value), lambda x: x)(value)
        for name, value in options.items()
    }
    part, expected = make(**given), make(**options)
    found = json.loads(json.dumps(keras.saving.serialize_keras_object(part)))
    wanted = keras.saving.serialize_keras_object(expected)
    named = [{**x["config"], "name": None} for x in (found, wanted)]
    assert named[0] == json.loads(json.dumps(named[1]))


def functional(layer, inputs, **options):
    """A functional model of one layer, its outputs flattened to a list."""
    symbols = {
        name: keras.Input(
            value.shape[1:], dtype=str(np.asarray(value).dtype), name=name
        )
        for name, value in inputs.items()
    }
    outputs = keras.tree.flatten(layer(**symbols, **options))
    return keras.Model(symbols, outputs)


def numpy(outputs):
    return [
        keras.ops.convert_to_numpy(keras.ops.cast(x, "float32"))
        for x in keras.tree.flatten(outputs)
    ]


def check_symbolic_shapes(make, inputs):
    """Shapes of symbolic outputs are those of values."""
    model = functional(make(), inputs)
    shapes = [tuple(x.shape) for x in model.outputs]
    values = numpy(model(inputs))
    assert len(shapes) == len(values)
    for shape, value in zip(shapes, values):
        assert len(shape) == value.ndim
        assert all(a in (None, b) for a, b in zip(shape, value.shape))


def check_saved_model(make, inputs, folder):
    """A functional model saves, loads and predicts the same."""
    model = functional(make(), inputs)
    path = f"{folder}/model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    same(numpy(model(inputs)), numpy(loaded(inputs)))


def check_eager_equals_graph(make, inputs):
    """A compiled call gives what an eager one gives."""
    model = functional(make(), inputs)
    graph = model.predict_on_batch(inputs)
    same(numpy(model(inputs)), graph, 1e-5, 1e-5)


def check_batch_of_one(make, inputs):
    """A row alone gives what it gives in a batch."""
    model = functional(make(), inputs)
    one = {name: value[:1] for name, value in inputs.items()}
    for a, b in zip(numpy(model(inputs)), numpy(model(one))):
        np.testing.assert_allclose(a[:1], b, rtol=1e-5, atol=1e-5)


def check_policy(make, inputs, policy):
    """Half precision gives its own dtype and nearly the float32 result."""
    plain, layer = make(), make(dtype=policy)
    expected = numpy(plain(**inputs))
    outputs = keras.tree.flatten(layer(**inputs))
    layer.set_weights(plain.get_weights())
    outputs = keras.tree.flatten(layer(**inputs))
    for output, value in zip(outputs, expected):
        dtype = keras.backend.standardize_dtype(output.dtype)
        assert dtype == layer.compute_dtype
        np.testing.assert_allclose(numpy(output)[0], value, atol=0.06)


def check_seed(make, inputs):
    """The same seed and weights give the same training output."""
    one, two = make(), make()
    one(**inputs), two(**inputs)
    two.set_weights(one.get_weights())
    one, two = fresh(make, one, inputs), fresh(make, two, inputs)
    training = _training(one)
    found, wanted = (numpy(x(**inputs, **training)) for x in (one, two))
    same(found, wanted, 1e-5, 1e-6)


def fresh(make, layer, inputs):
    """A new layer, nothing drawn from its seed yet, with a layer's weights."""
    again = make()
    again(**inputs)
    again.set_weights(layer.get_weights())
    return again


def check_inference(make, inputs):
    """Inference draws nothing: twice the same."""
    layer = make()
    same(numpy(layer(**inputs)), numpy(layer(**inputs)))


def check_trains(make, inputs):
    """One step of training gives finite weights, and moves them all."""
    layer = make()
    model = functional(layer, inputs)
    # One step takes less than its graph; but JAX would compile every operation.
    eager = keras.backend.backend() == "tensorflow"
    model.compile(keras.optimizers.SGD(0.1), loss="mse", run_eagerly=eager)
    before = [x.copy() for x in layer.get_weights()]
    rows = len(next(iter(inputs.values())))
    targets = [np.ones((rows, *x.shape[1:])) for x in model.outputs]
    loss = model.train_on_batch(inputs, targets)
    assert np.isfinite(loss).all()
    after = layer.get_weights()
    assert all(np.isfinite(x).all() for x in after)
    trained = {id(x) for x in layer.trainable_variables}
    for variable, a, b in zip(layer.weights, before, after):
        if id(variable) in trained:
            assert np.any(a != b), f"{variable.path} did not move"


def check_mask(make, inputs, masks):
    """Values under a mask change nothing.

    Args:
        make: Function that returns a new layer.
        inputs: Dictionary of arrays.
        masks: Dictionary from an input's name to `(argument, mask)`.
    """
    layer = make()
    arguments = {name: mask for name, mask in masks.values()}
    changed = dict(inputs)
    for name, (_, mask) in masks.items():
        noise = np.random.default_rng(1).normal(size=inputs[name].shape)
        keep = np.asarray(mask, bool)[..., None]
        changed[name] = np.where(keep, inputs[name], 50 * noise)
        changed[name] = changed[name].astype("float32")
    before = numpy(layer(**inputs, **arguments))
    same(before, numpy(layer(**changed, **arguments)), 1e-5, 1e-5)


def check_metric(make, *batch):
    """A metric is configured, and forgets what it saw when it is reset."""
    check_config(make)
    metric = make()
    metric.update_state(*batch)
    once = numpy(metric.result())
    metric.update_state(*batch)
    metric.reset_state()
    metric.update_state(*batch)
    same(once, numpy(metric.result()), 1e-6, 1e-6)


def check_reward(reward, rollout, episode, on_host=False):
    """Values of every sample: its own, by what is said, eager or compiled.

    Args:
        reward: `tfcap.rewards.Reward`.
        rollout: `tfcap.decoding.Rollout` of arrays.
        episode: Function from a slice of rows to an episode of these rows.
        on_host: Boolean. A reward on the host is not compiled by XLA.
    """
    tokens, mask = np.asarray(rollout.tokens), np.asarray(rollout.mask)

    def values(tokens, mask, rows=None):
        rows = slice(rows)
        said = rollout._replace(tokens=tokens[rows], mask=mask[rows])
        return reward(said, episode(rows))

    found = values(tokens, mask)
    assert keras.backend.standardize_dtype(found.dtype) == "float32"
    (found,) = numpy(found)
    assert found.shape == tokens.shape[:2] and np.isfinite(found).all()
    close = functools.partial(same, rtol=1e-5, atol=1e-5)
    garbage = np.random.default_rng(0).integers(3, 8, tokens.shape)
    noisy = np.where(mask > 0, tokens, garbage).astype(tokens.dtype)
    assert (noisy != tokens).any()
    close(numpy(values(noisy, mask))[0], found)
    if keras.backend.backend() == "tensorflow":
        # Elsewhere every operation would be compiled again, for this size.
        close(numpy(values(tokens, mask, 1))[0], found[:1])
    close(numpy(values(tokens[:, ::-1], mask[:, ::-1]))[0], found[:, ::-1])
    for compiled in _compilers(on_host):
        close(numpy(compiled(lambda *x: values(*x))(tokens, mask))[0], found)


def _compilers(on_host):
    """Returns the compiler of this backend."""
    if keras.backend.backend() == "jax":
        import jax

        return [jax.jit]
    if keras.backend.backend() != "tensorflow":
        return []
    import tensorflow as tf

    def graph(function, jit_compile):
        options = {"jit_compile": jit_compile, "autograph": False}
        function = tf.function(function, **options)
        return lambda *arrays: function(*map(tf.constant, arrays))

    kinds = [False] if on_host else [False, True]
    return [functools.partial(graph, jit_compile=kind) for kind in kinds]


def _training(layer):
    has = "training" in inspect.signature(layer.call).parameters
    return {"training": True} if has else {}
