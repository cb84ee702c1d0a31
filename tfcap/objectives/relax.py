"""REINFORCE with a learned control variate of relaxed words."""

from typing import Any

import keras
from keras import ops

from tfcap._ops import SeedGenerator
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import Sample
from tfcap.decoding.loop import read_again
from tfcap.layers import Categorical
from tfcap.objectives.credit import critic_network
from tfcap.objectives.credit import values_of_states
from tfcap.objectives.estimator import RewardEstimator
from tfcap.rewards.reward import by_word


class RELAX(RewardEstimator):
    """The score function with a learned or relaxed control variate.

    A critic gives a value `q` to every word of the vocabulary, in the state in
    which it is drawn, and thus to the Gumbel-softmax relaxation of a word:

    ```
    z = log p + gumbel noise, word = argmax z     # z given the word, drawn
    c(z) = sum_w q[w] * softmax(z / temperature)[w]
    gradient = (reward - c(z)) * grad log p(word) + grad c(z) - grad c(z')
    ```

    with `z` a function of `log p` at fixed noise, and `z'`, of the same value,
    one at the noise given the word. For any `q`, the last two terms restore in
    expectation what the control in the first one subtracts: the words before
    are constants, and every word has its own control. The critic minimizes
    the square of the gradient with respect to the logits, which is its
    variance up to a constant. Only the values of the reward are used.

    Besides the reward, it logs under the estimator's name and `control` and
    `variance` the means of the controls and of these squares.

    Args:
        reward: `tfcap.rewards.Reward`, or a function of strings.
        decoder: `tfcap.decoding.Sample` with `keep_states=True`, of
            `Categorical` at temperature 1.
        state_units: Integer, size of the `tfcap.decoding.state_vector()` of
            the speaker's state.
        vocabulary_size: Integer `V` of the speaker.
        units: Tuple of integers, sizes of hidden layers of the critic.
            Defaults to `()`.
        temperature: Float, positive, of the relaxation. Defaults to `1.0`.
        seed: Integer, optional seed of the noise.
        name: String. Defaults to the reward's name.

    Example:

    >>> decoder = tfcap.decoding.Sample(num_samples=2, keep_states=True)
    >>> objective = tfcap.objectives.RELAX(
    ...     tfcap.rewards.BLEU(4), decoder, state_units=64, vocabulary_size=50
    ... )
    >>> objective.network.output_shape
    (None, 50)

    Reference:

    - Grathwohl et al., Backpropagation through the Void, ICLR 2018, equation
      8 and, for the words of a sequence, section 3.3
    - Tucker et al., REBAR, NIPS 2017, whose control is the reward itself of
      the relaxed word, and appendix A.1 for the noise given the word
    """

    def __init__(
        self,
        reward: Any,
        decoder: Sample,
        state_units: int,
        vocabulary_size: int,
        units: tuple = (),
        temperature: float = 1.0,
        seed: int | None = None,
        name: str | None = None,
    ):
        _check_decoder(decoder)
        super().__init__(reward, decoder, name, ("std", "control", "variance"))
        self.temperature = checked_number(
            temperature, "temperature", "positive", lambda x: x > 0
        )
        self.seed_generator = SeedGenerator(seed)
        words = checked_integer(vocabulary_size, "vocabulary_size")
        self.network = critic_network(state_units, units, words, "relax_critic")
        # Held by a layer, it is part of the state of a training.
        self.network.seed_generator = self.seed_generator

    def layers(self):
        return [*super().layers(), self.network]

    def per_sample_loss(self, episode):
        rollout, rewards, own, parts = self.rewarded(episode, credit=True)
        rewards = ops.stop_gradient(ops.cast(by_word(rewards), "float32"))
        log_p = self._log_p(rollout, episode)  # (B, S, T, V)
        word = ops.one_hot(rollout.tokens, log_p.shape[-1], dtype=log_p.dtype)
        fixed = ops.stop_gradient(log_p)
        z, kept = self._relaxed(fixed, word)
        values = values_of_states(self.network, rollout)  # (B, S, T, V)
        soft = ops.softmax(z / self.temperature, axis=-1)
        control = ops.sum(soft * values, axis=-1)  # (B, S, T)
        slopes = soft * (values - control[..., None]) / self.temperature
        slopes = slopes * kept
        # By log p: the word's, and the difference of the two relaxations.
        gains = (rewards - control)[..., None] * word + slopes
        log_p = ops.where(gains != 0, log_p, 0.0)
        scores = ops.sum(ops.stop_gradient(gains) * log_p, axis=-1)
        # By the logits; its mean square is the variance and a constant.
        p = ops.exp(fixed)
        gradient = gains - p * ops.sum(gains, axis=-1, keepdims=True)
        variance = ops.sum(ops.square(gradient), axis=-1)
        losses = variance - scores
        logs = {"control": control, "variance": variance}
        mask = rollout.mask
        losses = ops.sum(ops.where(mask > 0, losses, 0.0), axis=-1)
        own = own if len(own.shape) == 2 else ops.sum(own * mask, axis=-1)
        return losses, own, {**parts, **logs}

    def _log_p(self, rollout, episode):
        """Returns the log probabilities of all words at each position."""
        speaker, tokens = episode.speaker, rollout.tokens
        processors = self.decoder.logits_processors.for_speaker(speaker)
        logits, _ = read_again(
            *(speaker, episode.state, tokens, rollout.mask, processors),
            episode.training,
            reads_logits=True,
        )
        return ops.log_softmax(ops.cast(logits, "float32"), axis=-1)

    def _relaxed(self, log_p, word):
        """Draws `z` given the words, and its derivatives by `log p`.

        At fixed noise they are 1; given the word, they are 0 for the word, and
        for another word the share of its noise.
        """
        noise = keras.random.uniform(
            ops.shape(log_p),
            minval=1e-20,
            dtype="float32",
            seed=self.seed_generator,
        )
        # Logarithms of exponential times; that of the word is the least.
        times = ops.log(-ops.log(ops.minimum(noise, 1.0 - 1e-7)))
        first = ops.sum(times * word, axis=-1, keepdims=True)
        others = times - log_p
        z = ops.where(word > 0, -first, -ops.logaddexp(others, first))
        kept = ops.where(word > 0, 1.0, ops.sigmoid(first - others))
        return z, kept


def _check_decoder(decoder):
    channel = getattr(decoder, "channel", None)
    plain = isinstance(channel, Categorical) and channel.temperature == 1.0
    plain = plain and getattr(decoder, "guidance", 1.0) == 1.0
    if not (isinstance(decoder, Sample) and plain and decoder.keep_states):
        raise ValueError(
            "`decoder` must be Sample(keep_states=True) of Categorical at "
            "temperature 1, without other options. Received: "
            f"decoder={decoder!r}."
        )
