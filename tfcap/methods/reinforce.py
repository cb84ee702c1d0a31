"""REINFORCE of a speaker and a listener, in turns."""

from typing import Any

from tfcap.decoding import GroundTruth
from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import joint_players
from tfcap.methods.parts import trade_off
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives.score_function import ListenerLoss
from tfcap.rewards import Retrieval
from tfcap.training import JointTraining


def reinforce(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
    credit: str = "batch",
    margin: float = 0.2,
    negatives: Any = "hardest",
    same: str | None = None,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Joint training of a speaker and a listener by REINFORCE, in turns.

    ```
    speaker loss = -lambda_ * sum over the batch of
                       (reward(caption) - reward(human)) * log p(caption)
                   - (1 - lambda_) * mean over the batch of naturalness
    listener loss = -mean over the batch of reward(caption)
    ```

    with minus the listener's hinge loss as the reward, of sampled captions.
    One batch is the speaker's, the next the listener's.

    Args:
        credit: `"batch"`, the reward of a caption and what it does to the
            others as a negative of theirs; `"own"`, its reward alone, as in
            the released code. See `tfcap.rewards.Retrieval`.
        speaker, listener, lambda_, naturalness, margin, negatives, same: As
            those of `psst()`.
        max_length, suppress, seed, global_clipnorm, **options: Likewise.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"listener"`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.reinforce(speaker, listener, lambda_=1.0)
    >>> training.playing(0), training.playing(1)
    (('speaker',), ('listener',))

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, equation 2 and section 6.2, "REINFORCE"
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sampled
    about = {"margin": margin, "negatives": negatives, "same": same}
    judged = Retrieval(listener, learning=False, credit=credit, **about)
    term = ScoreFunction(
        judged,
        samples,
        DecoderBaseline(judged, GroundTruth()),
        normalize="token",
        reduction="sum",
    )
    objective = trade_off(lambda_, term, naturalness, words)
    learns = ListenerLoss(Retrieval(listener, **about), samples)
    learners = joint_players(
        speaker, listener, objective, learns, global_clipnorm, turns=True
    )
    return JointTraining(speaker, learners, **options)
