"""The reward of the other samples as a baseline."""

from keras import ops

from tfcap.objectives.several_samples import check_several


class LeaveOneOutBaseline:
    """The mean reward of a row's other samples.

    It leaves the expected gradient as it is where the reward of the others
    does not depend on the sample, and so not of a reward that compares the
    samples of one row with each other, nor of one whose hardest negative
    another sample of the row may be.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "LeaveOneOutBaseline")
        # From the first one on: of equal numbers, the mean is that number.
        first = rewards[:, :1]
        above = rewards - first
        total = ops.sum(above, axis=1, keepdims=True)
        return first + (total - above) / (rewards.shape[1] - 1)
