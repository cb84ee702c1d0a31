"""MIXER: people's words first, and then fewer and fewer of them."""

import math
from typing import Any

from keras.optimizers.schedules import PiecewiseConstantDecay

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import MixedPrefix
from tfcap.decoding.speaker import check_speaker
from tfcap.methods.parts import with_baseline
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.training import JointTraining


def mixer(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    stage_steps: float,
    delta: int = 3,
    weight: float = 0.5,
    baseline_units: tuple = (),
    max_length: int = 16,
    suppress: tuple = (),
    seed: int | None = None,
    global_clipnorm: float | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric, from people's first words onwards.

    ```
    loss = (1 - weight) * -sum over t < prefix of log p(human word[t])
           + weight * -sum over t >= prefix of
                 (reward - baseline[t]) * log p(sampled word[t])
    prefix = max_length - delta * (1 + step // stage_steps), 0 at least
    ```

    The first stage begins with fewer words than all: all were given before,
    in `mle()`. The baseline is a linear regression on the speaker's state.

    Args:
        speaker: As that of `psst()`.
        reward: `tfcap.rewards.Reward`, such as `BLEU(4, smoothing="add_one")`,
            as in the released code, or `CIDErD`.
        state_units: As that of `policy_gradient()`.
        stage_steps: Number of training steps of a stage, which need not be
            whole.
        delta: Integer, words by which the prefix gets shorter at a time.
        weight: Float in `[0, 1]`, of the policy gradient.
        baseline_units: As that of `policy_gradient()`.
        max_length, suppress, seed, global_clipnorm, **options: As those of
            `policy_gradient()`.

    Returns:
        `tfcap.training.JointTraining` of the learners `"speaker"` and
        `"baseline"`, which logs the `prefix`.

    Raises:
        TypeError: If `speaker` or `reward` is none.
        ValueError: If it is not built, or a number out of range.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> training = tfcap.methods.mixer(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=8, stage_steps=1000
    ... )
    >>> training.compile({"speaker": "adam", "baseline": "adam"})

    Reference:

    - Ranzato et al., Sequence Level Training with Recurrent Neural Networks,
      ICLR 2016, section 3.2.2
    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, "MIXER-*" of its tables
    """
    check_speaker(speaker)
    checked_number(weight, "weight", "in [0, 1]", lambda x: 0 <= x <= 1)
    mixed = MixedPrefix(
        _prefix(max_length, delta, stage_steps),
        max_length,
        seed,
        keep_states=True,
        suppress=suppress,
    )
    baseline = LearnedBaseline(state_units, baseline_units)
    objective = weight * ScoreFunction(reward, mixed, baseline)
    objective += (1.0 - weight) * TeacherForcing(decoder=mixed)
    return with_baseline(speaker, baseline, objective, global_clipnorm, options)


def _prefix(max_length, delta, stage_steps):
    """The number of words that are given, as a schedule of the step."""
    checked_integer(delta, "delta")
    checked_number(
        stage_steps, "stage_steps", "positive", lambda steps: steps > 0
    )
    stages = math.ceil(max_length / delta)
    shorter = [delta * n for n in range(1, stages + 1)]
    values = [float(max(max_length - words, 0)) for words in shorter]
    # The last steps of the stages, which need not be of whole steps.
    last = [math.ceil(n * stage_steps) - 1 for n in range(1, stages)]
    return PiecewiseConstantDecay(last, values) if last else int(values[0])
