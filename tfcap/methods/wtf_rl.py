"""Distinctive captions: a retriever's contrast, and a discriminator."""

from typing import Any

from tfcap._ops.arguments import checked_number
from tfcap.decoding import BeamSearch
from tfcap.decoding import GroundTruth
from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import check_choice
from tfcap.methods.parts import check_unread
from tfcap.methods.parts import frozen_embedders
from tfcap.methods.parts import self_critical_term
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import ScoreFunction
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import ConstantReward
from tfcap.rewards import MatchProbability
from tfcap.training import JointTraining
from tfcap.training import Learner

REWARDS = ("contrast", "cosine")


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
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker on its best captions and on people's, by distinction.

    ```
    loss = -beam_weight * mean of reward(beam) * log p(beam)
           - human_weight * mean of reward(human) * log p(human)
           - mean over samples of (naturalness - mean of the other samples'
                                   naturalness) * log p(sample)
    reward = alpha * contrast + (1 - alpha) * discriminator + reward_shift
    ```

    The contrast is `tfcap.rewards.BidirectionalContrastive`: how far a caption
    and its image stand out among the captions of the batch, searched, greedy
    and human, and among its images. The discriminator learns to tell people
    from beam search as the speaker changes. The released code runs with
    `beam_weight=2.0, human_weight=0.0`: the beam twice, and nobody's caption.

    The last line of the loss, and several retrievers, are this project's:
    with `naturalness=0.3 * CIDErD(...)` and four retrievers, listeners that
    never met the speaker understand greedy captions as well, at more CIDEr-D
    (PAPERS.md).

    Args:
        speaker: As that of `psst()`.
        retriever: Object with `embed_images()` and `embed_texts()`, as that of
            `tfcap.rewards.BidirectionalContrastive`, or a pair of such
            functions of `(images)` and `(words, mask)`; or a list of those,
            whose contrasts are averaged, or cosines. The `trainable` of a
            `keras.Model` is set to `False`.
        discriminator: `keras.Model`, built, with `logits()` of embeddings by
            the first retriever, as `tfcap.models.PairDiscriminator`, best
            trained on the captions of the speaker before; or `None`, no such
            reward.
        beam_weight: Float, of the speaker's own captions.
        human_weight: Float, of people's.
        naturalness: `tfcap.rewards.Reward`, such as `0.3 * CIDErD(...)`, or a
            function of strings, of captions that are drawn; or `None`.
        num_samples: Integer, captions drawn of an image for `naturalness`.
        reward: `"contrast"`; or `"cosine"`, the similarity of caption and
            image, above that of the greedy caption, which takes none of the
            contrast's arguments.
        alpha: Float in `[0, 1]`, weight of the contrast, one minus that of
            the discriminator.
        reward_shift: Float, added to every reward: where most are negative,
            words are mostly unlearned.
        temperature: Float, of the contrast.
        combine: `"mean"` of both directions, as in the released code, or
            `"sum"`, as in the paper.
        directions: Tuple of `"image"` and `"text"`, what rivals are looked
            for among.
        neighbors, same, neighbor_same: Strings, keys in the batch, see
            `tfcap.rewards.BidirectionalContrastive`.
        beam_width: Integer.
        no_repeat_ngram: Integer, size of the n-grams that a searched caption
            says once; 0 for any.
        max_length, suppress, seed, global_clipnorm, **options: As those of
            `psst()`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and, if
        there is one, `"discriminator"`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

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
    check_speaker(speaker)
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
        check_unread(wtf_rl, 'reward="cosine"', **contrast)
    if naturalness is None:
        check_unread(wtf_rl, "naturalness=None", num_samples=num_samples)
    checked_number(alpha, "alpha", "in [0, 1]", lambda x: 0 <= x <= 1)
    retrievers = _retrievers(retriever)
    words = WordLimits(max_length, suppress, seed)
    greedy, human = words.greedy, GroundTruth()
    beam = BeamSearch(
        beam_width,
        no_repeat_ngram=no_repeat_ngram,
        num_samples=1,
        **words.allowed,
    )
    if reward == "cosine":
        wanted = [CLIPScore(each, weight=1.0) for each in retrievers]
    else:
        texts = (beam, greedy, human)
        wanted = [_contrast(each, texts, contrast) for each in retrievers]
    wanted = _judged(wanted, discriminator, retrievers, alpha, reward_shift)
    baseline = DecoderBaseline(wanted, greedy) if reward == "cosine" else None

    def term(decoder, name):
        return ScoreFunction(
            wanted, decoder, baseline, normalize="token", name=name
        )

    terms = [
        weight * term(decoder, name)
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
        terms.append(self_critical_term(naturalness, words, num_samples))
    learners = {"speaker": Learner(speaker, sum(terms), global_clipnorm)}
    if discriminator is not None:
        loss = DiscriminatorLoss(
            discriminator, beam, mismatched=0.0, retriever=retrievers[0]
        )
        learners["discriminator"] = Learner(
            discriminator, loss, global_clipnorm
        )
    return JointTraining(speaker, learners, **options)


def wtf(
    speaker: Any, retriever: Any, discriminator: Any = None, **options: Any
) -> JointTraining:
    """Weighted teacher forcing: people's captions alone, by distinction.

    ```
    loss = -mean of reward(human) * log p(human)
    ```

    Args:
        speaker, retriever, discriminator, **options: As those of `wtf_rl()`.

    Returns:
        `tfcap.training.JointTraining`, as `wtf_rl()`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retriever = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), retriever(batch)
    >>> training = tfcap.methods.wtf(speaker, retriever, alpha=1.0)
    >>> training.compile("adam")

    Reference:

    - Chaffin et al., 2024, section 3.1, "WTF" of Table 1
    """
    return wtf_rl(speaker, retriever, discriminator, beam_weight=0.0, **options)


def rl(
    speaker: Any, retriever: Any, discriminator: Any = None, **options: Any
) -> JointTraining:
    """Beam search's captions alone, by distinction.

    ```
    loss = -mean of reward(beam) * log p(beam)
    ```

    With `directions=("text",)`, among other captions alone, not images. With
    `reward="cosine"`, self-critical for the similarity of caption and image.

    Args:
        speaker, retriever, discriminator, **options: As those of `wtf_rl()`.

    Returns:
        `tfcap.training.JointTraining`, as `wtf_rl()`.

    Raises:
        TypeError: If a network is of another kind.
        ValueError: If a number is out of range, or a network not built.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> retriever = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), retriever(batch)
    >>> training = tfcap.methods.rl(speaker, retriever, alpha=1.0)
    >>> training.compile("adam")

    Reference:

    - Chaffin et al., 2024, section 4, "RL" of Table 1
    """
    return wtf_rl(
        speaker, retriever, discriminator, human_weight=0.0, **options
    )


def _retrievers(given):
    """One or several, frozen, which embed images and texts."""
    several = given if isinstance(given, list) else [given]
    if not several:
        raise ValueError(
            "`retriever` must be one, or a list of at least one. Received: "
            "retriever=[]."
        )
    return frozen_embedders(several)


def _contrast(retriever, texts, about):
    # Equation 3: a caption, searched or human, has its own reward.
    return BidirectionalContrastive(retriever, texts, credit="own", **about)


def _judged(wanted, discriminator, retrievers, alpha, shift):
    """The reward of equation 1, of the similarities by retrievers."""
    wanted = (alpha / len(retrievers)) * sum(wanted)
    if discriminator is not None:
        human = MatchProbability(discriminator, retrievers[0])
        wanted = wanted + (1.0 - alpha) * human
    return wanted + shift * ConstantReward() if shift else wanted
