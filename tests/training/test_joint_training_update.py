import keras
import numpy as np
import pytest
from keras import ops

from tests import tiny
from tests.testing import same
from tests.testing import tf
from tests.training.test_joint_training import DATA
from tests.training.test_joint_training import game
from tfcap.decoding import GroundTruth
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import ConstantReward
from tfcap.rewards import Reward
from tfcap.rewards import TextReward
from tfcap.training import ClippedAdam
from tfcap.training import JointTraining
from tfcap.training.joint_training import update_of


def test_rows_of_a_table_are_clipped_as_a_table():
    variables = [keras.Variable(np.zeros(s, "float32")) for s in ((3, 2), (4,))]
    optimizer = keras.optimizers.SGD(1.0)
    optimizer.build(variables)
    rows = tf.IndexedSlices(tf.ones((2, 2)), [1, 1], dense_shape=(3, 2))
    step = update_of(optimizer, [rows, None], variables, 1.0)
    optimizer.apply(step.gradients, step.variables)
    dense = np.zeros((3, 2))
    dense[1] = 2.0
    same(
        [-v.numpy() for v in variables], [dense / np.sqrt(8), np.zeros(4)], 1e-6
    )


class Told(Reward):
    """What the batch says that a row is worth."""

    name = "told"

    def call(self, rollout, episode):
        return ops.broadcast_to(
            episode.inputs["worth"], ops.shape(rollout.mask[..., 0])
        )


def batches(worths):
    """A batch of two rows for each value; the second is worth that much."""
    rows = len(worths)
    rng = np.random.default_rng(0)
    worth = np.ones((rows, 2, 1), "float32")
    worth[:, 1, 0] = worths
    return {
        "rows": np.zeros((rows * 2, 1), "float32"),
        "references": rng.integers(2, 5, (rows * 2, 1, 2)).astype("int32"),
        "worth": worth.reshape(rows * 2, 1),
    }


def without(data, *steps):
    keep = [i for i in range(len(data["rows"])) if i // 2 not in steps]
    return {key: value[keep] for key, value in data.items()}


def prize(reward=None):
    return ScoreFunction(reward or Told(), GroundTruth(), name="prize")


def decaying():
    # Moves weights in a step without a gradient as well.
    return keras.optimizers.SGD(0.1, momentum=0.9, weight_decay=0.01)


def model_of(objective, optimizer=None, **options):
    model = JointTraining(tiny.TableSpeaker(), objective)
    model.compile(optimizer or decaying(), **options)
    return model


def fit(model, data):
    return model.fit(data, batch_size=2, shuffle=False, verbose=0).history


def state(model):
    return [
        keras.ops.convert_to_numpy(v)
        for v in model.speaker.weights + model.optimizer.variables
    ]


@pytest.mark.parametrize(
    "options", [{}, {"steps_per_execution": 4}, {"run_eagerly": True}]
)
def test_a_reward_that_is_nan_is_named_and_moves_nothing(options):
    data = batches([2.0, -1.0, np.nan, 3.0])
    model = model_of(prize(), **options)
    match = "Received: `prize` is nan, after 2 updates.*abstain"
    with pytest.raises(FloatingPointError, match=match):
        fit(model, data)
    expected = model_of(prize())
    fit(expected, without(data, 2, 3))
    same(state(model), state(expected))


@pytest.mark.parametrize("wrong", [np.nan, -np.inf])
@pytest.mark.filterwarnings("ignore:The reward")
def test_a_function_that_fails_once_is_raised(wrong):
    def told(completions, worth):
        return [wrong if np.isnan(x) else float(x[0]) for x in worth]

    class Words:
        def decode(self, ids):
            return " ".join(map(str, ids))

    data = batches([2.0, np.nan, -1.0])
    reward = TextReward(told, Words())
    with pytest.raises(FloatingPointError, match="`prize` is nan, after 1 upd"):
        fit(model_of(prize(reward)), data)


def test_of_a_sum_the_part_is_named():
    model = model_of(prize(ConstantReward() + 0.5 * Told()))
    with pytest.raises(FloatingPointError) as caught:
        fit(model, batches([np.inf]))
    told = "Received: `prize` is inf, `prize/told` is inf, after 0 updates"
    assert told in str(caught.value)


def test_a_term_whose_weight_is_nan_is_named():
    weight = keras.Variable(np.nan)
    model = model_of(prize() + TeacherForcing() * weight)
    match = "Received: the loss of `teacher_forcing` is nan, after 0"
    with pytest.raises(FloatingPointError, match=match):
        model.train_on_batch(batches([1.0]))


def edge(episode):
    """A finite loss with a gradient that is not."""
    found = episode.log_probs(episode.references)[..., 0]
    return ops.sqrt(found - ops.stop_gradient(found))


def test_a_gradient_is_named_by_its_network():
    model = model_of(SupervisedLoss(edge, "edge"))
    match = "Received: the gradient of `speaker` is .*n.*, after 0 updates"
    with pytest.raises(FloatingPointError, match=match):
        model.train_on_batch(DATA)


def test_a_loss_that_was_scaled_too_much_is_not_divergence():
    optimizer = keras.optimizers.LossScaleOptimizer(
        keras.optimizers.SGD(0.1), initial_scale=4.0
    )
    model = model_of(SupervisedLoss(edge, "edge"), optimizer=optimizer)
    before = model.speaker.get_weights()
    for scale in (2.0, 1.0):
        model.train_on_batch(DATA)
        assert float(optimizer.dynamic_scale) == scale
    # There is nothing left to scale by less.
    with pytest.raises(FloatingPointError, match="the gradient of `speaker`"):
        model.train_on_batch(DATA)
    same(before, model.speaker.get_weights())


def test_no_learner_steps_where_one_cannot():
    model = game(turns=((1, 0), (2, 0)))
    critic = model.learners["d"].network
    critic.table.assign(critic.table * np.nan)
    before = model.speaker.get_weights()
    match = "Received: `d/judged` is nan, after 0 updates"
    with pytest.raises(FloatingPointError, match=match):
        model.train_on_batch(DATA)
    same(before, model.speaker.get_weights())


def test_evaluation_stops_at_nothing():
    model = model_of(prize())
    said = model.evaluate(batches([np.nan]), verbose=0, return_dict=True)
    assert np.isnan(said["prize"])


def test_other_errors_stay_what_they_are():
    def broken(episode):
        scores = episode.log_probs(episode.references)[..., 0]
        with tf.control_dependencies([tf.debugging.Assert(False, ["else"])]):
            return tf.identity(scores)

    model = model_of(SupervisedLoss(broken, "broken"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="else"):
        model.train_on_batch(DATA)


# What it does on two replicas is in `two_replicas.py`.
def test_on_one_device_clipped_adam_is_keras_own():
    settings = {"learning_rate": 0.1, "beta_1": 0.5, "global_clipnorm": 0.3}
    found = []
    for kind in (keras.optimizers.Adam, ClippedAdam):
        weights, optimizer = [keras.Variable([1.0, 2.0])], kind(**settings)
        for step in range(3):
            optimizer.apply([keras.ops.ones(2) * step], weights)
        found.append(keras.ops.convert_to_numpy(weights[0]))
    same(*found)


def test_a_model_that_was_compiled_with_clipped_adam_loads(tmp_path):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(ClippedAdam(1e-2, global_clipnorm=5.0), "mse")
    model.fit(np.ones((2, 2)), np.ones((2, 1)), verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras").optimizer
    assert type(again) is ClippedAdam
    assert again.get_config() == model.optimizer.get_config()
