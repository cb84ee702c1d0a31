"""A speaker that is to pass for people, against an evaluator."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import MonteCarlo
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import MatchProbability
from tfcap.training import JointTraining
from tfcap.training import Learner


def g_gan(
    speaker: Any,
    evaluator: Any,
    *,
    num_continuations: int = 16,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker against an evaluator that is not to be fooled.

    ```
    speaker loss = -sum_t (credit[t] - baseline[t]) * log p(word[t])
    evaluator loss = -(log r(human) + log(1 - r(sample))
                       + log(1 - r(human caption of another image)))
    ```

    with `r` the evaluator's probability that a caption is human, and of the
    image, and `credit[t]` its mean over sampled ends of the first `t` words.
    The speaker begins from maximum likelihood, and the evaluator from the
    captions of that speaker. No noise vector: what differs is drawn word by
    word. The authors' code has no baseline; this one keeps the expectation.

    Args:
        speaker: As that of `psst()`.
        evaluator: `keras.Model`, built, with `logits()`, `embed_images()` and
            `embed_texts()`, as that of `tfcap.rewards.MatchProbability`.
        num_continuations: Integer, sampled ends of every beginning. The paper
            has 16, the authors' code 64.
        max_length, suppress, seed, global_clipnorm, **options: As those of
            `psst()`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"evaluator"`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> evaluator = tfcap.models.CaptionEvaluator(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), evaluator(batch)
    >>> training = tfcap.methods.g_gan(speaker, evaluator, num_continuations=2)
    >>> training.compile({"speaker": "adam", "evaluator": "adam"})

    Reference:

    - Dai et al., Towards Diverse and Natural Image Descriptions via a
      Conditional GAN, ICCV 2017, sections 3.2 and 3.3
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "G-GAN"
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample()
    reward = MatchProbability(evaluator)
    term = ScoreFunction(
        reward,
        samples,
        PrefixBaseline(DecoderBaseline(reward, words.greedy)),
        normalize="token",
        credit=MonteCarlo(num_continuations),
    )
    judging = DiscriminatorLoss(evaluator, samples)
    learners = {
        "speaker": Learner(speaker, term, global_clipnorm),
        "evaluator": Learner(evaluator, judging, global_clipnorm),
    }
    return JointTraining(speaker, learners, **options)
