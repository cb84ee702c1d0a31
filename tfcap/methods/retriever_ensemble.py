"""CIDEr-D, and the contrast of several frozen retrievers, as one reward."""

from collections.abc import Sequence
from typing import Any

from tfcap._ops.arguments import checked_number
from tfcap.decoding import GroundTruth
from tfcap.decoding.speaker import check_speaker
from tfcap.layers import PartialSamplingST
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import check_choice
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import frozen_embedders
from tfcap.methods.parts import relaxed_feedback
from tfcap.methods.parts import self_critical_term
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import ConstantReward
from tfcap.rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner

ESTIMATORS = ("reinforce", "psst", "teacher_forcing")


def retriever_ensemble(
    speaker: Any,
    retrievers: Sequence,
    *,
    lambda_: float,
    naturalness: Any = None,
    estimator: str = "reinforce",
    num_samples: int = 5,
    human_weight: float = 0.0,
    threshold: float = 0.0,
    rho: Any = 0.25,
    temperature: float = 0.01,
    directions: tuple = ("image", "text"),
    same: str | None = None,
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric and an ensemble of frozen retrievers.

    ```
    reward = naturalness + lambda_ * mean over retrievers of contrast
    loss = -mean over samples of
               (reward - mean of the other samples' rewards) * log p(sample)
           - human_weight * mean of log p(human)
    ```

    The contrast is `tfcap.rewards.BidirectionalContrastive`: how far a caption
    and its image stand out among the captions that are sampled of the other
    images of the batch, and among its images. A retriever that learns with the
    speaker comes to understand what nobody else does, and one that is frozen
    has weaknesses of its own; the mean of several asks for what all of them
    understand. That several are better than one was not seen on Flickr8k.

    Args:
        speaker: As that of `psst()`.
        retrievers: Sequence of objects as the `retriever` of `wtf_rl()`, best
            trained on human captions. The `trainable` of a `keras.Model` is
            set to `False`.
        lambda_: Float, at least 0, weight of the contrast, which is in units
            of a cosine.
        naturalness: `tfcap.rewards.Reward`, such as `CIDErD`, or a function
            of strings; or `None`, the contrast alone.
        estimator: `"reinforce"`; `"psst"`, which differentiates the contrast
            through words of `tfcap.layers.PartialSamplingST`, one sample an
            image, beside the other reward's REINFORCE; or
            `"teacher_forcing"`, for which nothing is drawn: human captions
            are weighed with their own contrast less `threshold`, as by
            `wtf()`, and `naturalness` must be `None`.
        num_samples: Integer `S`, captions drawn of an image.
        human_weight: Float, of the likelihood of human captions.
        threshold: Float, the contrast below which a human caption is
            unlearned, for the estimator `"teacher_forcing"` alone.
        rho: As that of `psst()`, for the estimator `"psst"` alone.
        temperature: Float, of the contrast.
        directions: Tuple of `"image"` and `"text"`, what rivals are looked
            for among.
        same: String, see `tfcap.rewards.BidirectionalContrastive`.
        max_length, suppress, seed, global_clipnorm: As those of `psst()`.
        **options: Further arguments of `tfcap.training.JointTraining`.

    Returns:
        `tfcap.training.JointTraining`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, a network not built, or there
            is no retriever.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retrievers = [
    ...     tfcap.models.RetrievalListener(50, units=4, pooling=pooling)
    ...     for pooling in ("last", "mean")
    ... ]
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), *(retriever(batch) for retriever in retrievers)
    >>> training = tfcap.methods.retriever_ensemble(
    ...     speaker, retrievers, lambda_=3.0, naturalness=tfcap.rewards.BLEU(4)
    ... )
    >>> training.compile("adam")

    Reference:

    - Chaffin et al., Distinctive Image Captioning, 2024, for the contrast
    - Luo, A Better Variant of Self-Critical Sequence Training, 2020, for the
      baseline
    - Coste et al., Reward Model Ensembles Help Mitigate Overoptimization,
      ICLR 2024, for the mean of several reward models. The combination is
      this project's.
    """
    check_speaker(speaker)
    check_choice(estimator, "estimator", ESTIMATORS)
    checked_number(lambda_, "lambda_", "at least 0", lambda x: x >= 0)
    unread = {} if estimator == "psst" else {"rho": rho}
    if estimator != "teacher_forcing":
        unread["threshold"] = threshold
    if estimator != "reinforce" and naturalness is None:
        unread["num_samples"] = num_samples
    check_unread(retriever_ensemble, f'estimator="{estimator}"', **unread)
    if not isinstance(retrievers, Sequence):
        raise TypeError(
            "`retrievers` must be a sequence of networks. Received: "
            f"retrievers of type {type(retrievers).__name__}. Give a list, "
            "of one network, too."
        )
    if not retrievers:
        raise ValueError(
            "`retrievers` must hold at least one. Received: retrievers=[]. "
            "Train a `tfcap.models.RetrievalListener` on human captions."
        )
    retrievers = frozen_embedders(retrievers)
    words = WordLimits(max_length, suppress, seed)
    about = {"same": same, "temperature": temperature, "directions": directions}
    # A caption is not to differ from the others of its image.
    about["siblings"] = False
    contrast = sum(
        (lambda_ / len(retrievers)) * BidirectionalContrastive(each, **about)
        for each in retrievers
    )
    reward = None if naturalness is None else as_reward(naturalness)
    if estimator == "reinforce":
        wanted = contrast if reward is None else reward + contrast
        objective = self_critical_term(wanted, words, num_samples)
    elif estimator == "teacher_forcing":
        if reward is not None:
            raise ValueError(
                "`naturalness` must be None for "
                'estimator="teacher_forcing", whose captions are people\'s. '
                f"Received: naturalness={naturalness!r}."
            )
        contrast = contrast - lambda_ * threshold * ConstantReward()
        objective = ScoreFunction(
            contrast, GroundTruth(), normalize="token", name="human"
        )
    else:
        samples = words.sample(
            PartialSamplingST(rho=rho, seed=seed),
            feedback=relaxed_feedback(speaker),
        )
        objective = Pathwise(contrast, samples, name="contrast")
        if reward is not None:
            objective += self_critical_term(reward, words, num_samples)
    if human_weight:
        objective += human_weight * TeacherForcing("token")
    learner = Learner(speaker, objective, global_clipnorm)
    return JointTraining(speaker, {"speaker": learner}, **options)
