"""Divergence of a speaker from a reference speaker, as a reward."""

from keras import ops

from tfcap.rewards.reward import Reward


class KLPenalty(Reward):
    """Log probability under a reference, less that under the speaker, in nats.

    ```
    E[reward] = -KL(speaker || reference)
    ```

    over whole captions, and the score-function estimator of it is without
    bias. Keeps a speaker that is trained for a reward from leaving the
    language that it has learned from people.

    Args:
        reference: `tfcap.decoding.Speaker` of the same vocabulary, which stays
            as it is, such as a copy of the speaker before training.
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

    def __init__(self, reference, name="kl_penalty"):
        for method in ("begin", "log_probs"):
            if not hasattr(reference, method):
                raise TypeError(
                    "`reference` must be a `tfcap.decoding.Speaker`. Received: "
                    f"reference={reference!r}."
                )
        self.reference = reference
        self.name = name

    def call(self, rollout, episode):
        state = self.reference.begin(episode.inputs, training=False)
        familiar = episode.scores_by(self.reference, state, rollout.tokens)
        ratio = familiar - episode.log_probs(rollout)
        return ops.sum(ops.stop_gradient(ratio) * rollout.mask, axis=-1)
