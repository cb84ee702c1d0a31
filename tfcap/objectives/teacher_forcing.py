"""Maximum likelihood."""

from tfcap.decoding import GroundTruth
from tfcap.objectives.score_function import ScoreFunction
from tfcap.rewards import ConstantReward


class TeacherForcing(ScoreFunction):
    """Maximum likelihood of the references, given their own beginnings.

    `ScoreFunction(ConstantReward(1.0), GroundTruth())`, logged as the negative
    log likelihood of a sequence.

    Args:
        normalize: `"sequence"`, `"token"` or, with a decoder that has a
            `max_length`, `"constant"`, as in `ScoreFunction`. Defaults to
            `"sequence"`.
        name: String. Defaults to `"teacher_forcing"`.
        decoder: `tfcap.decoding.Decoder` of the references, such as
            `tfcap.decoding.ScheduledSampling`; of `MixedPrefix`, the words
            that it gives count. Defaults to `GroundTruth()`.

    Example:

    >>> objective = 0.5 * tfcap.objectives.TeacherForcing()
    >>> objective.terms[0].weight
    0.5
    """

    def __init__(
        self, normalize="sequence", name="teacher_forcing", decoder=None
    ):
        super().__init__(
            ConstantReward(1.0),
            GroundTruth() if decoder is None else decoder,
            normalize=normalize,
            name=name,
        )
        self.statistics = ()

    def counted(self, rollout):
        if rollout.given is None:
            return rollout.mask
        return rollout.mask * rollout.given

    def per_sample_loss(self, episode):
        losses, _, _ = super().per_sample_loss(episode)
        return losses, losses, {}
