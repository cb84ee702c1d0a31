"""The reward of the other samples as a baseline."""

from keras import ops


class LeaveOneOutBaseline:
    """The mean reward of a row's other samples.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    """

    def __call__(self, rewards, episode):
        samples = rewards.shape[1]
        if samples < 2:
            raise ValueError(
                "LeaveOneOutBaseline needs at least 2 samples of each row. "
                f"Received: rewards of shape {tuple(rewards.shape)}. Set "
                "`num_samples` of the decoder."
            )
        total = ops.sum(rewards, axis=1, keepdims=True)
        return (total - rewards) / (samples - 1)
