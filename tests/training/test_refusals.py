from functools import partial
from types import SimpleNamespace

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import tiny
from tests.training.test_joint_training import DATA
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training import MultiWorkerStrategy
from tfcap.training import ObjectiveModel
from tfcap.training.minibatches import train_function
from tfcap.training.refusals import check_compile

TWO = SimpleNamespace(num_replicas_in_sync=2)


def one_objective(optimizer, **options):
    model = ObjectiveModel(TeacherForcing(), tiny.TableSpeaker())
    model.compile(optimizer, **options)
    return model


def game(optimizer, **options):
    speaker = tiny.TableSpeaker()
    model = JointTraining(
        speaker, {"speaker": Learner(speaker, TeacherForcing())}
    )
    model.compile(optimizer, **options)
    return model


@pytest.mark.parametrize("make", [one_objective, game])
def test_a_step_is_not_compiled_as_one(make):
    with pytest.raises(ValueError, match='`jit_compile` must be False or "aut'):
        make(keras.optimizers.SGD(), jit_compile=True)
    assert not make(keras.optimizers.SGD(), jit_compile=False).jit_compile


@pytest.mark.parametrize("make", [one_objective, game])
def test_one_device_may_do_what_several_cannot(make):
    data = {key: np.repeat(value, 4, axis=0) for key, value in DATA.items()}
    model = make(
        keras.optimizers.SGD(gradient_accumulation_steps=2, clipnorm=1.0),
        steps_per_execution=2,
    )
    before = model.speaker.get_weights()[0]
    model.fit(data, batch_size=4, verbose=0)
    assert (model.speaker.get_weights()[0] != before).any()


def test_several_steps_in_one_graph_are_refused_on_several_devices():
    with pytest.raises(
        ValueError, match="`steps_per_execution` must be 1 on 2"
    ):
        check_compile(TWO, [], {"steps_per_execution": 3})
    check_compile(TWO, [], {"steps_per_execution": 1, "run_eagerly": True})


@pytest.mark.parametrize("name", ["gradient_accumulation_steps", "clipvalue"])
def test_settings_inside_a_scaling_optimizer_are_refused(name):
    plain = keras.optimizers.SGD(**{name: 4})
    scaling = keras.optimizers.LossScaleOptimizer(plain)
    match = f"`{name}` of an optim.* must be None on 2 devices.*{name}=4"
    with pytest.raises(ValueError, match=match):
        check_compile(TWO, [keras.optimizers.Adam(), scaling], {})
    check_compile(TWO, [plain], {})


def test_a_norm_is_refused_to_which_keras_would_clip_each_of_several_batches():
    speaker = tiny.TableSpeaker()
    inner = keras.optimizers.SGD(gradient_accumulation_steps=2)
    scaling = keras.optimizers.LossScaleOptimizer(inner)
    learner = Learner(speaker, TeacherForcing(), global_clipnorm=0.5)
    for model in (
        ObjectiveModel(TeacherForcing(), speaker, global_clipnorm=0.5),
        JointTraining(speaker, {"speaker": learner}),
    ):
        with pytest.raises(ValueError, match="None where `global_clipnorm` of"):
            model.compile(scaling)


def test_strategies_under_which_keras_fails_are_refused():
    plain = tf.distribute.MultiWorkerMirroredStrategy()
    with pytest.raises(ValueError, match="Take `tfcap.training.open_strategy"):
        check_compile(plain, [], {})
    check_compile(MultiWorkerStrategy(), [], {})


@pytest.mark.parametrize("make", [one_objective, game])
@pytest.mark.parametrize(
    "option",
    [
        {"loss": "mse"},
        {"metrics": ["mae"]},
        {"weighted_metrics": ["mae"]},
        {"loss_weights": [2.0]},
    ],
)
def test_an_objective_takes_no_loss_beside_it(make, option):
    (name,) = option
    with pytest.raises(ValueError, match=f"`{name}` must be None.*term"):
        make(keras.optimizers.SGD(), **option)


def two_players():
    speaker, other = tiny.TableSpeaker(), tiny.TableSpeaker(1)
    learners = {
        "speaker": Learner(speaker, TeacherForcing()),
        "other": Learner(other, TeacherForcing()),
    }
    return JointTraining(speaker, learners)


def test_optimizers_go_by_the_names_of_the_players():
    model, adam = two_players(), keras.optimizers.Adam()
    model.compile({"other": "sgd", "speaker": adam})
    assert model.optimizers[0] is model.optimizer_of("speaker") is adam
    assert isinstance(model.optimizer_of("other"), keras.optimizers.SGD)
    with pytest.raises(ValueError, match="'other' must be new, or built for"):
        model.compile({"speaker": "sgd", "other": adam})


@pytest.mark.parametrize(
    "wrong, told",
    [
        (None, "each of 'speaker', 'other'. Received: optimizer=None. Give"),
        ("adam", "each of 'speaker', 'other'. Received: optimizer='adam'"),
        ({"speaker": "adam"}, "exactly the keys.*Received: the keys 'speaker'"),
        (dict.fromkeys(["speaker", "other", "listener"], "sgd"), "'listener'"),
        (dict.fromkeys(["speaker", "other"], keras.optimizers.SGD()), "same"),
    ],
)
def test_optimizers_that_fit_no_players_are_refused(wrong, told):
    with pytest.raises(ValueError, match=f"`optimizer` must.*{told}"):
        two_players().compile(wrong)


@pytest.mark.parametrize("make", [one_objective, game])
def test_who_learns_alone_needs_no_name(make):
    own = keras.optimizers.SGD()
    optimizer = make({"speaker": own}).optimizer
    assert getattr(optimizer, "optimizers", [optimizer])[0] is own
    with pytest.raises(ValueError, match="exactly the keys 'speaker'"):
        make({"listener": "sgd"})


@pytest.mark.parametrize("make", [one_objective, game])
def test_weights_of_rows_and_classes_are_refused(make):
    model = make(keras.optimizers.SGD(), run_eagerly=True)
    labels, weights = np.zeros(4, "int32"), np.array([0.0, 1.0, 1.0, 1.0])
    batches = tf.data.Dataset.from_tensors((DATA, labels, weights))
    rule = "`sample_weight` must be None.*shape .4,."
    for method in (partial(model.fit, shuffle=False), model.evaluate):
        with pytest.raises(ValueError, match=rule):
            method(batches, verbose=0)
        with pytest.raises(ValueError, match=rule):
            method(DATA, sample_weight=weights, verbose=0)
    for method in (model.train_on_batch, model.test_on_batch):
        with pytest.raises(ValueError, match=rule):
            method(DATA, labels, weights)
    for method in (model.fit, model.train_on_batch):
        with pytest.raises(ValueError, match="`class_weight` must be None"):
            method(DATA, class_weight={0: 2.0})


@pytest.mark.parametrize("make", [one_objective, game])
def test_what_trains_is_not_saved_whole(make, tmp_path):
    model = make(keras.optimizers.SGD(), run_eagerly=True)
    with pytest.raises(NotImplementedError, match="speaker.save"):
        model.save(tmp_path / "training.keras")
    model.save_weights(tmp_path / "training.weights.h5")
    assert len(list(tmp_path.iterdir())) == 1


def test_minibatches_have_a_row_of_every_replica():
    strategy = SimpleNamespace(num_replicas_in_sync=4)
    model = SimpleNamespace(distribute_strategy=strategy, minibatch_size=3)
    with pytest.raises(ValueError, match="minibatch_size=3 for 4 replicas"):
        train_function(model)


def test_a_player_ends_with_the_moving_average_of_its_weights():
    averaging = keras.optimizers.SGD(0.5, use_ema=True, ema_momentum=0.5)
    plain = keras.optimizers.SGD(0.5)
    tables = {}
    for optimizer in (averaging, plain):
        model = game(optimizer, run_eagerly=True)
        table = [model.speaker.get_weights()[0]]
        for _ in range(2):
            model.train_on_batch(DATA)
            table.append(model.speaker.get_weights()[0])
        model.fit(DATA, batch_size=4, verbose=0)
        tables[optimizer] = [*table, model.speaker.get_weights()[0]]
    *_, third = tables[plain]
    _, first, second, found = tables[averaging]
    # Keras' average starts from the weights after the first step.
    wanted = 0.25 * first + 0.25 * second + 0.5 * third
    assert np.abs(wanted - third).max() > 1e-2
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
