from types import SimpleNamespace

import keras
import numpy as np
import pytest
from keras.optimizers import SGD

from tests import dialogs
from tests import tiny
from tests.testing import same
from tests.testing import tf
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
DATA = tiny.batch(4, REFERENCES)


def in_twos():
    return tf.data.Dataset.from_tensor_slices(DATA).batch(2)


def trained(objective, optimizer=None, speaker=None, clipnorm=None, **options):
    """A model of one learner."""
    speaker = speaker or tiny.TableSpeaker()
    learner = Learner(speaker, objective, clipnorm)
    model = JointTraining(speaker, {"speaker": learner}, **options)
    model.compile(optimizer or SGD(0.5))
    return model


def nll(speaker, references):
    table = keras.ops.convert_to_numpy(speaker.table)
    present = [r for r in references[:, 0] if r.any()]
    return -np.mean([np.log(tiny.probability(table, r)) for r in present])


class Counted(SupervisedLoss):
    """Counts how often it is computed."""

    calls = 0

    def per_sample_loss(self, episode):
        self.calls += 1
        return super().per_sample_loss(episode)


def taught(episode):
    return TeacherForcing().per_sample_loss(episode)[0]


def judged_by(critic):
    """A loss that hangs on both learners."""

    def losses(episode):
        scores = episode.log_probs(episode.references)[..., 0]
        return scores * keras.ops.sum(critic.table * critic.table)

    return Counted(losses, "judged")


def apart(critic):
    return Counted(taught, "taught"), judged_by(critic)


def momentum(rate=0.1):
    # Moves a network on when its gradient is 0.
    return SGD(rate, momentum=0.9)


def game(
    objectives=apart,
    optimizers=(momentum, momentum),
    clipnorm=None,
    turns=((1, 0), (1, 0)),
    **options,
):
    """A model of two learners, the first of which may be clipped."""
    networks = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    terms, norms = objectives(networks[1]), (clipnorm, None)
    each = zip(networks, terms, norms, *zip(*turns))
    learners = dict(zip("gd", (Learner(*parts) for parts in each)))
    model = JointTraining(networks[0], learners)
    model.compile({n: make() for n, make in zip("gd", optimizers)}, **options)
    return model


def weights(model):
    return [p.network.get_weights()[0] for p in model.learners.values()]


def calls(model):
    return [p.objective.calls for p in model.learners.values()]


def train(model):
    """Trains on a batch; returns who moved."""
    before = weights(model)
    model.train_on_batch(DATA)
    pairs = zip(model.learners, before, weights(model))
    return "".join(name for name, a, b in pairs if (a != b).any())


def test_logs_are_means_over_the_epoch_and_the_loss_their_weighted_sum():
    weight = keras.Variable(0.25)
    objective = 2.0 * TeacherForcing() + TeacherForcing(name="more") * weight
    model = trained(objective, SGD(0.0))
    history = model.fit(in_twos(), epochs=2, shuffle=False, verbose=0).history
    batches = [nll(model.speaker, REFERENCES[i : i + 2]) for i in (0, 2)]
    mean = np.mean(batches)
    wanted = {"loss": 2.25 * mean, "teacher_forcing": mean, "more": mean}
    same(history, {k: [v] * 2 for k, v in wanted.items()}, 1e-5)
    said = model.evaluate(in_twos(), verbose=0, return_dict=True)
    same(said, wanted, 1e-5)


def test_logs_are_named_by_learner():
    model = game(optimizers=[lambda: SGD(0.0)] * 2)
    history = model.fit(in_twos(), shuffle=False, verbose=0).history
    assert {*history} == {"g/loss", "g/taught", "d/loss", "d/judged"}
    said = model.evaluate(in_twos(), verbose=0, return_dict=True)
    same({k: v for k, (v,) in history.items()}, said, 1e-5)
    assert said["g/loss"] == pytest.approx(said["g/taught"])


def test_an_evaluation_weighs_rows_alike_whatever_the_batches():
    model = trained(TeacherForcing())
    references = np.concatenate([REFERENCES[:3], REFERENCES[:2]])
    for size in (5, 4, 2):
        data = tiny.batch(5, references)
        said = model.evaluate(data, batch_size=size, verbose=0)
        same(said, [nll(model.speaker, references)] * 2, 1e-5)


def test_a_reward_is_logged_up_while_the_loss_goes_down():
    sample = Sample(Categorical(seed=0), max_length=2)
    prize = ScoreFunction(ConstantReward(2.0), sample, name="prize")
    logs = trained(3.0 * prize).train_on_batch(DATA, return_dict=True)
    assert logs["prize"] == 2.0


@pytest.mark.parametrize("policy", ["float32", "mixed_float16"])
def test_the_clipped_step_is_as_long_as_it_may_be(policy):
    model = trained(TeacherForcing(), SGD(1.0), clipnorm=0.01, dtype=policy)
    scales = isinstance(model.optimizer, keras.optimizers.LossScaleOptimizer)
    assert scales == (policy == "mixed_float16")
    before = model.speaker.get_weights()[0]
    logs = model.train_on_batch(DATA, return_dict=True)
    step = np.linalg.norm(model.speaker.get_weights()[0] - before)
    np.testing.assert_allclose(step, 0.01, rtol=1e-4)
    assert 0 < logs["loss"] < 10


def test_frozen_networks_do_not_move():
    critic, speaker = tiny.TableSpeaker(1), tiny.TableSpeaker()
    critic.trainable = False
    model = trained(judged_by(critic), speaker=speaker)
    before = critic.get_weights()[0], speaker.get_weights()[0]
    model.fit(DATA, epochs=2, verbose=0)
    same(critic.get_weights()[0], before[0])
    assert (speaker.get_weights()[0] != before[1]).any()


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_a_generator_learns_from_a_judge_in_half_precision(policy):
    keras.config.set_dtype_policy(policy)
    try:
        generator, judge = dialogs.generator("lf"), dialogs.discriminator("lf")
        judge.trainable = False
        sample = Sample(GumbelSoftmaxST(seed=0), max_length=3)
        objective = Pathwise(DialogScore(judge), sample) + TeacherForcing()
        model = trained(objective, "adam", generator, 1.0)
        # The tests on two replicas have graphs of both policies.
        model.run_eagerly = True
    finally:
        keras.config.set_dtype_policy("float32")
    before, judged = generator.get_weights(), judge.get_weights()
    data = dialogs.batches().dataset(1)
    history = model.fit(data, shuffle=False, verbose=0).history
    assert np.isfinite([*history.values()]).all()
    assert any((a != b).any() for a, b in zip(before, generator.get_weights()))
    same(judge.get_weights(), judged)


def test_channels_networks_and_optimizers_are_kept_in_the_model():
    sample = Sample(GumbelSoftmaxST(seed=0), max_length=3)
    drawn = ScoreFunction(ConstantReward(), sample)
    model = game(lambda critic: (drawn, judged_by(critic)))
    parts = [learner.network for learner in model.learners.values()]
    held = {id(v) for v in model.variables}
    assert {id(v) for x in (*parts, sample.channel) for v in x.variables} < held
    assert model.channels == [sample.channel]
    assert all(optimizer.built for optimizer in model.optimizers)
    assert not model.supports_jit


class Parts(keras.Model):
    """Has methods and no `call()`."""


@pytest.mark.parametrize(
    "speaker, learner, told",
    [
        (keras.layers.Dense(2), None, "`speaker` must be built"),
        (None, keras.layers.Dense(2), "Learner `d` must be built"),
        (Parts(), None, "no `call.*set `speaker.built = True"),
        (object(), None, "Derive its class from `keras.Model`"),
    ],
)
def test_what_is_not_built_is_refused_by_name(speaker, learner, told):
    speaker = speaker or tiny.TableSpeaker()
    learner = Learner(learner or speaker, TeacherForcing())
    with pytest.raises(ValueError, match=told):
        JointTraining(speaker, {"d": learner})


@pytest.mark.parametrize("what", ["nothing", "what another should learn from"])
def test_an_objective_that_reaches_nothing_is_refused(what):
    nothing = SupervisedLoss(lambda e: e.references.mask[..., 0], "nothing")
    if what == "nothing":
        model = trained(nothing)
    else:
        model = game(lambda critic: (judged_by(critic), Counted(taught, "own")))
    with pytest.raises(ValueError, match="no gradient for any"):
        model.train_on_batch(DATA)


def test_penalties_on_weights_are_learned_from_and_logged():
    """Of the speaker's weights, the other learner's, and not of frozen ones."""
    speaker, other = tiny.TableSpeaker(0), tiny.TableSpeaker(1)
    for network in (speaker, other):
        network.table.regularizer = keras.regularizers.L2(0.3)
    term = TeacherForcing()
    learners = {n: Learner(x, term) for n, x in (("s", speaker), ("o", other))}
    model = JointTraining(speaker, learners)
    model.compile({"s": SGD(0.5), "o": SGD(0.5)}, run_eagerly=True)
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


@pytest.mark.parametrize("clipnorm", [None, 0.01])
def test_each_steps_on_its_own_objective_from_the_same_state(clipnorm):
    model = game(optimizers=(SGD, lambda: SGD(0.25)), clipnorm=clipnorm)
    before, wanted = weights(model), []
    for learner in model.learners.values():
        with tf.GradientTape() as tape:
            loss, _ = learner.objective.loss(Episode(model.speaker, DATA))
        slope = tape.gradient(loss, learner.network.table.value).numpy()
        wanted.append((float(loss), slope))
    logs = model.train_on_batch(DATA, return_dict=True)
    moved = [a - b for a, b in zip(before, weights(model))]
    if clipnorm:
        wanted[0][1][:] *= clipnorm / np.linalg.norm(wanted[0][1])
    same(moved, [0.01 * wanted[0][1], 0.25 * wanted[1][1]], 1e-4, 1e-7)
    found = [logs["g/loss"], logs["d/loss"]]
    assert found == pytest.approx([loss for loss, _ in wanted], rel=1e-5)


def test_what_is_said_is_said_once():
    said = []

    class Counting(Sample):
        def decode(self, *args, **kwargs):
            said.append(1)
            return super().decode(*args, **kwargs)

    sample = Counting(Categorical(seed=0), max_length=2)

    def objectives(critic):
        def losses(episode):
            mask = episode.rollout(sample).mask[..., 0]
            return mask * keras.ops.sum(critic.table)

        fakes = SupervisedLoss(losses, "fakes", (sample,))
        return ScoreFunction(ConstantReward(), sample), fakes

    model = game(objectives, run_eagerly=True)
    for _ in range(3):
        model.train_on_batch(DATA)
    assert len(said) == 3


def scaled(rate=0.1):
    return keras.optimizers.LossScaleOptimizer(
        momentum(rate), initial_scale=2.0**rate
    )


def test_a_learner_with_a_scaled_loss_takes_the_same_step():
    plain = game(clipnorm=0.01)
    other = game(clipnorm=0.01, optimizers=(scaled, momentum))
    for model in (plain, other):
        model.train_on_batch(DATA)
    same(weights(plain), weights(other), 1e-5, 1e-6)


ALTERNATE = (2, 0), (2, 1)


@pytest.mark.parametrize("eager, traced", [(False, [1, 1]), (True, [3, 2])])
def test_learners_that_alternate_move_one_after_the_other(eager, traced):
    """And whose turn it is not is not computed, nor traced again."""
    model = game(turns=ALTERNATE, run_eagerly=eager)
    assert [train(model) for _ in range(5)] == ["g", "d", "g", "d", "g"]
    steps = [int(own.iterations) for own in model.optimizers]
    assert steps == [3, 2] and int(model.turn) == 5
    assert calls(model) == traced


def test_turns_follow_every_and_offset_and_every_set_is_traced_once():
    model = game(turns=((1, 0), (3, 2)))
    assert [train(model) for _ in range(7)] == ["g", "g", "gd"] * 2 + ["g"]
    assert calls(model) == [2, 1]


def test_a_turn_is_the_step_of_a_game_of_the_one_learner():
    model = game(turns=ALTERNATE)
    train(model)
    alone = tiny.TableSpeaker(1)
    learners = {"d": Learner(alone, judged_by(alone))}
    single = JointTraining(model.speaker, learners)
    single.compile(momentum())
    train(model), train(single)
    same(weights(model)[1], alone.get_weights()[0])


def test_turns_go_on_from_epoch_to_epoch_and_evaluation_sees_all():
    model = game(turns=ALTERNATE)
    data = tf.data.Dataset.from_tensors(DATA).repeat(3)
    history = model.fit(data, epochs=2, shuffle=False, verbose=0).history
    assert int(model.turn) == 6
    assert [int(own.iterations) for own in model.optimizers] == [3, 3]
    # The speaker's first epoch had two turns, its second one.
    assert all(value > 0 for value in history["g/taught"])
    said = model.evaluate(DATA, verbose=0, return_dict=True)
    wanted, _ = model.learners["d"].objective.loss(Episode(model.speaker, DATA))
    assert said["d/loss"] == pytest.approx(float(wanted), rel=1e-5)
    assert int(model.turn) == 6


def judged_apart(critic):
    return judged_by(critic), judged_by(critic)


def judged_together(critic):
    return (judged_by(critic),) * 2


@pytest.mark.parametrize("make, passes", [(momentum, 1), (scaled, 2)])
def test_learners_of_one_objective_share_its_loss(make, passes, monkeypatch):
    backward, own = [], tf.GradientTape.gradient

    def gradient(self, target, sources, *args, **kwargs):
        backward.append(len(sources))
        return own(self, target, sources, *args, **kwargs)

    monkeypatch.setattr(tf.GradientTape, "gradient", gradient)
    # Scales differ where losses are scaled.
    options = {"optimizers": [make, lambda: make(0.2)], "clipnorm": 0.05}
    two, one = (
        game(objectives, run_eagerly=True, **options)
        for objectives in (judged_apart, judged_together)
    )
    for model in (two, one):
        for learner in model.learners.values():
            learner.network.table.regularizer = keras.regularizers.L2(0.3)
    for _ in range(3):
        expected = two.train_on_batch(DATA, return_dict=True)
        done = len(backward)
        found = one.train_on_batch(DATA, return_dict=True)
        assert len(backward) - done == passes
        # What is shared is logged once.
        assert set(found) == {"loss", "judged"}
        assert expected.keys() == {f"{n}/{k}" for n in "gd" for k in found}
        assert found["judged"] == pytest.approx(expected["g/judged"])
    same(weights(one), weights(two), 1e-5, 1e-6)
    assert calls(one) == [3, 3]


TURN = "every step has a learner.*'d'"


@pytest.mark.parametrize(
    "told, options",
    [
        (rf"{TURN}: \(0, 0\)", {"turns": ((1, 0), (0, 0))}),
        (rf"{TURN}: \(2, 2\)", {"turns": ((1, 0), (2, 2))}),
        (rf"{TURN}: \(4, 3\)", {"turns": ((2, 0), (4, 3))}),
        (
            "`steps_per_execution` must be 1",
            {"turns": ALTERNATE, "steps_per_execution": 2},
        ),
        ("`loss` must be None.*term", {"loss": "mse"}),
        ("`metrics` must be None.*term", {"metrics": ["mae"]}),
        ("`weighted_metrics` must be None", {"weighted_metrics": ["mae"]}),
        ("`loss_weights` must be None", {"loss_weights": [2.0]}),
    ],
)
def test_unfit_turns_and_options_are_refused(told, options):
    with pytest.raises(ValueError, match=told):
        game(**options)


def test_optimizers_go_by_the_names_of_the_learners():
    model, adam = game(), keras.optimizers.Adam()
    model.compile({"d": "sgd", "g": adam}, steps_per_execution=2)
    assert model.optimizers[0] is model.optimizer_of("g") is adam
    assert isinstance(model.optimizer_of("d"), SGD)


@pytest.mark.parametrize(
    "wrong, told",
    [
        (None, "the keys 'g', 'd', the.*optimizer=None. Call"),
        ("adam", "the keys 'g', 'd', the.*optimizer='adam'"),
        ({"g": "adam"}, "exactly the keys.*{'g': 'adam'}"),
        (dict.fromkeys(["g", "d", "listener"], "sgd"), "'listener'"),
        (dict.fromkeys(["g", "d"], SGD()), "separate"),
    ],
)
def test_optimizers_that_fit_no_learners_are_refused(wrong, told):
    with pytest.raises(ValueError, match=f"`optimizer` must.*{told}"):
        game().compile(wrong)


def test_who_learns_alone_needs_no_name():
    own = SGD()
    for given in (own, {"speaker": own}):
        assert trained(TeacherForcing(), given).optimizer is own
    with pytest.raises(ValueError, match="exactly the keys 'speaker'"):
        trained(TeacherForcing(), {"listener": "sgd"})


@pytest.mark.parametrize(
    "name",
    [
        *("gradient_accumulation_steps", "clipvalue"),
        *("clipnorm", "global_clipnorm"),
    ],
)
def test_what_keras_does_on_each_device_is_refused_on_several(name):
    strategy = SimpleNamespace(num_replicas_in_sync=2)
    model = SimpleNamespace(
        distribute_strategy=strategy,
        learners=["speaker"],
        clipped_ratio=None,
        period=1,
    )
    plain = SGD(**{name: 4})
    for optimizer in (plain, keras.optimizers.LossScaleOptimizer(plain)):
        match = f"`{name}` of an optim.* must be None on 2 dev.*{name}=4"
        with pytest.raises(ValueError, match=match):
            checked_optimizers(model, optimizer, {})
    with pytest.raises(ValueError, match="`steps_per_execution` must be 1"):
        checked_optimizers(model, "sgd", {"steps_per_execution": 3})
    strategy.num_replicas_in_sync = 1
    assert checked_optimizers(model, plain, {"steps_per_execution": 3})


def test_batches_are_accumulated_by_keras():
    full = tiny.batch(4, [[[3, 2]], [[2, 2]], [[4, 4]], [[4, 2]]])
    tables = []
    for steps, batches in ((None, [slice(4)]), (2, [slice(2), slice(2, 4)])):
        optimizer = keras.optimizers.Adam(
            0.1, epsilon=1e-3, gradient_accumulation_steps=steps
        )
        model = trained(TeacherForcing(), optimizer)
        for rows in batches:
            model.train_on_batch({k: v[rows] for k, v in full.items()})
        assert int(optimizer.iterations) == 1
        tables.append(model.speaker.get_weights()[0])
    assert np.abs(tables[0] - tiny.TableSpeaker().get_weights()[0]).max() > 0.01
    same(*tables, 1e-4, 1e-6)


def test_weights_of_rows_are_refused():
    model, weights = trained(TeacherForcing()), np.ones(4)
    batches = tf.data.Dataset.from_tensors((DATA, np.zeros(4), weights))
    for method, data, options in (
        (model.fit, batches, {"shuffle": False}),
        (model.evaluate, batches, {}),
        (model.fit, DATA, {"sample_weight": weights}),
    ):
        with pytest.raises(ValueError, match="`sample_weight` must be None"):
            method(data, verbose=0, **options)


def test_what_trains_is_not_saved_whole(tmp_path):
    model = trained(TeacherForcing())
    with pytest.raises(NotImplementedError, match="speaker.save"):
        model.save(tmp_path / "training.keras")
    model.save_weights(tmp_path / "training.weights.h5")
    assert len(list(tmp_path.iterdir())) == 1


def test_a_step_is_traced_once(monkeypatch):
    """Which is most of the time of a first one."""
    traces, own = [], JointTraining.train_step

    def train_step(model, data):
        traces.append(model.name)
        return own(model, data)

    monkeypatch.setattr(JointTraining, "train_step", train_step)
    sample, other = (Sample(Categorical(seed=i), max_length=2) for i in (0, 1))
    baseline = DecoderBaseline(ConstantReward(), other)
    critical = ScoreFunction(ConstantReward(), sample, baseline)
    for model in (trained(critical, keras.optimizers.Adam()), game()):
        model.fit(in_twos(), epochs=2, shuffle=False, verbose=0)
        assert traces == [model.name]
        traces.clear()
