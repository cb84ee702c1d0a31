import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.rewards.test_retrieval import INPUTS
from tests.rewards.test_retrieval import learners
from tests.rewards.test_retrieval import soft
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.objectives import Episode
from tfcap.objectives import Pathwise
from tfcap.objectives.score_function import ListenerLoss
from tfcap.rewards import BLEU
from tfcap.rewards import Retrieval


def loss_and_slopes(objective, speaker, listener):
    with tf.GradientTape() as tape:
        loss, logs = objective.loss(Episode(speaker, INPUTS))
    variables = [speaker.table, *listener.trainable_variables]
    slopes = tape.gradient(loss, [v.value for v in variables])
    return loss, logs, slopes


def test_who_listens_has_the_gradient_of_pathwise_and_who_speaks_none():
    speaker, listener = learners()
    reward, found = Retrieval(listener, margin=1.0), []
    for estimator in (Pathwise, ListenerLoss):
        objective = estimator(reward, soft())
        found.append(loss_and_slopes(objective, speaker, listener))
        assert objective.layers() == [objective.decoder.channel]
        assert objective.log_names() == tuple(found[-1][1])
    (loss, logs, slopes), (heard, said, own) = found
    np.testing.assert_allclose(heard, loss, rtol=1e-6, atol=1e-6)
    for name, value in said.items():
        np.testing.assert_allclose(value, logs[name], rtol=1e-5, atol=1e-6)
    assert own[0] is None and slopes[0] is not None
    for a, b in zip(own[1:], slopes[1:], strict=True):
        a, b = tf.convert_to_tensor(a), tf.convert_to_tensor(b)
        assert np.any(a)
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("decoder", [GroundTruth(), Sample(max_length=3)])
def test_words_of_any_decoder_will_do(decoder):
    speaker, listener = learners()
    objective = ListenerLoss(Retrieval(listener), decoder, name="heard")
    _, logs, slopes = loss_and_slopes(objective, speaker, listener)
    assert slopes[0] is None and all(np.any(x) for x in slopes[1:3])
    assert "heard/collapse_ratio" in logs


def test_what_cannot_be_trained_so_is_refused():
    _, listener = learners()
    still = Retrieval(listener, learning=False)
    some = Retrieval(listener) + still
    for reward, decoder, message in (
        (BLEU(4), GroundTruth(), "`reward` must be differentiable"),
        (Retrieval(listener), "greedy", "`decoder` must be.*Received: decoder"),
        (still, GroundTruth(), "with `learning=True`"),
        (some, GroundTruth(), "with `learning=True`"),
        (some * keras.Variable(1.0), GroundTruth(), "with `learning=True`"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            ListenerLoss(reward, decoder)
