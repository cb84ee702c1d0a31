import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import dialogs
from tests import tiny
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import ConstantReward
from tfcap.rewards import DialogScore
from tfcap.training import ObjectiveModel

REFERENCES = np.array([[[3, 2]], [[2, 0]], [[4, 4]], [[0, 0]]], "int32")
DATA = {"rows": np.zeros((4, 1), "float32"), "references": REFERENCES}


def trained(objective, optimizer=None, speaker=None, **arguments):
    speaker = speaker or tiny.TableSpeaker()
    model = ObjectiveModel(objective, speaker, **arguments)
    model.compile(optimizer or keras.optimizers.SGD(0.5))
    return model


def nll(speaker, references):
    table = keras.ops.convert_to_numpy(speaker.table)
    present = [r for r in references[:, 0] if r.any()]
    return -np.mean([np.log(tiny.probability(table, r)) for r in present])


def test_logs_are_means_over_the_epoch_and_the_loss_their_weighted_sum():
    weight = keras.Variable(0.25)
    objective = 2.0 * TeacherForcing() + TeacherForcing(name="more") * weight
    model = trained(objective, keras.optimizers.SGD(0.0))
    data = tf.data.Dataset.from_tensor_slices(DATA).batch(2)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    batches = [nll(model.speaker, REFERENCES[i : i + 2]) for i in (0, 2)]
    expected = np.mean(batches)
    for name in ("teacher_forcing", "more"):
        np.testing.assert_allclose(
            history[name], expected, rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(
        history["loss"], 2.25 * expected, rtol=1e-5, atol=1e-6
    )
    said = model.evaluate(data, verbose=0, return_dict=True)
    np.testing.assert_allclose(
        said["loss"], 2.25 * expected, rtol=1e-5, atol=1e-6
    )


def test_an_evaluation_weighs_rows_alike_whatever_the_batches():
    model = trained(TeacherForcing())
    references = np.concatenate([REFERENCES[:3], REFERENCES[:2]])
    data = {"rows": np.zeros((5, 1), "float32"), "references": references}
    for size in (5, 4, 2):
        said = model.evaluate(data, batch_size=size, verbose=0)
        np.testing.assert_allclose(
            said, [nll(model.speaker, references)] * 2, rtol=1e-5, atol=1e-6
        )


def test_fit_lowers_the_loss_and_calls_callbacks():
    seen = []
    callback = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: seen.append(sorted(logs))
    )
    model = trained(TeacherForcing())
    data = tf.data.Dataset.from_tensor_slices(DATA).batch(2)
    history = model.fit(
        data,
        validation_data=data,
        epochs=5,
        shuffle=False,
        callbacks=[callback],
        verbose=0,
    ).history
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    names = ["loss", "teacher_forcing"]
    assert seen == [[*names, *(f"val_{n}" for n in names)]] * 5


def test_a_reward_is_logged_up_while_the_loss_goes_down():
    sample = Sample(Categorical(seed=0), max_length=2)
    model = trained(
        3.0 * ScoreFunction(ConstantReward(2.0), sample, name="prize")
    )
    logs = model.train_on_batch(DATA, return_dict=True)
    assert logs["prize"] == 2.0


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_the_clipped_step_is_as_long_as_it_may_be(policy):
    model = trained(
        TeacherForcing(),
        keras.optimizers.SGD(1.0),
        global_clipnorm=0.01,
        dtype=policy,
    )
    scales = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scales == (policy == "mixed_float16")
    before = model.speaker.get_weights()[0]
    logs = model.train_on_batch(DATA, return_dict=True)
    step = np.linalg.norm(model.speaker.get_weights()[0] - before)
    np.testing.assert_allclose(step, 0.01, rtol=1e-4, atol=1e-6)
    assert 0 < logs["loss"] < 10


def test_frozen_players_do_not_move():
    critic, speaker = tiny.TableSpeaker(1), tiny.TableSpeaker()
    critic.trainable = False

    def likes(episode):
        return episode.log_probs(episode.references)[..., 0] * (
            keras.ops.sum(critic.table) + keras.ops.sum(speaker.table)
        )

    model = trained(
        SupervisedLoss(likes, "likes"),
        speaker=speaker,
        learners={"critic": critic},
    )
    before = critic.get_weights()[0], speaker.get_weights()[0]
    model.fit(DATA, epochs=2, verbose=0)
    np.testing.assert_array_equal(critic.get_weights()[0], before[0])
    assert (speaker.get_weights()[0] != before[1]).any()
    critic.trainable = True
    model = trained(
        SupervisedLoss(likes, "likes"),
        speaker=speaker,
        learners={"critic": critic},
    )
    model.fit(DATA, verbose=0)
    assert (critic.get_weights()[0] != before[0]).any()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_generator_learns_from_a_judge_in_half_precision(policy):
    keras.config.set_dtype_policy(policy)
    try:
        generator = dialogs.generator("lf")
        judge = dialogs.discriminator("lf")
        judge.trainable = False
        sample = Sample(GumbelSoftmaxST(seed=0), max_length=3)
        objective = Pathwise(DialogScore(judge), sample) + TeacherForcing()
        model = ObjectiveModel(
            objective, generator, {"judge": judge}, global_clipnorm=1.0
        )
        # Eagerly: the tests on two replicas have graphs of both policies.
        model.compile(keras.optimizers.Adam(0.01), run_eagerly=True)
    finally:
        keras.config.set_dtype_policy("float32")
    before, judged = generator.get_weights(), judge.get_weights()
    history = model.fit(
        dialogs.batches().dataset(3),
        epochs=3,
        steps_per_epoch=2,
        shuffle=False,
        verbose=0,
    ).history
    assert all(np.isfinite(values).all() for values in history.values())
    assert any((a != b).any() for a, b in zip(before, generator.get_weights()))
    for a, b in zip(judged, judge.get_weights()):
        np.testing.assert_array_equal(a, b)


def test_channels_and_networks_are_among_the_variables():
    channel = GumbelSoftmaxST(seed=0)
    judge = dialogs.discriminator("lf")
    objective = Pathwise(DialogScore(judge), Sample(channel, max_length=3))
    generator = dialogs.generator("lf")
    model = ObjectiveModel(objective, generator, {"judge": judge})
    held = {id(v) for v in model.variables}
    for part in (channel, judge, generator):
        assert {id(v) for v in part.variables} <= held
    assert not model.supports_jit


def test_what_is_not_built_is_refused_by_name():
    speaker = dialogs.generator("lf")
    unbuilt = type(speaker).from_config(speaker.get_config())
    with pytest.raises(ValueError, match="`speaker` must be built"):
        ObjectiveModel(TeacherForcing(), unbuilt)
    with pytest.raises(ValueError, match="`judge` must be built"):
        ObjectiveModel(TeacherForcing(), speaker, {"judge": unbuilt})

    class Parts(keras.Model):
        """Has methods and no `call()`."""

    with pytest.raises(ValueError, match="no `call.*set `speaker.built = True"):
        ObjectiveModel(TeacherForcing(), Parts())
    with pytest.raises(ValueError, match="Derive its class from `keras.Model`"):
        ObjectiveModel(TeacherForcing(), object())


def test_an_objective_that_reaches_nothing_is_refused():
    model = trained(
        SupervisedLoss(lambda e: e.references.mask[..., 0], "nothing")
    )
    with pytest.raises(ValueError, match="No gradient reaches any variable"):
        model.train_on_batch(DATA)


def test_penalties_on_weights_are_learned_from_and_logged():
    """Of the speaker's weights, the learners', and not of frozen ones."""
    speaker, learner, frozen = (tiny.TableSpeaker(seed) for seed in range(3))
    frozen.trainable = False
    learners = {"learner": learner, "frozen": frozen}
    for network in (speaker, *learners.values()):
        network.table.regularizer = keras.regularizers.L2(0.3)
    model = ObjectiveModel(TeacherForcing(), speaker, learners)
    model.compile(keras.optimizers.SGD(0.5), run_eagerly=True)
    tables = [np.array(x.table) for x in (speaker, learner, frozen)]
    penalty = 0.3 * sum(np.square(x).sum() for x in tables[:2])
    bare = nll(speaker, REFERENCES)
    for method in (model.test_on_batch, model.train_on_batch):
        logs = method(DATA, return_dict=True)
        assert logs["loss"] == pytest.approx(bare + penalty, rel=1e-5)
        assert logs["teacher_forcing"] == pytest.approx(bare, rel=1e-5)
    # The learner is read by nobody: its penalty alone moves it.
    moved = tables[1] - 0.5 * 2 * 0.3 * tables[1]
    np.testing.assert_allclose(learner.table, moved, rtol=1e-5, atol=1e-6)
    unsaid = speaker.table.numpy()[0] - 0.7 * tables[0][0]
    np.testing.assert_allclose(unsaid, 0, atol=1e-6)
    np.testing.assert_array_equal(frozen.table, tables[2])


def test_objects_that_are_no_rewards_are_refused():
    samples = Sample(Categorical(seed=0), max_length=2)
    for make in (ScoreFunction, Pathwise, DecoderBaseline):
        with pytest.raises(TypeError, match="`reward` must.*`reward.captions"):
            make("words", samples)
    with pytest.raises(ValueError, match="`reward` must be differentiable"):
        Pathwise(lambda captions: [0.0], samples)
