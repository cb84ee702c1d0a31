from types import SimpleNamespace

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
from tfcap.objectives import Episode
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.objectives.score_function import SupervisedLoss
from tfcap.rewards import ConstantReward
from tfcap.rewards import DialogScore
from tfcap.training import JointTraining
from tfcap.training import Learner
from tfcap.training.refusals import checked_optimizers

REFERENCES = np.array([[[3, 2]], [[2, 0]], [[4, 4]], [[0, 0]]], "int32")


DATA = {"rows": np.zeros((4, 1), "float32"), "references": REFERENCES}


def trained(objective, optimizer=None, speaker=None, clipnorm=None, **options):
    """A model of one learner."""
    speaker = speaker or tiny.TableSpeaker()
    learner = Learner(speaker, objective, clipnorm)
    model = JointTraining(speaker, {"speaker": learner}, **options)
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
        clipnorm=0.01,
        dtype=policy,
    )
    scales = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scales == (policy == "mixed_float16")
    before = model.speaker.get_weights()[0]
    logs = model.train_on_batch(DATA, return_dict=True)
    step = np.linalg.norm(model.speaker.get_weights()[0] - before)
    np.testing.assert_allclose(step, 0.01, rtol=1e-4, atol=1e-6)
    assert 0 < logs["loss"] < 10


def test_frozen_networks_do_not_move():
    critic, speaker = tiny.TableSpeaker(1), tiny.TableSpeaker()
    critic.trainable = False

    def likes(episode):
        return episode.log_probs(episode.references)[..., 0] * (
            keras.ops.sum(critic.table) + keras.ops.sum(speaker.table)
        )

    term = SupervisedLoss(likes, "likes")
    model = trained(term, speaker=speaker)
    before = critic.get_weights()[0], speaker.get_weights()[0]
    model.fit(DATA, epochs=2, verbose=0)
    np.testing.assert_array_equal(critic.get_weights()[0], before[0])
    assert (speaker.get_weights()[0] != before[1]).any()
    critic.trainable = True
    learners = {"s": Learner(speaker, term), "c": Learner(critic, term)}
    model = JointTraining(speaker, learners)
    model.compile({"s": "sgd", "c": "sgd"})
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
        model = JointTraining(
            generator, {"speaker": Learner(generator, objective, 1.0)}
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


def test_channels_and_the_speaker_are_among_the_variables():
    channel = GumbelSoftmaxST(seed=0)
    judge = dialogs.discriminator("lf")
    judge.trainable = False
    objective = Pathwise(DialogScore(judge), Sample(channel, max_length=3))
    generator = dialogs.generator("lf")
    model = JointTraining(generator, objective)
    held = {id(v) for v in model.variables}
    for part in (channel, generator):
        assert {id(v) for v in part.variables} <= held
    assert not model.supports_jit


def test_what_is_not_built_is_refused_by_name():
    speaker = dialogs.generator("lf")
    unbuilt = type(speaker).from_config(speaker.get_config())
    with pytest.raises(ValueError, match="`speaker` must be built"):
        JointTraining(unbuilt, TeacherForcing())
    learner = Learner(unbuilt, TeacherForcing())
    with pytest.raises(ValueError, match="Learner `d` must be built"):
        JointTraining(speaker, {"d": learner})

    class Parts(keras.Model):
        """Has methods and no `call()`."""

    with pytest.raises(ValueError, match="no `call.*set `speaker.built = True"):
        JointTraining(Parts(), TeacherForcing())
    with pytest.raises(ValueError, match="Derive its class from `keras.Model`"):
        JointTraining(object(), TeacherForcing())


def test_an_objective_that_reaches_nothing_is_refused():
    model = trained(
        SupervisedLoss(lambda e: e.references.mask[..., 0], "nothing")
    )
    with pytest.raises(ValueError, match="No gradient reaches any variable"):
        model.train_on_batch(DATA)


def test_penalties_on_weights_are_learned_from_and_logged():
    """Of the speaker's weights, the other learner's, and not of frozen ones."""
    speaker, other = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    for network in (speaker, other):
        network.table.regularizer = keras.regularizers.L2(0.3)
    term = TeacherForcing()
    learners = {n: Learner(x, term) for n, x in (("s", speaker), ("o", other))}
    model = JointTraining(speaker, learners)
    sgd = keras.optimizers.SGD
    model.compile({"s": sgd(0.5), "o": sgd(0.5)}, run_eagerly=True)
    tables = [np.array(x.table) for x in (speaker, other)]
    penalty = 0.3 * sum(np.square(x).sum() for x in tables)
    bare = nll(speaker, REFERENCES)
    for method in (model.test_on_batch, model.train_on_batch):
        logs = method(DATA, return_dict=True)
        assert logs["loss"] == pytest.approx(bare + penalty, rel=1e-5)
        assert logs["teacher_forcing"] == pytest.approx(bare, rel=1e-5)
    # The other is read by nobody: its penalty alone moves it.
    moved = tables[1] - 0.5 * 2 * 0.3 * tables[1]
    np.testing.assert_allclose(other.table, moved, rtol=1e-5, atol=1e-6)
    unsaid = speaker.table.numpy()[0] - 0.7 * tables[0][0]
    np.testing.assert_allclose(unsaid, 0, atol=1e-6)


def test_objects_that_are_no_rewards_are_refused():
    samples = Sample(Categorical(seed=0), max_length=2)
    for make in (ScoreFunction, Pathwise, DecoderBaseline):
        with pytest.raises(TypeError, match="`reward` must.*`reward.captions"):
            make("words", samples)
    with pytest.raises(ValueError, match="`reward` must be differentiable"):
        Pathwise(lambda captions: [0.0], samples)


class Counting(Sample):
    """Counts how often it decodes."""

    calls = 0

    def decode(self, *args, **kwargs):
        type(self).calls += 1
        return super().decode(*args, **kwargs)


def judged_by(critic):
    """A loss that hangs on both learners."""

    def losses(episode):
        scores = episode.log_probs(episode.references)[..., 0]
        return scores * keras.ops.sum(critic.table * critic.table)

    return SupervisedLoss(losses, "judged")


def game(rates=(0.5, 0.25), clipnorms=(None, None)):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    objectives = TeacherForcing(), judged_by(critic)
    learners = {
        name: Learner(network, objective, clipnorm)
        for name, network, objective, clipnorm in zip(
            ("g", "d"), (speaker, critic), objectives, clipnorms
        )
    }
    model = JointTraining(speaker, learners)
    model.compile(
        {n: keras.optimizers.SGD(rate) for n, rate in zip("gd", rates)}
    )
    return model


def gradient(model, name):
    """Of a learner's own objective, for its own table."""
    learner = model.learners[name]
    with tf.GradientTape() as tape:
        loss, _ = learner.objective.loss(Episode(model.speaker, DATA))
    return loss, tape.gradient(loss, learner.network.table.value).numpy()


@pytest.mark.parametrize("clipnorm", [None, 0.01])
def test_each_steps_on_its_own_objective_from_the_same_state(clipnorm):
    model = game(clipnorms=(clipnorm, None))
    slopes = {name: gradient(model, name) for name in model.learners}
    before = [p.network.get_weights()[0] for p in model.learners.values()]
    logs = model.train_on_batch(DATA, return_dict=True)
    for name, rate, start in zip(model.learners, (0.5, 0.25), before):
        loss, slope = slopes[name]
        if name == "g" and clipnorm:
            slope = slope * clipnorm / np.linalg.norm(slope)
        moved = model.learners[name].network.get_weights()[0] - start
        np.testing.assert_allclose(moved, -rate * slope, rtol=1e-4, atol=1e-7)
        np.testing.assert_allclose(
            logs[f"{name}_loss"], loss, rtol=1e-5, atol=1e-6
        )


def test_what_is_said_is_said_once():
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    sample = Counting(Categorical(seed=0), max_length=2)

    def losses(episode):
        said = episode.rollout(sample).mask[..., 0]
        return said * keras.ops.sum(critic.table)

    learners = {
        "g": Learner(
            speaker,
            ScoreFunction(ConstantReward(), sample),
        ),
        "d": Learner(
            critic,
            SupervisedLoss(losses, "fakes", (sample,)),
        ),
    }
    model = JointTraining(speaker, learners)
    optimizers = {name: keras.optimizers.SGD(0.1) for name in learners}
    model.compile(optimizers, run_eagerly=True)
    Counting.calls = 0
    for _ in range(3):
        model.train_on_batch(DATA)
    assert Counting.calls == 3
    assert model.channels == [sample.channel]


def test_logs_are_named_by_learner_and_averaged_over_an_epoch():
    model = game(rates=(0.0, 0.0))
    data = tf.data.Dataset.from_tensor_slices(DATA).batch(2)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    names = {"g_loss", "g_teacher_forcing", "d_loss", "d_judged"}
    assert set(history) == names
    said = model.evaluate(data, verbose=0, return_dict=True)
    for name in names:
        np.testing.assert_allclose(
            history[name], said[name], rtol=1e-5, atol=1e-6
        )
    np.testing.assert_allclose(
        history["g_loss"], history["g_teacher_forcing"], rtol=1e-6, atol=1e-6
    )


def test_a_learner_with_a_scaled_loss_takes_the_same_step():
    plain, scaled = game(), game()
    own = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.5))
    learners = dict(scaled.learners)
    learners["g"] = learners["g"]._replace(global_clipnorm=0.01)
    scaled, other = (
        JointTraining(scaled.speaker, learners),
        scaled.optimizer_of("d"),
    )
    scaled.compile({"g": own, "d": other})
    plain.learners["g"] = plain.learners["g"]._replace(global_clipnorm=0.01)
    for model in (plain, scaled):
        model.train_on_batch(DATA)
    np.testing.assert_allclose(
        plain.speaker.get_weights()[0],
        scaled.speaker.get_weights()[0],
        rtol=1e-5,
        atol=1e-6,
    )


def test_networks_and_optimizers_are_kept_in_the_model():
    model = game()
    held = {id(v) for v in model.variables}
    for learner in model.learners.values():
        assert {id(v) for v in learner.network.variables} <= held
    assert all(optimizer.built for optimizer in model.optimizers)
    assert not model.supports_jit


class Counted(SupervisedLoss):
    """Counts how often it is computed."""

    def __init__(self, term):
        super().__init__(term.per_sample_loss, term.name)
        self.calls = 0

    def per_sample_loss(self, episode):
        self.calls += 1
        return self.function(episode)


def optimizer(rate=0.1):
    # Momentum moves a network on when its gradient is 0.
    return keras.optimizers.SGD(rate, momentum=0.9)


def alternating(every=(2, 2), offsets=(0, 1), **arguments):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    terms = Counted(TeacherForcing()), Counted(judged_by(critic))
    learners = {
        name: Learner(network, term, every=every[i], offset=offsets[i])
        for i, (name, network, term) in enumerate(
            zip(("g", "d"), (speaker, critic), terms)
        )
    }
    model = JointTraining(speaker, learners)
    model.compile({name: optimizer() for name in learners}, **arguments)
    return model


def weights(model):
    return [p.network.get_weights()[0] for p in model.learners.values()]


def train(model):
    """Trains on a batch; returns who moved."""
    before = weights(model)
    model.train_on_batch(DATA)
    pairs = zip(model.learners, before, weights(model))
    return [name for name, a, b in pairs if (a != b).any()]


@pytest.mark.parametrize("eager", [False, True])
def test_learners_that_alternate_move_one_after_the_other(eager):
    model = alternating(run_eagerly=eager)
    assert [train(model) for _ in range(5)] == [["g"], ["d"]] * 2 + [["g"]]
    steps = [int(own.iterations) for own in model.optimizers]
    assert steps == [3, 2] and int(model.turn) == 5


def test_turns_follow_every_and_offset():
    model = alternating(every=(1, 3), offsets=(0, 2))
    moved = [train(model) for _ in range(7)]
    assert [i for i, who in enumerate(moved) if who != ["g"]] == [2, 5]
    assert moved[2] == moved[5] == ["g", "d"]


def test_a_turn_is_the_step_of_a_game_of_the_one_learner():
    model = alternating()
    train(model)
    learner, other = model.learners["d"], model.learners["g"]
    alone = tiny.TableSpeaker(1)
    single = JointTraining(
        other.network,
        {"d": Learner(alone, judged_by(alone))},
    )
    single.compile(optimizer())
    train(model), train(single)
    np.testing.assert_array_equal(
        learner.network.get_weights()[0], alone.get_weights()[0]
    )


def test_whose_turn_it_is_not_is_not_computed():
    model = alternating(run_eagerly=True)
    for _ in range(5):
        train(model)
    terms = [p.objective for p in model.learners.values()]
    assert [term.calls for term in terms] == [3, 2]
    model.test_on_batch(DATA)
    assert [term.calls for term in terms] == [4, 3]


def test_every_set_of_learners_is_traced_once():
    model = alternating(every=(2, 1), offsets=(1, 0))
    for _ in range(6):
        train(model)
    terms = [p.objective for p in model.learners.values()]
    assert [term.calls for term in terms] == [1, 2]


def test_turns_go_on_from_epoch_to_epoch():
    model = alternating()
    data = tf.data.Dataset.from_tensors(DATA).repeat(3)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    assert int(model.turn) == 6
    assert [int(own.iterations) for own in model.optimizers] == [3, 3]
    # The speaker's first epoch had two turns, its second one.
    assert all(value > 0 for value in history["g_teacher_forcing"])
    assert model.learners["g"].objective.calls == 1


def gradient_calls(monkeypatch):
    calls = []
    own = tf.GradientTape.gradient

    def gradient(self, target, sources, *args, **kwargs):
        calls.append(len(sources))
        return own(self, target, sources, *args, **kwargs)

    monkeypatch.setattr(tf.GradientTape, "gradient", gradient)
    return calls


def both(objective_of, optimizers):
    speaker, critic = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    objectives = objective_of(critic)
    learners = {
        name: Learner(network, objective, clipnorm)
        for name, network, objective, clipnorm in zip(
            "gd", (speaker, critic), objectives, (0.05, None)
        )
    }
    model = JointTraining(speaker, learners)
    model.compile(dict(zip("gd", optimizers)), run_eagerly=True)
    return model


def apart(critic):
    return Counted(judged_by(critic)), Counted(judged_by(critic))


def shared(critic):
    return (Counted(judged_by(critic)),) * 2


def scaled(rate):
    return keras.optimizers.LossScaleOptimizer(
        optimizer(rate), initial_scale=2.0**rate
    )


@pytest.mark.parametrize("make, passes", [(optimizer, 1), (scaled, 2)])
def test_learners_of_one_objective_share_its_loss(make, passes, monkeypatch):
    rates = 0.1, 0.2
    two = both(apart, map(make, rates))
    one = both(shared, map(make, rates))
    calls = gradient_calls(monkeypatch)
    for _ in range(3):
        expected = two.train_on_batch(DATA, return_dict=True)
        done = len(calls)
        found = one.train_on_batch(DATA, return_dict=True)
        assert len(calls) - done == passes
        # What is shared is logged once.
        assert set(found) == {"loss", "judged"}
        assert expected.keys() == {f"{n}_{k}" for n in "gd" for k in found}
        for name in found:
            np.testing.assert_allclose(
                found[name], expected[f"g_{name}"], rtol=1e-6, atol=1e-6
            )
    for a, b in zip(weights(one), weights(two)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)
    assert one.learners["g"].objective.calls == 3


def test_penalties_stay_with_the_learner_whose_weights_they_are_on():
    two, one = (both(of, (optimizer(), optimizer())) for of in (apart, shared))
    for model in (two, one):
        for learner in model.learners.values():
            learner.network.table.regularizer = keras.regularizers.L2(0.3)
        model.train_on_batch(DATA)
    for a, b in zip(weights(one), weights(two)):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(
    "every, offset", [((1, 0), (0, 0)), ((1, 2), (0, 2)), ((2, 4), (0, 3))]
)
def test_turns_that_never_come_and_of_nobody_are_refused(every, offset):
    match = rf"every learner a turn.*'d': \({every[1]}, {offset[1]}\)"
    with pytest.raises(ValueError, match=match):
        alternating(every, offset)


def test_several_steps_at_once_are_refused_where_learners_take_turns():
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1"):
        alternating(steps_per_execution=2)
    alternating((1, 1), (0, 0), steps_per_execution=2)


def test_evaluation_sees_all_learners_at_any_turn():
    model = alternating()
    first = model.evaluate(DATA, verbose=0, return_dict=True)
    wanted, _ = model.learners["d"].objective.loss(Episode(model.speaker, DATA))
    np.testing.assert_allclose(first["d_loss"], wanted, rtol=1e-5, atol=1e-6)
    assert int(model.turn) == 0


@pytest.mark.parametrize(
    "option",
    [
        {"loss": "mse"},
        {"metrics": ["mae"]},
        {"weighted_metrics": ["mae"]},
        {"loss_weights": [2.0]},
    ],
)
def test_an_objective_takes_no_loss_beside_it(option):
    (name,) = option
    with pytest.raises(ValueError, match=f"`{name}` must be None.*term"):
        game().compile({"g": "sgd", "d": "sgd"}, **option)


def two_learners():
    speaker, other = tiny.TableSpeaker(), tiny.TableSpeaker(1)
    learners = {
        "speaker": Learner(speaker, TeacherForcing()),
        "other": Learner(other, TeacherForcing()),
    }
    return JointTraining(speaker, learners)


def test_optimizers_go_by_the_names_of_the_learners():
    model, adam = two_learners(), keras.optimizers.Adam()
    model.compile({"other": "sgd", "speaker": adam})
    assert model.optimizers[0] is model.optimizer_of("speaker") is adam
    assert isinstance(model.optimizer_of("other"), keras.optimizers.SGD)


@pytest.mark.parametrize(
    "wrong, told",
    [
        (None, "the keys 'speaker', 'other', who.*optimizer=None. Give"),
        ("adam", "the keys 'speaker', 'other', who.*optimizer='adam'"),
        ({"speaker": "adam"}, "exactly the keys.*{'speaker': 'adam'}"),
        (dict.fromkeys(["speaker", "other", "listener"], "sgd"), "'listener'"),
        (dict.fromkeys(["speaker", "other"], keras.optimizers.SGD()), "own"),
    ],
)
def test_optimizers_that_fit_no_learners_are_refused(wrong, told):
    with pytest.raises(ValueError, match=f"`optimizer` must.*{told}"):
        two_learners().compile(wrong)


def test_who_learns_alone_needs_no_name():
    own = keras.optimizers.SGD()
    for given in (own, {"speaker": own}):
        assert trained(TeacherForcing(), given).optimizer is own
    with pytest.raises(ValueError, match="exactly the keys 'speaker'"):
        trained(TeacherForcing(), {"listener": "sgd"})


@pytest.mark.parametrize(
    "name, value",
    [
        ("gradient_accumulation_steps", 2),
        ("clipvalue", 4.0),
        ("clipnorm", 4.0),
        ("global_clipnorm", 4.0),
    ],
)
def test_what_keras_does_on_each_device_is_refused_on_several(name, value):
    strategy = SimpleNamespace(num_replicas_in_sync=2)
    model = SimpleNamespace(
        **{"distribute_strategy": strategy, "learners": ["speaker"]},
        **{"clipped_ratio": None, "period": 1},
    )
    plain = keras.optimizers.SGD(**{name: value})
    scaling = keras.optimizers.LossScaleOptimizer(plain)
    for optimizer in (plain, scaling):
        match = f"`{name}` of an optim.* must be None on 2 dev.*{name}={value}"
        with pytest.raises(ValueError, match=match):
            checked_optimizers(model, optimizer, {})
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1"):
        checked_optimizers(model, "sgd", {"steps_per_execution": 3})
    strategy.num_replicas_in_sync = 1
    assert checked_optimizers(model, plain, {"steps_per_execution": 3})


def test_batches_are_accumulated_by_keras():
    tables = []
    for steps, sizes in ((None, (4,)), (2, (2, 2))):
        optimizer = keras.optimizers.Adam(
            0.1, epsilon=1e-3, gradient_accumulation_steps=steps
        )
        model = trained(TeacherForcing(), optimizer)
        full = np.array([[[3, 2]], [[2, 2]], [[4, 4]], [[4, 2]]], "int32")
        start = 0
        for size in sizes:
            rows = slice(start, start + size)
            start += size
            model.train_on_batch(
                {"rows": DATA["rows"][rows], "references": full[rows]}
            )
        assert int(optimizer.iterations) == 1
        tables.append(model.speaker.get_weights()[0])
    assert np.abs(tables[0] - tiny.TableSpeaker().get_weights()[0]).max() > 0.01
    np.testing.assert_allclose(*tables, rtol=1e-4, atol=1e-6)


def test_weights_of_rows_are_refused():
    model = trained(TeacherForcing())
    labels, weights = np.zeros(4, "int32"), np.array([0.0, 1.0, 1.0, 1.0])
    batches = tf.data.Dataset.from_tensors((DATA, labels, weights))
    rule = "`sample_weight` must be None"
    with pytest.raises(ValueError, match=rule):
        model.fit(batches, shuffle=False, verbose=0)
    with pytest.raises(ValueError, match=rule):
        model.evaluate(batches, verbose=0)
    with pytest.raises(ValueError, match=rule):
        model.fit(DATA, sample_weight=weights, verbose=0)


def test_what_trains_is_not_saved_whole(tmp_path):
    model = trained(TeacherForcing())
    with pytest.raises(NotImplementedError, match="speaker.save"):
        model.save(tmp_path / "training.keras")
    model.save_weights(tmp_path / "training.weights.h5")
    assert len(list(tmp_path.iterdir())) == 1


def counted_traces(monkeypatch):
    """How often a step is traced, which is most of the time of a first one."""
    traces = []
    own = JointTraining.train_step

    def train_step(model, data):
        traces.append(model.name)
        return own(model, data)

    monkeypatch.setattr(JointTraining, "train_step", train_step)
    return traces


def test_a_step_is_traced_once(monkeypatch):
    traces = counted_traces(monkeypatch)
    sample = Sample(Categorical(seed=0), max_length=2)
    other = Sample(Categorical(seed=1), max_length=2)
    baseline = DecoderBaseline(ConstantReward(), other)
    adam = keras.optimizers.Adam
    critical = ScoreFunction(ConstantReward(), sample, baseline)
    for model in (
        trained(critical, adam()),
        game(),
    ):
        data = tf.data.Dataset.from_tensor_slices(DATA).batch(2)
        model.fit(data, epochs=2, shuffle=False, verbose=0)
        assert traces == [model.name]
        traces.clear()
