"""Partial-sampling straight-through."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.layers import WordChannel
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import joint_players
from tfcap.methods.parts import relaxed_feedback
from tfcap.methods.parts import through_words
from tfcap.methods.parts import trade_off
from tfcap.methods.parts import word_channel
from tfcap.rewards import Retrieval
from tfcap.training import JointTraining


def psst(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
    rho: Any = 0.25,
    channel: str | WordChannel = "multinomial",
    temperature: Any = 1.0,
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
    """Joint training of a speaker and a listener by partial sampling.

    ```
    loss = lambda_ * sum over the batch of hinge(listener(words))
           - (1 - lambda_) * mean over the batch of naturalness
    words[t] = p[t]                                with probability rho
    words[t] = one_hot(w) + p[t] - stop_gradient(p[t])   otherwise, w ~ p[t]
    ```

    Speaker and listener learn from one loss, whose gradient passes through the
    words. The speaker reads the words as the listener does, or their ids where
    it says `reads_ids`. A listener learns
    from what it reads alone: train it on human captions first, and the
    speaker, too.

    Args:
        speaker: `tfcap.decoding.Speaker` that is a `keras.Model`, built.
        listener: `keras.Model`, built, with `embed_images()` and
            `embed_texts()`, as that of `tfcap.rewards.Retrieval`.
        lambda_: Float in `[0, 1]`, weight of the listener's hinge loss,
            summed over the batch as in the paper.
        naturalness: `tfcap.rewards.Reward`, such as `CIDErD`, by which one
            sampled caption is reinforced above the greedy one; or a
            `tfcap.objectives.Objective`. `None` where `lambda_` is 1.
        rho: Float in `[0, 1]`, probability of passing the whole distribution,
            or a schedule, a callable of the step such as a
            `keras.optimizers.schedules.LearningRateSchedule`. The released
            code names the complement, the share of sampled words. 0 is
            `straight_through()` with relaxed feedback, 1 passes distributions
            only. Defaults to `0.25`.
        channel: `"multinomial"`; or `"gumbel"`, `"gumbel_rao"`, `"reinmax"`,
            `"reinmax_rao"`, `"reinmax_cv"` for partial sampling of these, see
            `tfcap.layers.GumbelSoftmaxST` and so on. Or such a layer, with a
            `rho` and a temperature of its own.
        temperature: Float or schedule, of all channels but the first.
        margin: Float, of the hinge loss.
        negatives: `"hardest"` or `"sum"`, see `tfcap.rewards.Retrieval`.
        same: String, see `tfcap.rewards.Retrieval`.
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never said, such as the
            unknown word's.
        seed: Integer, of what is sampled.
        termination: `"sampled"`, as in the paper, or `"expected"`, which has
            the gradient to the decision to stop, see
            `tfcap.objectives.ExpectedEnding`. A listener finds more by
            every further word: in our runs fewer captions then had an end.
        global_clipnorm: Float or `None`, norm to clip the gradient of either
            network to.
        **options: Further arguments of `tfcap.training.JointTraining`.

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
    >>> documents = [[[5, 2]], [[6, 2]]]
    >>> training = tfcap.methods.psst(
    ...     speaker,
    ...     listener,
    ...     lambda_=0.01,
    ...     naturalness=tfcap.rewards.BLEU(4),
    ... )
    >>> training.compile(
    ...     {
    ...         "speaker": keras.optimizers.Adam(5e-4),
    ...         "listener": keras.optimizers.Adam(2e-4),
    ...     }
    ... )
    >>> list(training.learners)
    ['speaker', 'listener']

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, equation 1 and section 5; "PSST Multinomial" and "PSST
      Gumbel" of its tables
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(
        word_channel(psst, channel, seed, rho, temperature),
        feedback=relaxed_feedback(speaker),
    )
    judged = Retrieval(listener, margin, negatives, same=same)
    term = through_words(judged, samples, termination, "sum")
    objective = trade_off(lambda_, term, naturalness, words)
    learners = joint_players(
        speaker, listener, objective, global_clipnorm=global_clipnorm
    )
    return JointTraining(speaker, learners, **options)
