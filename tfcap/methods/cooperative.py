"""Methods for a speaker and a listener."""

from typing import Any

from tfcap._ops.arguments import check_choice
from tfcap.decoding import GroundTruth
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers import WordChannel
from tfcap.methods.options import HingeOptions
from tfcap.methods.options import frozen
from tfcap.methods.options import takes
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ExpectedEnding
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.objectives.score_function import ListenerLoss
from tfcap.training import JointTraining

#: Straight-through channels by name.
CHANNELS = {
    "multinomial": PartialSamplingST,
    "gumbel": GumbelSoftmaxST,
    "gumbel_rao": GumbelRao,
    "reinmax": ReinMax,
    "reinmax_rao": ReinMaxRao,
    "reinmax_cv": ReinMaxCV,
}
#: Estimators of gradients through words, by how captions end.
TERMINATIONS = {"sampled": Pathwise, "expected": ExpectedEnding}
ESTIMATORS = ("reinforce", "straight_through", "psst")


@takes(HingeOptions)
def psst(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
    rho: Any = 0.25,
    channel: str | WordChannel = "multinomial",
    temperature: Any = 1.0,
    termination: str = "sampled",
    **options: Any,
) -> JointTraining:
    """Trains a speaker and a listener jointly by partial sampling.

    ```
    loss = lambda_ * sum over the batch of hinge(listener(words))
           - (1 - lambda_) * mean over the batch of naturalness
    words[t] = p[t]                                with probability rho
    words[t] = one_hot(w) + p[t] - stop_gradient(p[t])   otherwise, w ~ p[t]
    ```

    Speaker and listener learn from one loss, whose gradient passes through the
    words. The speaker is fed the words as the listener reads them, or their
    ids if its attribute `reads_ids` is true. Train both on human captions
    first.

    Args:
        lambda_: Float in `[0, 1]`, weight of the listener's hinge loss,
            summed over the batch as in the paper.
        naturalness: `tfcap.rewards.Reward`, such as `CIDErD`, for
            self-critical training with one sample; or a
            `tfcap.objectives.Objective`. `None` if `lambda_` is 1.
        rho: Float in `[0, 1]`, probability of passing the whole distribution,
            or a schedule, a callable of the step such as a
            `keras.optimizers.schedules.LearningRateSchedule`. The released
            code names the complement, the share of sampled words. 0 is
            `straight_through()` with relaxed feedback, `None` that method, and
            1 passes distributions only.
        channel: `"multinomial"`; or `"gumbel"`, `"gumbel_rao"`, `"reinmax"`,
            `"reinmax_rao"`, `"reinmax_cv"` for partial sampling of these, see
            `tfcap.layers.GumbelSoftmaxST` and the others. Or such a layer,
            with its own `rho` and temperature.
        temperature: Float or schedule, of all channels except the first.
        termination: `"sampled"`, as in the paper, or `"expected"`, which adds
            the gradient of the decision to stop, see
            `tfcap.objectives.ExpectedEnding`. Since every further word helps
            the listener, fewer captions then had an end in our runs.
        **options: See `tfcap.methods`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"listener"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.psst(
    ...     speaker, listener, lambda_=0.01, naturalness=tfcap.rewards.BLEU(4)
    ... )
    >>> adam = keras.optimizers.Adam
    >>> training.compile({"speaker": adam(5e-4), "listener": adam(2e-4)})

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, equation 1 and section 5; "PSST Multinomial" and "PSST
      Gumbel" of its tables
    """
    given = HingeOptions.read(psst, speaker, options)
    judged = given.retrieval(listener)
    term = _through_words(given, judged, channel, rho, temperature, termination)
    objective = given.trade_off(lambda_, term, naturalness)
    return given.training(objective, {"listener": (listener, objective)})


@takes(psst, "rho")
def straight_through(
    speaker: Any, listener: Any, *, lambda_: float, **options: Any
) -> JointTraining:
    """Trains a speaker and a listener jointly, straight through words.

    ```
    loss = lambda_ * sum over the batch of hinge(listener(words))
           - (1 - lambda_) * mean over the batch of naturalness
    words[t] = one_hot(w) + p[t] - stop_gradient(p[t]),  w ~ p[t]
    ```

    with `p` the softmax, or its Gumbel-softmax relaxation. Both learn from one
    loss, through the words; the speaker is fed ids. To anneal, pass
    `temperature=ExponentialTemperature(1.0, rate=3e-5)`.

    Args:
        lambda_, **options: As in `psst()`, except `rho`; your own `channel`
            must have been made with `rho=0`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"listener"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.straight_through(
    ...     speaker, listener, lambda_=1.0, channel="gumbel", temperature=0.5
    ... )

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "ST Multinomial", "ST Gumbel" and "ST Gumbel
      Annealed"
    """
    return psst(speaker, listener, lambda_=lambda_, rho=None, **options)


@takes(HingeOptions)
def reinforce(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
    credit: str = "batch",
    **options: Any,
) -> JointTraining:
    """Trains a speaker and a listener by REINFORCE, in turns.

    ```
    speaker loss = -lambda_ * sum over the batch of
                       (reward(caption) - reward(human)) * log p(caption)
                   - (1 - lambda_) * mean over the batch of naturalness
    listener loss = -mean over the batch of reward(caption)
    ```

    with minus the listener's hinge loss as the reward of sampled captions.
    Batches train the speaker and the listener in turns.

    Args:
        credit: `"batch"`, the reward of a caption plus its effect on the
            others as their negative; `"own"`, its reward alone, as in the
            released code. See `tfcap.rewards.Retrieval`.
        lambda_, naturalness, **options: As in `psst()`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"listener"`.

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
    given = HingeOptions.read(reinforce, speaker, options)
    judged = given.retrieval(listener, learning=False, credit=credit)
    term = _reinforced(given, judged, GroundTruth())
    objective = given.trade_off(lambda_, term, naturalness)
    learns = ListenerLoss(given.retrieval(listener), given.sampled)
    learners = {
        "speaker": (speaker, objective, 2, 0),
        "listener": (listener, learns, 2, 1),
    }
    return given.training(None, learners)


@takes(HingeOptions)
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
    termination: str = "sampled",
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a frozen listener: Luo et al.

    ```
    loss = -lambda_ * sum over the batch of
               (reward(caption) - reward(greedy caption)) * log p(caption)
           - (1 - lambda_) * mean over the batch of naturalness
    ```

    with minus the listener's hinge loss as the reward of sampled captions, or
    differentiated through the words, by `estimator`.

    Args:
        listener: Object with `embed_images()` and `embed_texts()`, as in
            `tfcap.rewards.Retrieval`. The `trainable` of a `keras.Model` is
            set to `False`.
        estimator: `"reinforce"`, the method of Luo et al.; or
            `"straight_through"` or `"psst"`, the methods of these names with
            a fixed listener.
        channel, temperature, termination: As in `straight_through()`, not for
            `"reinforce"`.
        rho: As in `psst()`, for `"psst"` alone.
        credit: As in `reinforce()`, for `"reinforce"` or
            `termination="expected"`.
        distractors: As in `sr_pl()`.
        lambda_, naturalness, **options: As in `psst()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.frozen_listener(speaker, listener, lambda_=1.0)
    >>> listener.trainable
    False

    Reference:

    - Luo et al., Discriminability Objective for Training Descriptive
      Captions, CVPR 2018
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "Luo et al. 2018". The released code has the
      other two estimators.
    """
    given = HingeOptions.read(frozen_listener, speaker, options)
    check_choice(estimator, "estimator", ESTIMATORS)
    unread = {"credit": credit} if termination == "sampled" else {}
    if estimator == "straight_through":
        unread |= {"rho": rho}
    elif estimator == "reinforce":
        unread = {"channel": channel, "rho": rho, "temperature": temperature}
        unread |= {"termination": termination}
    given.check_unread(f'estimator="{estimator}"', **unread)
    frozen(listener)
    judged = given.retrieval(
        listener, learning=False, distractors=distractors, credit=credit
    )
    if estimator == "reinforce":
        term = _reinforced(given, judged, given.greedy)
    else:
        rho = rho if estimator == "psst" else None
        term = _through_words(
            given, judged, channel, rho, temperature, termination
        )
    return given.training(given.trade_off(lambda_, term, naturalness))


def sr_pl(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    distractors: str = "distractor_image",
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a listener, with unlabeled images as distractors.

    As `frozen_listener()` by REINFORCE, with additional images as negatives
    that no caption describes.

    Args:
        distractors: String, the key in the batch of these images, of the
            shape of the captioned ones.
        listener, lambda_, **options: As in `frozen_listener()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ...     "distractor_image": np.ones((2, 1, 3), "float32"),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.sr_pl(speaker, listener, lambda_=1.0)

    Reference:

    - Liu et al., Show, Tell and Discriminate: Image Captioning by
      Self-retrieval with Partially Labeled Data, ECCV 2018
    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "SR-PL"
    """
    return frozen_listener(
        speaker, listener, lambda_=lambda_, distractors=distractors, **options
    )


@takes(HingeOptions)
def frozen_speaker(
    speaker: Any, listener: Any, **options: Any
) -> JointTraining:
    """Trains a listener on the captions of a frozen speaker.

    ```
    loss = mean over the batch of hinge(listener(sampled captions))
    ```

    Args:
        speaker: As in `psst()`. Its `trainable` is set to `False`.
        listener, **options: As in `psst()`.

    Returns:
        `tfcap.training.JointTraining` of `"listener"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> listener = tfcap.models.RetrievalListener(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch), listener(batch)
    >>> training = tfcap.methods.frozen_speaker(speaker, listener)

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, Table 3
    """
    given = HingeOptions.read(frozen_speaker, speaker, options)
    frozen(speaker)
    samples = given.sampled
    samples.inference = True  # It stays as it is: without dropout.
    learns = ListenerLoss(given.retrieval(listener), samples)
    return given.training(None, {"listener": (listener, learns)})


def _reinforced(given, judged, decoder):
    """Returns REINFORCE of one sample, with a decoder's baseline, as a sum."""
    return ScoreFunction(
        judged,
        given.sampled,
        DecoderBaseline(judged, decoder),
        normalize="token",
        reduction="sum",
    )


def _through_words(given, judged, channel, rho, temperature, termination):
    """Returns a reward differentiated through a channel, as a sum.

    Args:
        rho: As in `psst()`; `None` passes words alone, and feeds ids.
    """
    feedback = "index"
    if rho is not None:
        feedback = relaxed_feedback(given.speaker)
    channel = _word_channel(given, channel, rho, temperature)
    return through_words(
        judged, given.sample(channel, feedback=feedback), termination, "sum"
    )


def through_words(reward, samples, termination="sampled", reduction="mean"):
    """Returns a reward differentiated through the words of a decoder."""
    check_choice(termination, "termination", TERMINATIONS)
    return TERMINATIONS[termination](reward, samples, reduction=reduction)


def relaxed_feedback(speaker: Any) -> str:
    """Returns the feedback of partial sampling, ids if a speaker reads ids."""
    return "index" if getattr(speaker, "reads_ids", False) else "relaxed"


def _word_channel(given, channel, rho, temperature):
    """Returns a straight-through channel by its name, or the caller's own."""
    if isinstance(channel, WordChannel):
        unread = {"temperature": temperature}
        unread |= {} if rho is None else {"rho": rho}
        given.check_unread("a channel of your own", **unread)
        if rho is None and not channel.discrete:
            raise ValueError(
                "`channel` must pass words alone for straight-through "
                f"training. Received: channel={channel.name!r}. Make it with "
                "rho=0, or use `tfcap.methods.psst`."
            )
        return channel
    check_choice(channel, "channel", CHANNELS)
    options = {"rho": 0.0 if rho is None else rho, "seed": given.seed}
    if channel == "multinomial":
        variant = 'channel="multinomial"'
        given.check_unread(variant, temperature=temperature)
        return PartialSamplingST(**options)
    return CHANNELS[channel](temperature=temperature, **options)
