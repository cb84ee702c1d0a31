"""The score of a dialog discriminator as a reward."""

from typing import Any

from keras import ops

from tfcap._ops import masked_mean
from tfcap.losses.masked_loss import one_pair_loss
from tfcap.rewards.embeddings import check_vocabulary
from tfcap.rewards.reward import Reward


class DialogScore(Reward):
    """Closeness of a generated answer to the human one, for a critic.

    ```
    reward = -tau * log(1 + exp((e . f(truth) - e . f(answer)) / tau))
    ```

    with `e` the critic's reading of the question and `f` of an answer. Where
    there are several human answers, the mean over those that are present.

    Args:
        discriminator: Object with `encode(inputs, training)`, returning `e` of
            shape `(B, D)`, and `embed(answers, mask, training)`, returning
            `(B, S, D)` from tokens `(B, S, T)` or words `(B, S, T, V)`; such
            as `tfcap.models.DialogDiscriminator`.
        learning: Boolean, whether the discriminator is itself being trained
            on this reward, so that gradients reach everything it read.
            Defaults to `False`: it runs in inference mode, and `e` and
            `f(truth)` are constants.
        temperature: Float, tau. The less it is, the less an answer gains
            once it scores above the human one: as it goes to 0, the reward
            is that of a hinge. Defaults to `1.0`, as in the paper.

    Example:

    >>> discriminator = tfcap.models.DialogDiscriminator(
    ...     50, tfcap.layers.HCIAEEncoder(8), tfcap.layers.AnswerEncoder(8)
    ... )
    >>> sample = tfcap.decoding.Sample(tfcap.layers.GumbelSoftmaxST())
    >>> objective = tfcap.objectives.Pathwise(
    ...     tfcap.rewards.DialogScore(discriminator), sample
    ... )

    Reference:

    - Lu et al., Best of Both Worlds, NIPS 2017, equation 5. The released code
      keeps the discriminator's dropout on and adds its norm penalty; here it
      is a fixed judge.
    """

    differentiable = True
    name = "dialog_score"

    def __init__(
        self,
        discriminator: Any,
        learning: bool = False,
        temperature: float = 1.0,
    ):
        if not temperature > 0:
            raise ValueError(
                "`temperature` must be greater than 0. Received: "
                f"temperature={temperature}."
            )
        self.discriminator = discriminator
        self.learning = learning
        self.temperature = temperature

    def call(self, rollout, episode):
        check_vocabulary(self.discriminator, episode, "discriminator")
        critic = self.discriminator
        training = self.learning and episode.training
        anchor = critic.encode(episode.inputs, training=training)
        human = episode.references
        truth = critic.embed(human.tokens, human.mask, training=training)
        if not self.learning:
            anchor = ops.stop_gradient(anchor)
            truth = ops.stop_gradient(truth)
        answer = critic.embed(
            rollout.listener_inputs, rollout.mask, training=training
        )
        # Every answer beside every human one: `(B, S, N, D)`.
        read = anchor[:, None, None], truth[:, None], answer[:, :, None]
        rows, samples = ops.shape(answer)[:2]
        shape = rows, samples, *ops.shape(truth)[1:]
        read = [ops.broadcast_to(x, shape) for x in read]
        losses = one_pair_loss(read[0] / self.temperature, *read[1:])
        mean = masked_mean(losses, human.nonempty[:, None], axis=-1)
        return -self.temperature * mean
