"""Rewards of likelihoods: under a reference model, and under the speaker."""

from typing import Any

from keras import ops

from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import check_methods
from tfcap.rewards.reward import check_vocabulary

#: Methods of a speaker that scores words.
SCORES = ("begin", "log_probs")


class KLPenalty(Reward):
    """Minus an estimate of the KL divergence from a reference, in nats.

    ```
    E[reward] = -KL(speaker || reference)
    ```

    over whole captions: the log probability under the reference minus that
    under the speaker, for which the score-function estimator is unbiased. It
    keeps a speaker that is trained for a reward close to the language of
    human captions. `tfcap.methods.grpo()` has it as a loss. Words that the
    decoder suppresses, and n-grams that it does not repeat, are impossible
    under the reference, too; `top_k` and `top_p` apply to the speaker alone.

    Args:
        reference: Fixed `tfcap.decoding.Speaker` of the same vocabulary, such
            as a copy of the speaker before training.
        name: String. Defaults to `"kl_penalty"`.

    Example:

    >>> reference = tfcap.models.ShowTellSpeaker(50, units=8)
    >>> anchor = tfcap.rewards.KLPenalty(reference)
    >>> (tfcap.rewards.BLEU(4) + 0.05 * anchor).terms
    ('bleu_4', 'kl_penalty')

    Reference:

    - Jaques et al., Sequence Tutor: Conservative Fine-Tuning of Sequence
      Generation Models with KL-control, ICML 2017
    """

    reads_log_probs = True
    judges = False

    def __init__(self, reference: Any, name: str = "kl_penalty"):
        check_methods(reference, "reference", *SCORES)
        self.reference = reference
        self.name = name

    def call(self, rollout, episode):
        familiar = reference_log_probs(self.reference, rollout, episode)
        own = ops.stop_gradient(episode.log_probs(rollout))
        log_ratio = ops.where(rollout.mask > 0, own - familiar, 0.0)
        return -ops.sum(log_ratio, axis=-1)


def reference_log_probs(reference: Any, rollout: Any, episode: Any) -> Any:
    """Computes log probabilities `(B, S, T)` under a reference model."""
    check_vocabulary(reference, episode, "reference")
    state = reference.begin(episode.inputs, training=False)
    return ops.stop_gradient(episode.scores_by(reference, state, rollout))


class Surprisal(Reward):
    """Minus the log probability of a caption, in nats: an entropy bonus.

    ```
    E[reward] = entropy of the captions
    gradient of the entropy = E[reward * gradient of log p(caption)]
    ```

    so that `ScoreFunction(reward + 0.01 * Surprisal(), ...)` trains for the
    reward and the entropy of whole captions, which grows with their length.
    Word by word it is the entropy bonus of reinforcement learning: every word
    gets the credit of itself alone, and longer captions gain nothing.

    ```
    gradient of the entropy of word t, given those before
        = E[reward[t] * gradient of log p(word t)]
    ```

    Args:
        per_word: Boolean, whether every word has its own reward,
            `(B, S, T)`. Defaults to `False`.
        name: String. Defaults to `"surprisal"`.

    Example:

    >>> reward = tfcap.rewards.BLEU(4) + 0.01 * tfcap.rewards.Surprisal()
    >>> reward.terms
    ('bleu_4', 'surprisal')

    Reference:

    - Mnih et al., Asynchronous Methods for Deep Reinforcement Learning, ICML
      2016
    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, section 5.3, SLL-ME
    """

    reads_log_probs = True

    def __init__(self, per_word=False, name="surprisal"):
        self.per_word = per_word
        self.name = name

    def call(self, rollout, episode):
        log_probs = ops.stop_gradient(episode.log_probs(rollout))
        log_probs = ops.where(rollout.mask > 0, log_probs, 0.0)
        return -log_probs if self.per_word else -ops.sum(log_probs, axis=-1)
