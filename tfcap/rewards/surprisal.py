"""The surprisal of words under their own speaker, as a reward."""

from keras import ops

from tfcap.rewards.reward import Reward


class Surprisal(Reward):
    """Minus the log probability of a caption, in nats: an entropy bonus.

    ```
    E[reward] = entropy of the captions
    gradient of the entropy = E[reward * gradient of log p(caption)]
    ```

    so that `ScoreFunction(reward + 0.01 * Surprisal(), ...)` is trained for
    the reward and for the entropy of whole captions, of which long ones have
    more. Word by word it is the entropy bonus of reinforcement learning: every
    word has credit for itself alone, and nothing is gained by speaking on.

    ```
    gradient of the entropy of word t, given those before
        = E[reward[t] * gradient of log p(word t)]
    ```

    Args:
        per_word: Boolean, whether the reward is of every word, `(B, S, T)`.
            Defaults to `False`.
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
