"""Straight-through joint training."""

from typing import Any

from tfcap.decoding.speaker import check_speaker
from tfcap.layers import WordChannel
from tfcap.methods.parts import WordLimits
from tfcap.methods.parts import joint_players
from tfcap.methods.parts import through_words
from tfcap.methods.parts import trade_off
from tfcap.methods.parts import word_channel
from tfcap.rewards import Retrieval
from tfcap.training import JointTraining


def straight_through(
    speaker: Any,
    listener: Any,
    *,
    lambda_: float,
    naturalness: Any = None,
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
    """Joint training of a speaker and a listener, straight through words.

    ```
    loss = lambda_ * sum over the batch of hinge(listener(words))
           - (1 - lambda_) * mean over the batch of naturalness
    words[t] = one_hot(w) + p[t] - stop_gradient(p[t]),  w ~ p[t]
    ```

    with `p` the softmax, or its Gumbel-softmax relaxation. Both learn from one
    loss, through the words; the speaker reads the words' ids. What anneals is
    the temperature: `temperature=ExponentialTemperature(1.0, rate=3e-5)`.

    Args:
        channel, temperature: As those of `psst()`; a channel of your own must
            have been made with `rho=0`.
        speaker, listener, lambda_, naturalness, margin, negatives, same: As
            those of `psst()`.
        max_length, suppress, seed, termination, global_clipnorm,
            **options: Likewise.

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
    >>> training = tfcap.methods.straight_through(
    ...     speaker, listener, lambda_=1.0, channel="gumbel", temperature=0.5
    ... )
    >>> training.compile({"speaker": "adam", "listener": "adam"})

    Reference:

    - Vered et al., Joint Optimization for Cooperative Image Captioning,
      ICCV 2019, section 6.2, "ST Multinomial", "ST Gumbel" and "ST Gumbel
      Annealed"
    """
    check_speaker(speaker)
    words = WordLimits(max_length, suppress, seed)
    samples = words.sample(
        word_channel(straight_through, channel, seed, temperature=temperature),
    )
    judged = Retrieval(listener, margin, negatives, same=same)
    term = through_words(judged, samples, termination, "sum")
    objective = trade_off(lambda_, term, naturalness, words)
    learners = joint_players(
        speaker, listener, objective, global_clipnorm=global_clipnorm
    )
    return JointTraining(speaker, learners, **options)
