"""Methods with discriminators and frozen retrievers."""

from collections.abc import Sequence
from typing import Any

from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_number
from tfcap.decoding import BeamSearch
from tfcap.decoding import GroundTruth
from tfcap.layers import PartialSamplingST
from tfcap.methods.cooperative import relaxed_feedback
from tfcap.methods.options import Options
from tfcap.methods.options import frozen
from tfcap.methods.options import takes
from tfcap.methods.options import with_people
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import MonteCarlo
from tfcap.objectives import Pathwise
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import ConstantReward
from tfcap.rewards import MatchProbability
from tfcap.rewards.text_rewards import as_reward
from tfcap.training import JointTraining

REWARDS = ("contrast", "cosine")
ESTIMATORS = ("reinforce", "psst", "teacher_forcing")


@takes(Options)
def g_gan(
    speaker: Any,
    evaluator: Any,
    *,
    num_continuations: int = 16,
    **options: Any,
) -> JointTraining:
    """Trains a speaker against an evaluator of captions: G-GAN.

    ```
    speaker loss = -sum_t (credit[t] - baseline[t]) * log p(word[t])
    evaluator loss = -(log r(human) + log(1 - r(sample))
                       + log(1 - r(human caption of another image)))
    ```

    with `r` the evaluator's probability that a caption is human and of the
    image, and `credit[t]` its mean over sampled continuations of the first
    `t` words. Train the speaker by maximum likelihood first, and the evaluator
    on that speaker's captions. There is no noise vector: words are sampled.
    The baseline, which the authors' code lacks, leaves the expected gradient
    unchanged.

    Args:
        evaluator: `keras.Model`, built, with `logits()`, `embed_images()` and
            `embed_texts()`, as in `tfcap.rewards.MatchProbability`.
        num_continuations: Integer, samples of every prefix; 16 in the paper,
            64 in the authors' code.
        **options: See `tfcap.methods`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"evaluator"`.

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
    given = Options.read(g_gan, speaker, options)
    reward = MatchProbability(evaluator)
    term = ScoreFunction(
        reward,
        given.sampled,
        PrefixBaseline(DecoderBaseline(reward, given.greedy)),
        normalize="token",
        credit=MonteCarlo(num_continuations),
    )
    judging = DiscriminatorLoss(evaluator, given.sampled)
    return given.training(term, {"evaluator": (evaluator, judging)})


@takes(Options)
def wtf_rl(
    speaker: Any,
    retriever: Any,
    discriminator: Any = None,
    *,
    beam_weight: float = 1.0,
    human_weight: float = 1.0,
    naturalness: Any = None,
    num_samples: int = 5,
    reward: str = "contrast",
    alpha: float = 0.94,
    reward_shift: float = 0.0,
    temperature: float = 0.01,
    combine: str = "mean",
    directions: tuple = ("image", "text"),
    neighbors: str | None = None,
    same: str | None = None,
    neighbor_same: str | None = None,
    beam_width: int = 5,
    no_repeat_ngram: int = 3,
    **options: Any,
) -> JointTraining:
    """Trains on beam search's and human captions for distinctiveness: WTF-RL.

    ```
    loss = -beam_weight * mean of reward(beam) * log p(beam)
           - human_weight * mean of reward(human) * log p(human)
           - mean over samples of (naturalness - mean of the other samples'
                                   naturalness) * log p(sample)
    reward = alpha * contrast + (1 - alpha) * discriminator + reward_shift
    ```

    The contrast is `tfcap.rewards.BidirectionalContrastive`: how much a
    caption and its image stand out among the images of the batch and its
    captions, from beam search, greedy search and people. The discriminator
    learns to distinguish human captions from beam search as the speaker
    changes. The released code runs with `beam_weight=2.0, human_weight=0.0`:
    the beam twice, and no human captions.

    The last line of the loss, and several retrievers, are this project's:
    with `naturalness=0.3 * CIDErD(...)` and four retrievers, recall of
    held-out listeners is equal at a higher CIDEr-D (PAPERS.md).

    Args:
        retriever: Object with `embed_images()` and `embed_texts()`, as in
            `tfcap.rewards.BidirectionalContrastive`; or a list of these, whose
            contrasts or cosines are averaged. The `trainable` of a
            `keras.Model` is set to `False`.
        discriminator: `keras.Model`, built, with `logits()` of embeddings by
            the first retriever, such as `tfcap.models.PairDiscriminator`, best
            trained on the speaker's captions before; or `None`.
        beam_weight: Float, of the speaker's own captions.
        human_weight: Float, of human captions.
        naturalness: `tfcap.rewards.Reward`, such as `0.3 * CIDErD(...)`, or a
            function of strings, of sampled captions; or `None`.
        num_samples: Integer, captions drawn of an image for `naturalness`.
        reward: `"contrast"`; or `"cosine"`, the similarity of caption and
            image minus that of the greedy caption, without the contrast's
            arguments.
        alpha: Float in `[0, 1]`, weight of the contrast; the discriminator
            has `1 - alpha`.
        reward_shift: Float, added to every reward: if most are negative,
            words are mostly unlearned.
        temperature: Float, of the contrast.
        combine: `"mean"` of both directions, as in the released code, or
            `"sum"`, as in the paper.
        directions: Tuple of `"image"` and `"text"`, the kind of the rivals.
        neighbors, same, neighbor_same: Strings, keys in the batch, see
            `tfcap.rewards.BidirectionalContrastive`.
        beam_width: Integer.
        no_repeat_ngram: Integer `n`: beam search repeats no n-gram of this
            size; 0 for no limit.
        **options: See `tfcap.methods`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and, if there is one,
        `"discriminator"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retriever = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), retriever(batch)
    >>> training = tfcap.methods.wtf_rl(speaker, retriever, alpha=1.0)
    >>> training.compile({"speaker": "adam"})

    Reference:

    - Chaffin et al., Distinctive Image Captioning: Leveraging Ground Truth
      Captions in CLIP Guided Reinforcement Learning, 2024, equations 1 and 3,
      "WTF-RL" of Table 1
    """
    given = Options.read(wtf_rl, speaker, options)
    check_choice(reward, "reward", REWARDS)
    contrast = {
        "temperature": temperature,
        "combine": combine,
        "directions": directions,
        "neighbors": neighbors,
        "same": same,
        "neighbor_same": neighbor_same,
    }
    if reward == "cosine":
        given.check_unread('reward="cosine"', **contrast)
    if naturalness is None:
        given.check_unread("naturalness=None", num_samples=num_samples)
    checked_number(alpha, "alpha", "in [0, 1]", lambda x: 0 <= x <= 1)
    retrievers = retriever if isinstance(retriever, list) else [retriever]
    frozen(*retrievers)
    human = GroundTruth()
    beam = BeamSearch(
        beam_width,
        no_repeat_ngram=no_repeat_ngram,
        num_samples=1,
        **given.allowed,
    )
    baseline = None
    if reward == "cosine":
        wanted = sum(CLIPScore(each, weight=1.0) for each in retrievers)
    else:
        texts = (beam, given.greedy, human)
        # Equation 3: a caption, searched or human, has its own reward.
        contrast["credit"] = "own"
        wanted = sum(
            BidirectionalContrastive(each, texts, **contrast)
            for each in retrievers
        )
    wanted = (alpha / len(retrievers)) * wanted
    if discriminator is not None:
        passes = MatchProbability(discriminator, retrievers[0])
        wanted = wanted + (1.0 - alpha) * passes
    if reward_shift:
        wanted = wanted + reward_shift * ConstantReward()
    if reward == "cosine":
        baseline = DecoderBaseline(wanted, given.greedy)
    terms = [
        weight * ScoreFunction(wanted, decoder, baseline, "token", name)
        for weight, decoder, name in (
            (beam_weight, beam, "said"),
            (human_weight, human, "human"),
        )
        if weight
    ]
    if not terms:
        raise ValueError(
            "`beam_weight` or `human_weight` must be above 0. Received: "
            f"beam_weight={beam_weight}, human_weight={human_weight}."
        )
    if naturalness is not None:
        terms.append(given.self_critical(naturalness, num_samples))
    learners = {}
    if discriminator is not None:
        loss = DiscriminatorLoss(
            discriminator, beam, mismatched=0.0, retriever=retrievers[0]
        )
        learners["discriminator"] = (discriminator, loss)
    return given.training(sum(terms), learners)


def wtf(
    speaker: Any, retriever: Any, discriminator: Any = None, **options: Any
) -> JointTraining:
    """Trains on human captions, weighted by distinctiveness: WTF.

    ```
    loss = -mean of reward(human) * log p(human)
    ```

    Args:
        retriever, discriminator, **options: As in `wtf_rl()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retriever = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), retriever(batch)
    >>> training = tfcap.methods.wtf(speaker, retriever, alpha=1.0)

    Reference:

    - Chaffin et al., 2024, section 3.1, "WTF" of Table 1
    """
    return wtf_rl(speaker, retriever, discriminator, beam_weight=0.0, **options)


def rl(
    speaker: Any, retriever: Any, discriminator: Any = None, **options: Any
) -> JointTraining:
    """Trains on beam search's captions alone, for distinctiveness: RL.

    ```
    loss = -mean of reward(beam) * log p(beam)
    ```

    With `directions=("text",)`, rivals are other captions alone. With
    `reward="cosine"`, it is self-critical training for the similarity of
    caption and image.

    Args:
        retriever, discriminator, **options: As in `wtf_rl()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retriever = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), retriever(batch)
    >>> training = tfcap.methods.rl(speaker, retriever, alpha=1.0)

    Reference:

    - Chaffin et al., 2024, section 4, "RL" of Table 1
    """
    return wtf_rl(
        speaker, retriever, discriminator, human_weight=0.0, **options
    )


@takes(Options)
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
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric and an ensemble of frozen retrievers.

    ```
    reward = naturalness + lambda_ * mean over retrievers of contrast
    loss = -mean over samples of
               (reward - mean of the other samples' rewards) * log p(sample)
           - human_weight * mean of log p(human)
    ```

    The contrast is `tfcap.rewards.BidirectionalContrastive`: how much a
    caption and its image stand out among the sampled captions of the other
    images of the batch, and among its images. A retriever that learns with the
    speaker co-adapts, and a frozen one has weaknesses that a speaker exploits;
    the mean of several rewards what all of them understand. On Flickr8k there
    was no significant difference between several and one.

    Args:
        retrievers: Sequence of retrievers as in `wtf_rl()`, best trained on
            human captions. The `trainable` of a `keras.Model` is set to
            `False`.
        lambda_: Float, at least 0, weight of the contrast, which is in units
            of a cosine.
        naturalness: `tfcap.rewards.Reward`, such as `CIDErD`, or a function
            of strings; or `None`, the contrast alone.
        estimator: `"reinforce"`; `"psst"`, which differentiates the contrast
            through words of `tfcap.layers.PartialSamplingST`, one sample an
            image, with REINFORCE for `naturalness`; or `"teacher_forcing"`
            without samples, which weights human captions by their contrast
            minus `threshold`, as `wtf()` does, without `naturalness`.
        num_samples: Integer `S`, captions drawn of an image.
        human_weight: Float, of the likelihood of human captions.
        threshold: Float, the contrast below which a human caption is
            unlearned, for the estimator `"teacher_forcing"` alone.
        rho: As in `psst()`, for the estimator `"psst"` alone.
        temperature: Float, of the contrast.
        directions: Tuple of `"image"` and `"text"`, the kind of the rivals.
        same: String, see `tfcap.rewards.BidirectionalContrastive`.
        **options: See `tfcap.methods`.

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

    Reference:

    - Chaffin et al., Distinctive Image Captioning, 2024, for the contrast
    - Luo, A Better Variant of Self-Critical Sequence Training, 2020, for the
      baseline
    - Coste et al., Reward Model Ensembles Help Mitigate Overoptimization,
      ICLR 2024, for the mean of several reward models. The combination is
      this project's.
    """
    given = Options.read(retriever_ensemble, speaker, options)
    check_choice(estimator, "estimator", ESTIMATORS)
    checked_number(lambda_, "lambda_", "at least 0", lambda x: x >= 0)
    unread = {} if estimator == "psst" else {"rho": rho}
    if estimator != "teacher_forcing":
        unread["threshold"] = threshold
    if estimator != "reinforce" and naturalness is None:
        unread["num_samples"] = num_samples
    given.check_unread(f'estimator="{estimator}"', **unread)
    if not isinstance(retrievers, Sequence) or not retrievers:
        raise TypeError(
            "`retrievers` must be a sequence of at least one network. "
            f"Received: retrievers={retrievers!r}. Pass a list, even for one "
            "network."
        )
    frozen(*retrievers)
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
        objective = given.self_critical(wanted, num_samples)
    elif estimator == "teacher_forcing":
        if reward is not None:
            raise ValueError(
                "`naturalness` must be None for "
                'estimator="teacher_forcing", which samples no captions. '
                f"Received: naturalness={naturalness!r}."
            )
        contrast = contrast - lambda_ * threshold * ConstantReward()
        objective = ScoreFunction(
            contrast, GroundTruth(), normalize="token", name="human"
        )
    else:
        samples = given.sample(
            PartialSamplingST(rho=rho, seed=given.seed),
            feedback=relaxed_feedback(speaker),
        )
        objective = Pathwise(contrast, samples, name="contrast")
        if reward is not None:
            objective += given.self_critical(reward, num_samples)
    return given.training(with_people(objective, human_weight))
