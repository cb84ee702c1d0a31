"""What a checkpoint is compared by before it sets a model."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training.resumed import fit
from tfcap._io import load_arrays
from tfcap._io import save_arrays
from tfcap.training import Resume
from tfcap.training.checkpoint import RunCheckpoint

Dense = keras.layers.Dense
X = np.arange(8.0).reshape(2, 4).astype("float32")


def chain(*layers, optimizer="adam"):
    model = keras.Sequential([keras.Input((4,)), *layers])
    model.compile(optimizer, "mse")
    return model


class Pair(keras.Model):
    """Two layers of one shape, found by their attributes."""

    def __init__(self, *order):
        super().__init__()
        for name in order:
            setattr(self, name, Dense(4))
        self.compile("adam", "mse")

    def call(self, inputs):
        return self.first(self.second(inputs))


def pair(*order):
    model = Pair(*order)
    model(X)
    return model


def values(model):
    return [np.array(v) for v in (*model.variables, *model.optimizer.variables)]


def keep(model, directory, epoch=1):
    RunCheckpoint(directory).save(model, epoch)
    return model


def rewrite(directory, change):
    """Seals what `change` makes of the description and the arrays."""
    path = directory / "checkpoint.npz"
    arrays = load_arrays(path)
    about = json.loads(str(arrays["meta"]))
    change(about, arrays)
    save_arrays(path, {**arrays, "meta": json.dumps(about)})


OTHERS = {
    "optimizer": (
        lambda: chain(Dense(2), optimizer=keras.optimizers.Nadam()),
        lambda: chain(Dense(2), optimizer=keras.optimizers.Adam()),
        "of Nadam.*of Adam",
    ),
    "slots": (
        lambda: chain(Dense(2), optimizer=keras.optimizers.SGD(0.1, 0.9)),
        lambda: chain(Dense(2), optimizer=keras.optimizers.RMSprop(0.1)),
        "of SGD.*of RMSprop",
    ),
    "names": (
        lambda: chain(Dense(4, name="a"), Dense(4, name="b")),
        lambda: chain(Dense(4, name="a"), Dense(4, name="c")),
        "`kernel` of Dense 'b'.*`kernel` of Dense 'c'",
    ),
    "order": (
        lambda: chain(Dense(4, name="a"), Dense(4, name="b")),
        lambda: chain(Dense(4, name="b"), Dense(4, name="a")),
        "variable 1 of .*Dense 'a'.*Dense 'b'",
    ),
    "order of numbers": (
        lambda: chain(Dense(4, name="dense_1"), Dense(4, name="dense_2")),
        lambda: chain(Dense(4, name="dense_2"), Dense(4, name="dense_1")),
        "Dense 'dense_1'.* is where the model has .*Dense 'dense_2'",
    ),
    "attributes": (
        lambda: pair("first", "second"),
        lambda: pair("second", "first"),
        "at `first`.*at `second`",
    ),
    "classes": (
        lambda: chain(keras.layers.BatchNormalization(name="x")),
        lambda: chain(keras.layers.GroupNormalization(4, name="x")),
        "of BatchNormalization 'x'.*of GroupNormalization 'x'",
    ),
    "frozen": (
        lambda: chain(Dense(4, name="a"), Dense(4, trainable=False)),
        lambda: chain(Dense(4, name="a", trainable=False), Dense(4)),
        "momentum of .*Dense",
    ),
    "shape": (
        lambda: chain(Dense(4, name="a")),
        lambda: chain(Dense(3, name="a")),
        r"`kernel` of Dense 'a'.*shape \(4, 4\).*shape \(4, 3\)",
    ),
    "dtype": (
        lambda: chain(Dense(4, name="a")),
        lambda: chain(Dense(4, name="a", dtype="float16")),
        "`kernel` of Dense 'a'.*is float32.*float16",
    ),
    "number": (
        lambda: chain(Dense(4, name="a"), Dense(4, name="b")),
        lambda: chain(Dense(4, name="a")),
        "`kernel` of Dense 'b'",
    ),
}


@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_of_another_model_is_told_from_one_of_this(what, tmp_path):
    make, other, words = OTHERS[what]
    keep(make(), tmp_path)
    model = other()
    RunCheckpoint(tmp_path / "none").restore(model)
    before = values(model)
    with pytest.raises(ValueError, match=f"(?s)Received: .*{words}") as error:
        RunCheckpoint(tmp_path).restore(model)
    assert "remove" not in str(error.value).lower()
    for a, b in zip(before, values(model)):
        np.testing.assert_array_equal(a, b)
    # Of its own model it is taken, whatever was made before.
    own = make()
    assert RunCheckpoint(tmp_path).restore(own) == 1


def test_a_loss_scale_and_what_it_wraps_are_told_apart(tmp_path):
    def scaled(inner):
        wrap = keras.optimizers.LossScaleOptimizer
        return chain(Dense(2), optimizer=wrap(inner))

    keep(scaled(keras.optimizers.Nadam(0.1)), tmp_path)
    assert RunCheckpoint(tmp_path).restore(scaled(keras.optimizers.Nadam()))
    with pytest.raises(ValueError, match="of Nadam.*of Adam"):
        RunCheckpoint(tmp_path).restore(scaled(keras.optimizers.Adam()))


def test_one_of_an_earlier_version_is_compared_by_its_names(tmp_path):
    kept = keep(chain(Dense(4), Dense(4)), tmp_path)

    def age(about, arrays):
        owned = [*kept.variables, *kept.optimizer.variables]
        # What stands before depends on how a layer was built.
        about["paths"] = [f"outer/{variable.path}" for variable in owned]
        del about["variables"], about["optimizers"]

    rewrite(tmp_path, age)
    model = chain(Dense(4), Dense(4))
    assert RunCheckpoint(tmp_path).restore(model) == 1
    for a, b in zip(values(kept), values(model)):
        np.testing.assert_array_equal(a, b)
    for other, words in (
        (chain(Dense(4), Dense(4), optimizer="adamax"), "adam.*/iter"),
        (chain(Dense(4)), "14 variables, and 8 in the model"),
        (chain(Dense(4), keras.layers.EinsumDense("ij,jk->ik", 4)), "variab"),
    ):
        with pytest.raises(ValueError, match=words):
            RunCheckpoint(tmp_path).restore(other)


def test_a_model_that_is_not_built_is_not_told_to_remove_anything(tmp_path):
    keep(chain(Dense(2)), tmp_path)
    model = keras.Sequential([Dense(2)])
    model.compile("adam", "mse")
    with pytest.raises(ValueError, match="must be built.*Call it on a batch"):
        RunCheckpoint(tmp_path).restore(model)


class Arrays:
    """Batches of the same rows at every step."""

    steps_per_epoch = 2

    def dataset(self, epochs=1, start_step=0):
        rows = tf.data.Dataset.from_tensors((X, X[:, :2]))
        return rows.repeat(2 * epochs - start_step)


def unbuilt(optimizer="adam"):
    keras.utils.set_random_seed(1)
    model = keras.Sequential([Dense(2)])
    model.compile(optimizer, "mse")
    return model


def test_training_builds_a_model_before_it_sets_it(tmp_path):
    models = [unbuilt() for _ in range(2)]
    fit(models[0], Arrays(), 2, tmp_path / "whole", verbose=0)
    fit(unbuilt(), Arrays(), 1, tmp_path / "parts", verbose=0)
    fit(models[1], Arrays(), 2, tmp_path / "parts", verbose=0)
    for a, b in zip(*map(values, models)):
        np.testing.assert_array_equal(a, b)


class Rivals(keras.Model):
    """Two networks that are trained by their parts, which is not built."""

    def __init__(self):
        super().__init__()
        self.one = keras.Sequential([keras.Input((4,)), Dense(2)])
        self.two = keras.Sequential([keras.Input((2,)), Dense(1)])

    def compile(self):
        super().compile(loss=None)
        self.steps = {"one": keras.optimizers.Adam(), "two": None}
        self.second = keras.optimizers.SGD(0.1, momentum=0.9)

    def train_step(self, data):
        with tf.GradientTape(persistent=True) as tape:
            loss = tf.reduce_mean(self.two(self.one(data[0])) ** 2)
        for network, optimizer in (
            (self.one, self.steps["one"]),
            (self.two, self.second),
        ):
            variables = network.trainable_variables
            optimizer.apply(tape.gradient(loss, variables), variables)
        return {"loss": loss}


def test_what_several_optimizers_keep_comes_back(tmp_path):
    ends = []
    for parts in ([2], [1, 2]):
        for epochs in parts:
            keras.utils.set_random_seed(1)
            model = Rivals()
            model.compile()
            place = tmp_path / str(len(parts))
            fit(model, Arrays(), epochs, place, verbose=0)
        optimizers = model.steps["one"], model.second
        kept = [v for one in optimizers for v in one.variables]
        ends.append([np.array(v) for v in (*model.variables, *kept)])
    assert ends[0][-1].any()
    for a, b in zip(*ends):
        np.testing.assert_array_equal(a, b)


def test_a_callback_leaves_the_building_to_keras(tmp_path):
    model = unbuilt()
    model.fit(
        *(X, X[:, :2]),
        shuffle=False,
        callbacks=[Resume(tmp_path)],
        verbose=0,
    )
    again = unbuilt()
    again(X)
    assert RunCheckpoint(tmp_path).restore(again) == 1
    for a, b in zip(values(model), values(again)):
        np.testing.assert_array_equal(a, b)


def poison(index, value):
    def change(about, arrays):
        array = arrays[f"{index:05d}"]
        arrays[f"{index:05d}"] = np.full(array.shape, value)

    return change


BAD = {
    "NaN": (poison(0, np.float32(np.nan)), "`kernel` of Dense .* holds NaN"),
    "text": (poison(1, "x"), "`bias` of Dense .* holds no numbers but <U1"),
    "fewer": (lambda about, arrays: arrays.popitem(), "it holds"),
    "epoch": (lambda about, arrays: about.update(epoch="2"), "epochs is '2'"),
    "negative": (lambda about, arrays: about.update(epoch=-1), "epochs is -1"),
    "undescribed": (
        lambda about, arrays: about.update(variables=[1]),
        "not described",
    ),
    "optimizers": (
        lambda about, arrays: about.update(optimizers=None),
        "not described",
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_what_is_no_state_is_refused_under_a_valid_seal(how, tmp_path, capsys):
    change, words = BAD[how]
    model = chain(Dense(2))
    for epoch in (1, 2):
        keep(model, tmp_path, epoch)
    rewrite(tmp_path, change)
    assert RunCheckpoint(tmp_path).restore(chain(Dense(2))) == 1
    said = capsys.readouterr().out
    assert "checkpoint.npz cannot be used: " in said
    with pytest.raises(ValueError, match=words):
        raise ValueError(said)


def test_weights_that_are_infinite_are_refused(tmp_path):
    keep(chain(Dense(2)), tmp_path)
    rewrite(tmp_path, poison(1, np.float32(np.inf)))
    with pytest.raises(ValueError, match="`bias` of Dense .* is not finite"):
        RunCheckpoint(tmp_path).restore(chain(Dense(2)))


@pytest.mark.parametrize(
    "index, value, words",
    [
        (1, np.inf, "`bias` of Dense .*is not finite.*Lower the learning"),
        (0, np.nan, "`kernel` of Dense .* holds NaN.* or clip the gradient"),
        (4, np.nan, "`moving_mean` of Batch.* holds NaN.* their averages.$"),
    ],
)
def test_no_good_file_gives_way_to_one_that_would_be_refused(
    index, value, words, tmp_path
):
    def normed():
        return chain(Dense(2), keras.layers.BatchNormalization())

    model = normed()
    keep(model, tmp_path)
    wrong = model.variables[index]
    wrong.assign(np.full(wrong.shape, value))
    for epoch in (2, 3):
        with pytest.raises(FloatingPointError, match=words):
            keep(model, tmp_path, epoch)
    assert RunCheckpoint(tmp_path).restore(normed()) == 1


def rate(model):
    return float(model.optimizer.learning_rate)


def test_a_learning_rate_that_the_program_changed_counts(tmp_path, capsys):
    keep(chain(Dense(2), optimizer=keras.optimizers.Adam(0.5)), tmp_path)
    model = chain(Dense(2), optimizer=keras.optimizers.Adam(0.25))
    checkpoint = RunCheckpoint(tmp_path)
    checkpoint.restore(model)
    assert rate(model) == 0.25
    said = capsys.readouterr().out
    assert "`learning_rate` of the optimizer is 0.25 now, and 0.5 in" in said
    assert "Going on with 0.25." in said
    # It is what the next one was made with.
    checkpoint.save(model, 2)
    again = chain(Dense(2), optimizer=keras.optimizers.Adam(0.25))
    RunCheckpoint(tmp_path).restore(again)
    assert rate(again) == 0.25 and not capsys.readouterr().out


def test_a_learning_rate_that_a_callback_changed_goes_on(tmp_path, capsys):
    def halve(epoch, rate):
        return rate / 2

    def train(directory, epochs, model=None):
        model = model or unbuilt(keras.optimizers.Adam(0.5))
        schedule = keras.callbacks.LearningRateScheduler(halve)
        fit(model, Arrays(), epochs, directory, [schedule], verbose=0)
        return model

    for _ in range(2):
        train(tmp_path, 1)
    assert rate(train(tmp_path, 2)) == 0.125
    # In one process, too, with a model that is there already.
    model = train(tmp_path / "one", 1)
    assert rate(train(tmp_path / "one", 2, model)) == 0.125
    assert not capsys.readouterr().out


def test_settings_that_are_no_variables_are_told(tmp_path, capsys):
    adam = keras.optimizers.Adam
    keep(chain(Dense(2), optimizer=adam(clipnorm=1.0)), tmp_path)
    RunCheckpoint(tmp_path).restore(chain(Dense(2), optimizer=adam()))
    said = capsys.readouterr().out
    assert "`clipnorm` of the optimizer is None now, and 1.0 in" in said


class Halving(keras.optimizers.schedules.LearningRateSchedule):
    """A schedule of a user's that does not tell its settings."""

    def __call__(self, step):
        return 0.5


def test_schedules_and_functions_are_taken_as_they_are(tmp_path, capsys):
    for number, rate in enumerate((Halving(), lambda: 0.5)):
        place = tmp_path / str(number)
        keep(chain(Dense(2), optimizer=keras.optimizers.SGD(rate)), place)
        model = chain(Dense(2), optimizer=keras.optimizers.SGD(rate))
        assert RunCheckpoint(place).restore(model) == 1
    assert not capsys.readouterr().out


def test_a_model_without_an_optimizer_comes_back(tmp_path):
    kept = keras.Sequential([keras.Input((4,)), Dense(2)])
    RunCheckpoint(tmp_path).save(kept, 3)
    model = keras.Sequential([keras.Input((4,)), Dense(2)])
    assert RunCheckpoint(tmp_path).restore(model) == 3
    np.testing.assert_array_equal(*(m.get_weights()[0] for m in (kept, model)))
