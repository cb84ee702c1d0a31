"""REINFORCE."""

from keras import ops

from tfcap.objectives.estimator import Estimator
from tfcap.ops import mean_over_replicas
from tfcap.ops import sum_over_replicas

NORMALIZATIONS = ("sequence", "token")


class ScoreFunction(Estimator):
    """The score-function estimator, REINFORCE.

    ```
    advantage = stop_gradient(reward - baseline)
    loss = -sum_t advantage * log p(word_t)
    ```

    The reward is read by value only, so it may be anything that can be
    computed. With a constant reward on ground truth this is teacher forcing.

    Args:
        reward: `tfcap.rewards.Reward`.
        decoder: `tfcap.decoding.Decoder` of discrete words.
        baseline: Callable from `(rewards, episode)` to a tensor that broadcasts
            to the rewards, such as `GreedyBaseline`; or `None`.
        normalize: `"sequence"`: log probabilities are summed over the words
            of a sequence and averaged over sequences, as the papers write it;
            `"token"`: averaged over all words of the batch, as several
            released codes have it.
        name: String. Defaults to the reward's name.

    Example:

    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.Constant(),
    ...     tfcap.decoding.Sample(num_samples=5, max_length=16),
    ...     baseline=tfcap.objectives.LeaveOneOutBaseline(),
    ... )
    >>> objective.name
    'constant'

    Reference:

    - Williams, Simple Statistical Gradient-Following Algorithms for
      Connectionist Reinforcement Learning, 1992
    - Rennie et al., Self-critical Sequence Training, CVPR 2017
    """

    def __init__(
        self, reward, decoder, baseline=None, normalize="sequence", name=None
    ):
        if normalize not in NORMALIZATIONS:
            raise ValueError(
                f"`normalize` must be one of {NORMALIZATIONS}. Received: "
                f"normalize={normalize!r}."
            )
        super().__init__(name or reward.name, reward.terms)
        self.reward = reward
        self.decoder = decoder
        self.baseline = baseline
        self.normalize = normalize

    def parts(self):
        channel = getattr(self.decoder, "channel", None)
        return () if channel is None else (channel,)

    def values(self, episode):
        rollout = episode.rollout(self.decoder)
        if not rollout.discrete:
            raise ValueError(
                "`decoder` must emit discrete words for ScoreFunction: a "
                "distribution has no log probability. Received: "
                f"decoder={type(self.decoder).__name__} with "
                f"{type(self.decoder.channel).__name__}. Use Sample with "
                "Categorical, or Pathwise with a differentiable reward."
            )
        rewards, terms = self.reward.measure(rollout.stop_gradient(), episode)
        logs = {"": rewards, **terms}
        logs = {key: self._per_sequence(x) for key, x in logs.items()}
        advantage = rewards
        if self.baseline is not None:
            baseline = self.baseline(rewards, episode)
            advantage = rewards - baseline
            logs["advantage"] = self._per_sequence(advantage)
        if len(advantage.shape) == 2:
            advantage = advantage[..., None]
        log_probs = episode.log_probs(rollout)
        advantage = ops.stop_gradient(ops.cast(advantage, log_probs.dtype))
        losses = -ops.sum(advantage * log_probs * rollout.mask, axis=-1)
        if self.normalize == "token":
            losses = losses / self._mean_length(rollout, episode)
        return losses, logs

    def _per_sequence(self, rewards):
        if len(rewards.shape) == 3:
            return ops.mean(rewards, axis=-1)
        return rewards

    def _mean_length(self, rollout, episode):
        """Words per sequence over the global batch."""
        lengths = ops.sum(rollout.mask, axis=-1)
        present = ops.broadcast_to(episode.present[:, None], ops.shape(lengths))
        mean = sum_over_replicas(mean_over_replicas(lengths, present))
        return ops.maximum(ops.stop_gradient(mean), 1.0)
