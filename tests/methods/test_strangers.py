"""Methods with networks of somebody who read the protocol alone."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.methods import stranger
from tests.methods.stranger import bleu
from tfcap import methods
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import WordChannel

SHORT = {"max_length": stranger.LENGTH, "seed": 0}
STATES = {"state_units": stranger.UNITS, "baseline_units": (3,)}


def brevity(captions, references):
    """A reward of somebody who has not heard of tensors."""
    return [-len(caption.split()) for caption in captions]


def trade():
    return {"lambda_": 0.2, "naturalness": bleu(), **SHORT}


def pair():
    return stranger.speaker(), stranger.listener()


#: Functions that make a model to train, by what trains it; `test_golden` has
#: those that differ from one of these in a term.
METHODS = {
    "mle": lambda: methods.mle(stranger.speaker()),
    "scst": lambda: methods.scst(stranger.speaker(), brevity, **SHORT),
    "psst": lambda: methods.psst(*pair(), **trade()),
    "sr_pl": lambda: methods.sr_pl(*pair(), **trade()),
    "frozen_speaker": lambda: methods.frozen_speaker(*pair(), **SHORT),
    "g_gan": lambda: methods.g_gan(*pair(), num_continuations=2, **SHORT),
    "sll_sle": lambda: methods.sll_sle(stranger.speaker(), bleu(), **SHORT),
    "policy_gradient": lambda: methods.policy_gradient(
        stranger.speaker(), brevity, num_continuations=2, **STATES, **SHORT
    ),
    "mixer": lambda: methods.mixer(
        stranger.speaker(), bleu(), stage_steps=1, **STATES, **SHORT
    ),
    "wtf_rl": lambda: methods.wtf_rl(
        *pair(), stranger.critic(), beam_width=2, max_length=stranger.LENGTH
    ),
    # Without a critic.
    "rl": lambda: methods.rl(*pair(), alpha=1.0, beam_width=2, max_length=4),
}


class Wavering(stranger.Storyteller):
    def begin(self, inputs, training=False):
        state = super().begin(inputs, training)
        return -state if training else state


def test_a_speaker_that_stays_speaks_without_dropout():
    losses = []
    for kind in (stranger.Storyteller, Wavering):
        speaker, listener = kind(), stranger.listener()
        speaker(stranger.batch())
        stranger.fill(speaker, 1)
        training = methods.frozen_speaker(speaker, listener, **SHORT)
        training.compile("sgd", run_eagerly=True)
        logs = training.train_on_batch(stranger.batch(), return_dict=True)
        losses.append(logs["loss"])
    assert losses[0] == losses[1]


def test_one_caption_is_drawn_for_both_terms():
    for make in (methods.reinforce, methods.sr_pl):
        training = make(*pair(), **trade())
        objective = training.learners["speaker"].objective
        terms = [term.estimator for term in objective.terms]
        assert len(terms) == 2 and terms[0].decoder is terms[1].decoder


def padded():
    """Batches whose sentences are as long as the longest of each."""

    def cut(row):
        words = tf.math.count_nonzero(row["sentences"], axis=-1)
        short = row["sentences"][:, : tf.reduce_max(words)]
        return {**row, "sentences": short, "references": short}

    rows = tf.data.Dataset.from_tensor_slices(stranger.batch(6))
    return rows.map(cut).padded_batch(3)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_trains_networks_of_strangers(name):
    model = METHODS[name]()
    before = [network.get_weights() for network in model.networks]
    optimizers = {k: keras.optimizers.Adam(0.01) for k in model.learners}
    model.compile(optimizers, run_eagerly=True)
    history = model.fit(padded(), epochs=model.period, shuffle=False, verbose=0)
    assert all(np.isfinite(x).all() for x in history.history.values())
    for network, weights in zip(model.networks, before, strict=True):
        changed = [
            (a != b).any() for a, b in zip(weights, network.get_weights())
        ]
        assert any(changed)


def test_a_graph_is_made_of_batches_of_unknown_length():
    model = METHODS["psst"]()
    model.compile({"speaker": "sgd", "listener": "sgd"})
    history = model.fit(padded(), epochs=1, shuffle=False, verbose=0).history
    assert np.isfinite(history["loss"]).all()


def test_a_sum_weighs_as_the_paper_does_whatever_the_batch():
    def loss(rows, lambda_):
        speaker, listener = pair()
        model = methods.psst(
            speaker, listener, lambda_=lambda_, naturalness=bleu(), rho=1.0
        )
        model.compile({"speaker": "sgd", "listener": "sgd"}, run_eagerly=True)
        logs = model.test_on_batch(stranger.batch(rows), return_dict=True)
        return logs["loss"], logs["retrieval"]

    for rows in (2, 6):
        summed, mean = loss(rows, 1.0)
        assert summed == pytest.approx(-rows * mean, rel=1e-5)


class NoSpeaker(keras.Model):
    vocabulary_size = 9


@pytest.mark.parametrize(
    "wrong, told",
    [
        ({"speaker": NoSpeaker()}, "`speaker` must satisfy.*without bos, eos"),
        ({"listener": NoSpeaker()}, "`listener` must have.*embed_images"),
        (
            {"lambda_": 1.5},
            "`lambda_` must be in .0, 1.. Received: lambda_=1.5",
        ),
        ({"lambda_": None}, "`lambda_` must be in"),
        ({"naturalness": None}, "`naturalness` must be a reward.*CIDErD"),
        ({"naturalness": "cider"}, "`reward` must be a.*Received: .*'cider'"),
        ({"rho": -0.1}, "`rho` must be in .0, 1."),
        ({"rho": "cosine"}, "`rho` must be in .0, 1."),
        ({"rho": lambda step: min(1.0, step)}, "`rho` must be.*keras.ops.min"),
        ({"rho": lambda step: 2.0 + step}, "`rho` must be.*2.0 at step 0"),
        ({"channel": "softmax"}, "`channel` must be one of"),
        (
            {"channel": "gumbel", "temperature": 0.0},
            "`temperature` must",
        ),
        ({"max_length": 0}, "`max_length` must be a positive integer"),
        ({"margin": 0.0}, "`margin` must be positive"),
    ],
)
def test_what_does_not_fit_is_refused_with_the_cure(wrong, told):
    speaker, listener = pair()
    given = {"speaker": speaker, "listener": listener, **trade(), **wrong}
    with pytest.raises((TypeError, ValueError), match=told):
        methods.psst(**given)


OTHERS = {
    "`speaker` must be built": lambda: methods.psst(
        stranger.Storyteller(), pair()[1], **trade()
    ),
    "`estimator` must be one of": lambda: methods.frozen_listener(
        *pair(), estimator="st", **trade()
    ),
    "`variant` must be one of": lambda: methods.sll_sle(
        pair()[0], bleu(), variant="mine"
    ),
    "`stage_steps` must be positive": lambda: methods.mixer(
        pair()[0], bleu(), stage_steps=0, **STATES
    ),
    "`beam_weight` or `human_weight` must be above 0": lambda: methods.wtf_rl(
        *pair(), alpha=1.0, beam_weight=0.0, human_weight=0.0
    ),
    "exactly the keys 'speaker', 'listener'": lambda: METHODS["psst"]().compile(
        {"speaker": "adam"}
    ),
    "`max_lenght` is not an argument of psst.*rho.*max_length": lambda: UNREAD[
        "psst"
    ](max_lenght=3),
}


@pytest.mark.parametrize("told", OTHERS)
def test_other_arguments_are_refused_too(told):
    with pytest.raises((TypeError, ValueError), match=told):
        OTHERS[told]()


def alone():
    return stranger.speaker(), bleu()


def with_retrievers(**given):
    speaker, retriever = pair()
    return methods.retriever_ensemble(
        speaker, [retriever], lambda_=1.0, **given
    )


UNREAD = {
    "frozen_listener": lambda **given: methods.frozen_listener(
        *pair(), **trade(), **given
    ),
    "psst": lambda **given: methods.psst(*pair(), **trade(), **given),
    "straight_through": lambda **given: methods.straight_through(
        *pair(), **trade(), **given
    ),
    "wtf_rl": lambda **given: methods.wtf_rl(*pair(), **given),
    "ensemble": with_retrievers,
    "policy_gradient": lambda **given: methods.policy_gradient(
        *alone(), num_continuations=0, **STATES, **given
    ),
    "grpo": lambda **given: methods.grpo(*alone(), **given),
    "rloo": lambda **given: methods.rloo(*alone(), **given),
}
COSINE = {"reward": "cosine"}
PEOPLE = {"estimator": "teacher_forcing"}
THROUGH = {"estimator": "straight_through"}
OWN = {"channel": GumbelSoftmaxST(0.7, rho=0.5, backward_temperature=1.5)}


@pytest.mark.parametrize(
    "name, variant, wrong",
    [
        ("frozen_listener", {}, {"channel": "no such channel"}),
        ("frozen_listener", {}, {"rho": 7.0}),
        ("frozen_listener", {}, {"temperature": -3.0}),
        ("frozen_listener", {}, {"termination": "expected"}),
        ("frozen_listener", THROUGH, {"rho": 0.5}),
        ("frozen_listener", THROUGH, {"temperature": 0.5}),
        ("frozen_listener", THROUGH, {"credit": "own"}),
        ("psst", {}, {"temperature": 0.5}),
        ("psst", OWN, {"temperature": 0.5}),
        ("psst", OWN, {"rho": 0.5}),
        ("frozen_listener", {"estimator": "psst", **OWN}, {"rho": 0.5}),
        ("straight_through", {}, {"temperature": -3.0}),
        ("wtf_rl", COSINE, {"temperature": -1.0}),
        ("wtf_rl", COSINE, {"combine": "nonsense"}),
        ("wtf_rl", COSINE, {"directions": ("nowhere",)}),
        ("wtf_rl", COSINE, {"neighbors": "no"}),
        ("wtf_rl", {}, {"num_samples": 3}),
        ("ensemble", {}, {"rho": 0.5}),
        ("ensemble", {}, {"threshold": 0.1}),
        ("ensemble", PEOPLE, {"num_samples": 3}),
        ("ensemble", {"estimator": "psst"}, {"num_samples": 3}),
        ("policy_gradient", {}, {"rollout_every": 3}),
        ("grpo", {}, {"kl_weight": 0.1}),
        ("grpo", {}, {"kl_estimator": "k1"}),
        ("rloo", {}, {"kl_weight": 0.1}),
    ],
)
def test_what_a_variant_does_not_read_is_refused(name, variant, wrong):
    (argument,) = wrong
    told = f"`{argument}` must be .* does not use it.*Leave it out"
    with pytest.raises(ValueError, match=told):
        UNREAD[name](**variant, **wrong)


def test_what_a_variant_reads_may_be_given():
    UNREAD["frozen_listener"](
        estimator="psst", rho=0.5, channel="gumbel", temperature=0.5
    )
    UNREAD["frozen_listener"](**THROUGH, credit="own", termination="expected")
    UNREAD["wtf_rl"](naturalness=bleu(), num_samples=3)
    with_retrievers(estimator="psst", naturalness=bleu(), num_samples=3)
    # No penalty is one of no weight.
    UNREAD["grpo"](kl_weight=0.0)
    UNREAD["rloo"](kl_weight=0.0)


class Whole(WordChannel):
    """A channel of somebody who passes distributions, and has no `rho`."""

    @property
    def discrete(self):
        return False


def test_a_channel_may_be_the_callers_own():
    def weights(**more):
        keras.utils.set_random_seed(1)
        training = methods.psst(*pair(), lambda_=1.0, **SHORT, **more)
        training.compile({"speaker": "sgd", "listener": "sgd"})
        training.fit(padded(), epochs=1, shuffle=False, verbose=0)
        trained = training.trainable_variables
        return np.concatenate([np.ravel(x) for x in trained])

    def heated(**more):
        return {"channel": GumbelSoftmaxST(0.7, rho=0.25, seed=0, **more)}

    same, other = heated(), heated(backward_temperature=2.0)
    named = weights(channel="gumbel", temperature=0.7)
    np.testing.assert_array_equal(weights(**same), named)
    assert np.abs(weights(**other) - named).max() > 1e-6
    for name, more in [("straight_through", {}), ("frozen_listener", THROUGH)]:
        UNREAD[name](channel=GumbelSoftmaxST(backward_temperature=2.0), **more)
        with pytest.raises(ValueError, match="must pass words alone.*rho=0"):
            UNREAD[name](**OWN, **more)
        with pytest.raises(ValueError, match="words alone.*'soft'. Make it"):
            UNREAD[name](channel=Whole(name="soft"), **more)
