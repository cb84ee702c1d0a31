"""Base class of the rewards."""

import keras

CREDITS = ("batch", "own")


class Reward:
    """Scores what was said. Rewards go up.

    To write one, override `call()`; say in `differentiable` whether gradients
    reach the words through it, and in `name` what it is logged as.

    Rewards are added and scaled as the papers write them,

    ```
    reward = CIDErD(document_frequencies) + 0.5 * BLEU(4)
    ```

    which makes a `tfcap.rewards.WeightedSum`. A weight may be a
    `keras.Variable`, which a callback can change during training; it then
    stands on the right, `BLEU(4) * weight`, since Keras claims what stands
    right of a variable of its own.

    Attributes:
        differentiable: Boolean.
        name: String.
        terms: Tuple of strings, names of the parts of which `measure()` tells
            beside the reward itself.
        compares_samples: Boolean, whether what one sample gets depends on the
            others that are scored beside it. `credited()` tells what a
            sample is worth to all of them.
        reads_log_probs: Boolean, whether it asks how likely the words are to
            the speaker. Such rewards are not for `MonteCarlo`.
    """

    differentiable = False
    name = "reward"
    terms = ()
    compares_samples = False
    reads_log_probs = False

    def call(self, rollout, episode):
        """Scores a rollout.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`, which holds the batch, the
                references and the other rollouts of this step.

        Returns:
            Float tensor of shape `(B, S)`, or `(B, S, T)` where credit is
            given to every word.
        """
        raise NotImplementedError

    def measure(self, rollout, episode):
        """Scores a rollout, and tells what to log of it.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            What `call()` returns, and a dict with a tensor of such a shape
            for each of `terms`, of which mean and standard deviation are
            logged.
        """
        return self(rollout, episode), {}

    def credited(self, rollout, episode):
        """Scores a rollout as `ScoreFunction` needs it.

        Where a reward compares samples, the score function of the expected
        mean reward weighs the words of a sample with the rewards of *all*
        samples, of which those that do not depend on it may be left out:

        ```
        credit[b, s] = reward[b, s] + sum over other samples (c, k) of
                       reward[c, k] - reward[c, k] without the sample (b, s)
        ```

        Its own reward alone is a biased estimate. This method returns it,
        which is right for a reward that does not compare samples; override
        it where one does.

        Args:
            rollout: `tfcap.decoding.Rollout`.
            episode: `tfcap.objectives.Episode`.

        Returns:
            Float tensor of the shape of the rewards, the credit of every
            sample; and the two that `measure()` returns.
        """
        rewards, terms = self.measure(rollout, episode)
        return rewards, rewards, terms

    def __call__(self, rollout, episode):
        return self.call(rollout, episode)

    def __add__(self, other):
        from tfcap.rewards.weighted_sum import WeightedSum

        if not isinstance(other, Reward):
            if callable(other):
                check_reward(other)
            return NotImplemented
        return WeightedSum([*_weighted(self), *_weighted(other)])

    def __radd__(self, other):
        # `sum()` starts from 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other):
        return self + -1.0 * other

    def __neg__(self):
        return -1.0 * self

    def __mul__(self, weight):
        from tfcap.rewards.weighted_sum import WeightedSum

        if isinstance(weight, Reward):
            return NotImplemented
        weighted = _weighted(self)
        weights = [weight, *(own for own, _ in weighted)]
        if any(isinstance(each, keras.Variable) for each in weights):
            return WeightedSum([(weight, self)])
        return WeightedSum([(own * weight, reward) for own, reward in weighted])

    __rmul__ = __mul__


def _weighted(reward):
    """Weights and rewards that a reward is the sum of."""
    return getattr(reward, "weighted", None) or [(1.0, reward)]


def check_credit(credit):
    """Refuses a name of no credit that a sample is given."""
    if credit not in CREDITS:
        raise ValueError(
            f"`credit` must be one of {CREDITS}. Received: credit={credit!r}."
        )


def check_reward(reward):
    """Refuses what is no reward, such as a plain function."""
    if not isinstance(reward, Reward):
        raise TypeError(
            "`reward` must be a `tfcap.rewards.Reward`. Received: "
            f"reward={reward!r}. Make one of a function of strings with "
            "`tfcap.rewards.HostScorer(function, vocabulary)`; of tensors, "
            "with a subclass that overrides `call()`."
        )
