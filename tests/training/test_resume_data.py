"""Whatever the model and its data, a run that is stopped ends as one that is
not: program, data and models are made anew, as by a process that starts."""

import functools
import gc
import itertools
import random

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.training import test_resume
from tfcap.data import DatasetBatches
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import Resume

EPOCHS, STEPS, SIZE = 3, 3, 2
ROWS = STEPS * SIZE - 1
X = np.random.default_rng(0).normal(size=(ROWS, 3)).astype("float32")
Y = (X.sum(axis=1, keepdims=True) > 0).astype("float32")
WORDS = {
    "rows": np.arange(ROWS),
    "references": np.random.default_rng(1).integers(2, 4, (ROWS, 1, 3)),
}


@pytest.fixture(scope="module", autouse=True)
def short_collections():
    # `clear_session()` collects; what is imported stays.
    gc.freeze()
    yield
    gc.unfreeze()


def linear():
    """Of few operations: what its data are is told by every step's loss."""
    layers = keras.Input((3,)), keras.layers.Dense(1)
    return compiled(keras.Sequential(layers), keras.optimizers.SGD(0.1))


def sequential():
    """Not built before its first batch."""
    layers = keras.layers.Dense(4), keras.layers.Dropout(0.5)
    return compiled(keras.Sequential([*layers, keras.layers.Dense(1)]))


def functional():
    inputs = keras.Input((3,))
    x = keras.layers.BatchNormalization()(keras.layers.Dense(4)(inputs))
    return compiled(keras.Model(inputs, keras.layers.Dense(1)(x)))


class Noisy(keras.Model):
    """Draws from the global generator of Keras."""

    def __init__(self):
        super().__init__()
        self.dense = keras.layers.Dense(1)

    def call(self, x, training=False):
        noise = keras.random.normal((3,)) if training else 0.0
        return self.dense(x + noise)


def subclassed():
    return compiled(Noisy())


def compiled(model, optimizer=None):
    model.compile(
        optimizer or keras.optimizers.Adam(0.1),
        loss="mse",
        metrics=["mae"],
        run_eagerly=True,
    )
    return model


def objective():
    model = JointTraining(tiny.TableSpeaker(), TeacherForcing())
    model.compile(keras.optimizers.Adam(0.1), run_eagerly=True)
    return model


def game():
    speaker = tiny.TableSpeaker()
    learner = Learner(speaker, TeacherForcing())
    model = JointTraining(speaker, {"one": learner})
    model.compile({"one": keras.optimizers.Adam(0.1)}, run_eagerly=True)
    return model


class Rows(keras.utils.PyDataset):
    """Batches in the order of Keras."""

    def __len__(self):
        return STEPS

    def rows(self, index):
        return slice(index * SIZE, (index + 1) * SIZE)

    def __getitem__(self, index):
        rows = self.rows(index)
        return X[rows], Y[rows]


class Shuffled(Rows):
    """Batches that remember an order, and draw what they change."""

    def __init__(self):
        super().__init__()
        self.order = np.arange(ROWS)

    def rows(self, index):
        return self.order[super().rows(index)]

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + np.random.normal(size=x.shape).astype("float32"), y

    def on_epoch_end(self):
        np.random.shuffle(self.order)


class Drawing(Rows):
    """Batches that a generator of their own changes."""

    def __init__(self):
        super().__init__()
        self.rng = np.random.default_rng(1)

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + self.rng.normal(size=x.shape).astype("float32"), y


class Gaussian(Rows):
    """Normal deviates of Python and NumPy, which draw two and hold one."""

    def __getitem__(self, index):
        x, y = super().__getitem__(index)
        return x + np.float32(np.random.normal() + random.gauss(0, 1)), y


def noisy(x):
    return x + np.float32(np.random.normal() + random.gauss(0, 1))


def generated():
    """Rows of a generator that draws."""
    rows = pairs()
    return tf.data.Dataset.from_generator(
        lambda: ((noisy(x), y) for x, y in zip(X, Y)),
        output_signature=rows.element_spec,
    )


def in_python(x, y):
    """A row that a function of Python changes, within `map()`."""
    drawn = tf.numpy_function(noisy, [x], x.dtype)
    return tf.ensure_shape(drawn, x.shape), y


def pairs():
    return tf.data.Dataset.from_tensor_slices((X, Y))


def arrays(**options):
    return dict(x=X, y=Y, batch_size=SIZE, **options)


def dataset(rows, **options):
    return dict(x=rows.batch(SIZE), shuffle=False, **options)


def of_changing_length():
    """Two or three batches, as the order has it."""
    first, rest = pairs().take(SIZE + 1), pairs().skip(1).shuffle(ROWS)
    rest = rest.take_while(lambda x, y: x[0] < X[1:, 0].max())
    return dataset(first.concatenate(rest))


def by_epoch():
    batches = DatasetBatches(
        lambda epoch: pairs().shuffle(ROWS, seed=epoch).batch(SIZE)
    )
    return dict(x=batches.dataset(EPOCHS), steps_per_epoch=STEPS, shuffle=False)


DATA = {
    "arrays": arrays,
    "arrays in order": lambda: arrays(shuffle=False),
    "shuffled batches": lambda: arrays(shuffle="batch"),
    "sample weights": lambda: arrays(sample_weight=X[:, 0] ** 2),
    "class weights": lambda: arrays(class_weight={0: 1.0, 1: 3.0}),
    "arrays by steps": lambda: arrays(steps_per_epoch=STEPS),
    "in order": lambda: dataset(pairs()),
    "shuffled": lambda: dataset(pairs().shuffle(ROWS)),
    "shuffled with a seed": lambda: dataset(pairs().shuffle(ROWS, seed=3)),
    "shuffled once": lambda: dataset(
        pairs().shuffle(ROWS, reshuffle_each_iteration=False)
    ),
    "shuffled and kept": lambda: dataset(pairs().shuffle(ROWS).cache()),
    "shuffled and repeated": lambda: dataset(
        pairs().take(STEPS).shuffle(ROWS).repeat(2)
    ),
    "endless": lambda: dataset(
        pairs().shuffle(ROWS).repeat(), steps_per_epoch=STEPS
    ),
    "of unknown length": lambda: dataset(
        pairs().shuffle(ROWS).filter(lambda x, y: True)
    ),
    "weighted": lambda: dataset(
        pairs().shuffle(ROWS), class_weight={0: 1.0, 1: 3.0}
    ),
    "shuffled within": lambda: dataset(
        tf.data.Dataset.range(1).flat_map(lambda _: pairs().shuffle(ROWS))
    ),
    "drawn": lambda: dataset(
        pairs().map(lambda x, y: (x + tf.random.normal([3]), y))
    ),
    "drawn by a generator": lambda: dataset(generated()),
    "drawn ahead": lambda: dataset(generated().shuffle(ROWS).prefetch(2)),
    "drawn in Python": lambda: dataset(pairs().shuffle(ROWS).map(in_python)),
    "by epoch": by_epoch,
    "rows of Python": lambda: dict(x=Rows()),
    "rows in threads": lambda: dict(x=Rows(workers=2)),
    "rows that are shuffled": lambda: dict(x=Shuffled(), shuffle=False),
    "rows that draw": lambda: dict(x=Drawing()),
    "rows that draw one at a time": lambda: dict(x=Gaussian(), shuffle=False),
}
WORDY = {
    "arrays": lambda: dict(x=WORDS, batch_size=SIZE),
    "shuffled": lambda: dataset(
        tf.data.Dataset.from_tensor_slices(WORDS).shuffle(ROWS)
    ),
}


class Stop(test_resume.Stop):
    """A scheduler's SIGTERM; after the last step, in an evaluation."""

    def on_epoch_end(self, epoch, logs=None):
        self.on_train_batch_begin(STEPS)


class Break(Stop):
    """A process that ends without notice."""

    def on_train_batch_begin(self, batch, logs=None):
        if (self.epoch, batch) == self.place:
            raise KeyboardInterrupt


def run(folder, make, data, *callbacks, save_every=600.0):
    """A program. Returns what is left of it."""
    Resume._ended_with.clear()
    keras.utils.set_random_seed(3)
    keras.backend.clear_session()
    model, logged = make(), []
    log = keras.callbacks.LambdaCallback(
        on_train_batch_end=lambda batch, logs: logged.append((batch, logs))
    )
    history = model.fit(
        **data(),
        epochs=EPOCHS,
        callbacks=[Resume(folder, save_every), *callbacks, log],
        verbose=0,
    )
    found = [*model.variables]
    for optimizer in [model.optimizer, *getattr(model, "optimizers", ())]:
        found += optimizer.variables if optimizer is not None else []
    state = [np.array(variable) for variable in found]
    return state, history.epoch, history.history, logged


def same(found, whole):
    for one, other in zip(found[0], whole[0], strict=True):
        np.testing.assert_array_equal(one, other)
    assert found[1:3] == whole[1:3]
    assert found[3] == whole[3][len(whole[3]) - len(found[3]) :]


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Function that gives the end of a run that nothing stops."""

    @functools.cache
    def train(make, data):
        return run(tmp_path_factory.mktemp("whole"), make, data)

    return train


@pytest.fixture
def stopped_and_gone_on(whole, tmp_path):
    def check(make, data, place):
        with pytest.raises(SystemExit):
            run(tmp_path, make, data, Stop(*place))
        found = run(tmp_path, make, data)
        same(found, whole(make, data))
        assert len(found[3]) < len(whole(make, data)[3])

    return check


quiet = pytest.mark.filterwarnings("ignore:Your input ran out of data")


@quiet
@pytest.mark.parametrize("name", DATA)
def test_data_go_on_in_their_order(name, stopped_and_gone_on):
    stopped_and_gone_on(linear, DATA[name], (1, 1))


@pytest.mark.parametrize("name", ["shuffled", "rows that are shuffled"])
@pytest.mark.parametrize("place", [(0, 2), (2, 0), (1, STEPS)])
def test_data_go_on_wherever_a_run_is_stopped(name, place, stopped_and_gone_on):
    stopped_and_gone_on(linear, DATA[name], place)


@quiet
@pytest.mark.parametrize(
    "data, place",
    [
        (DATA["of unknown length"], (2, 0)),
        (DATA["of unknown length"], (2, 1)),
        (DATA["of unknown length"], (0, STEPS - 1)),
        (DATA["of unknown length"], (1, STEPS - 1)),
        (of_changing_length, (2, 0)),
    ],
)
def test_data_of_unknown_length_go_on_wherever_a_run_is_stopped(
    data, place, stopped_and_gone_on
):
    stopped_and_gone_on(linear, data, place)


@pytest.mark.parametrize("make", [functional, sequential, subclassed])
@pytest.mark.parametrize("place", [(0, 1), (1, 2)])
def test_models_of_keras_go_on(make, place, stopped_and_gone_on):
    stopped_and_gone_on(make, DATA["shuffled"], place)


@pytest.mark.parametrize("name", ["shuffled", "endless", "rows of Python"])
def test_a_model_is_built_on_data_that_are_passed_over(
    name, stopped_and_gone_on
):
    stopped_and_gone_on(sequential, DATA[name], (1, STEPS))


# The model and its data do not meet where they are gone on with.
@pytest.mark.parametrize(
    "make, name", [(objective, "arrays"), (game, "shuffled")]
)
def test_training_models_go_on(make, name, stopped_and_gone_on):
    stopped_and_gone_on(make, WORDY[name], (1, 1))


def test_a_run_without_notice_goes_on_from_its_last_step(whole, tmp_path):
    data = DATA["shuffled"]
    for place in itertools.product((0, 1, 2), (1, 2)):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, linear, data, Break(*place), save_every=1e-9)
    found = run(tmp_path, linear, data)
    same(found, whole(linear, data))
    assert len(found[3]) == STEPS - 2
