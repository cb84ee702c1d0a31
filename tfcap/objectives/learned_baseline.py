"""A value network as a baseline."""

import keras
from keras import ops

from tfcap._ops import masked_mean
from tfcap._ops.arguments import checked_integer
from tfcap.objectives.baseline import Baseline


class LearnedBaseline(Baseline):
    """A network that expects the reward of a state, word by word.

    ```
    baseline[t] = network(stop_gradient(state[t]))
    loss = mean_t (reward[t] - baseline[t]) ** 2
    ```

    with the state in which word `t` is drawn, which does not know it, so that
    the expected gradient is what it was. `ScoreFunction` adds the loss to its
    own. The speaker does not feel it.

    As a second learner it has an optimizer of its own, and may be fitted alone
    at first, while the speaker speaks and does not learn:

    ```
    adam = Adam(1e-3)
    fitted = Learner(baseline.network, objective)
    alone = JointTraining(speaker, {"baseline": fitted})
    alone.compile(adam)
    alone.fit(batches)
    learner = Learner(speaker, objective)
    both = JointTraining(speaker, {"speaker": learner, "baseline": fitted})
    both.compile({"speaker": Adam(1e-5), "baseline": adam})
    both.fit(batches)
    ```

    Learners that share one `objective` share its loss.

    Args:
        decoder: `tfcap.decoding.Sample` with `keep_states=True`, that of the
            estimator.
        state_units: Integer, size of what `tfcap.decoding.state_vector()`
            makes of the speaker's state.
        units: Tuple of integers, sizes of hidden layers. Defaults to `()`, a
            linear regression.
        weight: Float, of the loss. Defaults to `1.0`.

    Example:

    >>> decoder = tfcap.decoding.Sample(num_samples=2, keep_states=True)
    >>> objective = tfcap.objectives.ScoreFunction(
    ...     tfcap.rewards.BLEU(4),
    ...     decoder,
    ...     baseline=tfcap.objectives.LearnedBaseline(decoder, 64, (32,)),
    ... )
    >>> len(objective.layers())
    2

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, section 3. The paper sums over the words of a
      sequence: there, long ones weigh more, and the loss is larger.
    - Ranzato et al., Sequence Level Training with Recurrent Neural Networks,
      ICLR 2016, section 3.2.1 (a linear regression)
    """

    def __init__(self, decoder, state_units, units=(), weight=1.0):
        if not getattr(decoder, "keep_states", False):
            raise ValueError(
                "`decoder` must keep the states that LearnedBaseline reads. "
                f"Received: decoder={decoder!r}. Give `keep_states=True`, and "
                "the estimator the same decoder object."
            )
        self.decoder = decoder
        self.weight = weight
        state_units = checked_integer(state_units, "state_units")
        units = [checked_integer(n, "units") for n in units]
        hidden = [keras.layers.Dense(n, activation="relu") for n in units]
        self.network = keras.Sequential(
            [keras.Input((state_units,)), *hidden, keras.layers.Dense(1)],
            name="learned_baseline",
        )

    @property
    def layers(self):
        return (self.network,)

    def check(self, decoder, credit):
        if decoder is not self.decoder:
            raise ValueError(
                "`decoder` of LearnedBaseline must be the estimator's. "
                f"Received: decoder={self.decoder}, and {decoder}. Give both "
                "the same object."
            )

    def __call__(self, rewards, episode):
        states = episode.rollout(self.decoder).states
        expected = self.network.input_shape[-1]
        if states.shape[-1] not in (None, expected):
            raise ValueError(
                "`state_units` must be the size of the speaker's states. "
                f"Received: state_units={expected} for states of shape "
                f"{tuple(states.shape)}."
            )
        rows = ops.reshape(ops.stop_gradient(states), (-1, expected))
        values = ops.cast(self.network(rows), "float32")
        return ops.reshape(values, ops.shape(states)[:-1])

    def losses(self, rewards, values, mask):
        """Squared errors, to be added to the loss of every sequence.

        Args:
            rewards: Float tensor of shape `(B, S)` or `(B, S, T)`.
            values: Float tensor of shape `(B, S, T)`, of `__call__()`.
            mask: Float tensor of shape `(B, S, T)`.

        Returns:
            Float tensor of shape `(B, S)`, means over words.
        """
        if len(rewards.shape) == 2:
            rewards = rewards[..., None]
        rewards = ops.stop_gradient(ops.cast(rewards, "float32"))
        errors = ops.square(rewards - values)
        return self.weight * masked_mean(errors, mask, axis=-1)
