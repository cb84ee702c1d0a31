"""A speaker that learns to be understood by a listener that stays."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.layers import WordChannel
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import check_choice
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import embedder
from tfcap.methods.parts import frozen
from tfcap.methods.parts import relaxed_feedback
from tfcap.methods.parts import through_words
from tfcap.methods.parts import trade_off
from tfcap.methods.parts import word_channel
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import Retrieval
from tfcap.training import JointTraining
from tfcap.training import Learner

ESTIMATORS = ("reinforce", "straight_through", "psst")


def frozen_listener(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
    estimator: str = "reinforce",
    channel: str | WordChannel = "multinomial",
    rho: Any = 0.25,
    temperature: Any = 1.0,
    credit: str = "batch",
    distractors: str | None = None,
    margin: float = 0.2,
    negatives: Any = "hardest",
    same: str | None = None,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    termination: str = "sampled",
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a listener that only ever read people.

    ```
    loss = -lambda_ * sum over the batch of
               (reward(caption) - reward(greedy caption)) * log p(caption)
           - (1 - lambda_) * mean over the batch of naturalness
    ```

    with minus the listener's hinge loss as the reward, of sampled captions;
    or through the words, where `estimator` says so.

    Args:
        listener: Object with `embed_images()` and `embed_texts()`, as that of
            `tfcap.rewards.Retrieval`, or a pair of such functions of
            `(images)` and `(words, mask)`. The `trainable` of a `keras.Model`
            is set to `False`.
        estimator: `"reinforce"`, the method of Luo et al.; or
            `"straight_through"` or `"psst"`, the methods of these names with
            a listener that stays.
        channel, temperature, termination: As those of `straight_through()`,
            not for `"reinforce"`.
        rho: As that of `psst()`, for `"psst"` alone.
        credit: As that of `reinforce()`, for `"reinforce"` or
            `termination="expected"`.
        distractors: As that of `sr_pl()`.
        speaker, lambda_, naturalness, margin, negatives, same: As those of
            `psst()`.
        max_length, suppress, seed, global_clipnorm: Likewise.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`.

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
    >>> training = tfcap.methods.frozen_listener(speaker, listener, lambda_=1.0)
    >>> training.compile("adam")
    >>> listener.trainable
    False

    Reference:

    - Luo et al., Discriminability Objective for Training Descriptive
      Captions, CVPR 2018
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "Luo et al. 2018". The released code has the
      other two estimators.
    """
    check_speaker(speaker)
    check_choice(estimator, "estimator", ESTIMATORS)
    unread = {"credit": credit} if termination == "sampled" else {}
    if estimator == "straight_through":
        unread |= {"rho": rho}
    elif estimator == "reinforce":
        unread = {"channel": channel, "rho": rho, "temperature": temperature}
        unread |= {"termination": termination}
    check_unread(frozen_listener, f'estimator="{estimator}"', **unread)
    words, listener = WordLimits(max_length, suppress, seed), embedder(listener)
    judged = Retrieval(
        listener,
        margin,
        negatives,
        learning=False,
        distractors=distractors,
        same=same,
        credit=credit,
    )
    if estimator == "reinforce":
        term = ScoreFunction(
            judged,
            words.sampled,
            DecoderBaseline(judged, words.greedy),
            normalize="token",
            reduction="sum",
        )
    else:
        partial = estimator == "psst"
        samples = words.sample(
            word_channel(
                frozen_listener,
                channel,
                seed,
                rho if partial else None,
                temperature,
            ),
            feedback=relaxed_feedback(speaker) if partial else "index",
        )
        term = through_words(judged, samples, termination, "sum")
    frozen(listener)
    objective = trade_off(lambda_, term, naturalness, words)
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)
