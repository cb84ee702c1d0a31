"""The reward of the other samples as a baseline."""

from keras import ops

from tfcap.objectives.several_samples import check_several
from tfcap.objectives.several_samples import from_first
from tfcap.objectives.several_samples import present_samples


class LeaveOneOutBaseline:
    """The mean reward of a row's other samples.

    It leaves the expected gradient as it is where the reward of the others
    does not depend on the sample, and so not of a reward that compares the
    samples of one row with each other, nor of one whose hardest negative
    another sample of the row may be.

    Of references, those that are present. One that is alone in its row has
    nobody to be compared with: its baseline is its own reward, and it counts
    for nothing.

    Example:

    >>> baseline = tfcap.objectives.LeaveOneOutBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[4.  3.5 1.5]]

    Reference:

    - Kool et al., Buy 4 REINFORCE Samples, Get a Baseline for Free!, 2019
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "LeaveOneOutBaseline")
        present = present_samples(rewards, episode)
        # From the first one on: of equal numbers, the mean is that number.
        first, above = from_first(rewards, present)
        total = ops.sum(above, axis=1, keepdims=True)
        count = ops.sum(ops.cast(present, above.dtype), axis=1, keepdims=True)
        return first + (total - above) / ops.maximum(count - 1, 1)
