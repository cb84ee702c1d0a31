"""The reward of all samples as a baseline."""

from keras import ops

from tfcap.objectives.several_samples import check_several
from tfcap.objectives.several_samples import from_first
from tfcap.objectives.several_samples import present_samples
from tfcap.ops import masked_mean


class SampleMeanBaseline:
    """The mean reward of a row's samples, its own included.

    With `tfcap.rewards.PairwiseDiversity`, the mean distance of all pairs.
    Samples that are all alike have an advantage of exactly 0.

    A sample that counts in its own baseline makes the expected gradient
    smaller, and turns it nowhere else: it is `(S - 1) / S` of that without a
    baseline, and `(S - 2) / S` where a reward is the mean over the other
    samples of something symmetric, as `PairwiseDiversity` is, since both
    samples of a pair count. With `LeaveOneOutBaseline` it is the whole, and
    `(S - 2) / (S - 1)`.

    Example:

    >>> baseline = tfcap.objectives.SampleMeanBaseline()
    >>> print(baseline(np.array([[1.0, 2.0, 6.0]]), None).numpy())
    [[3.]]

    Reference:

    - Chen and Jin, Better Captioning with Sequence-Level Exploration, CVPR
      2020, equation 16
    """

    def __call__(self, rewards, episode):
        check_several(rewards, "SampleMeanBaseline")
        # From the first one on: of equal numbers, the mean is that number.
        present = present_samples(rewards, episode)
        first, above = from_first(rewards, present)
        return first + ops.expand_dims(masked_mean(above, present, axis=1), 1)
