"""Methods that imitate human captions, or train for a metric."""

import math
from typing import Any

from keras import ops
from keras.optimizers.schedules import PiecewiseConstantDecay

from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import MixedPrefix
from tfcap.decoding import ScheduledSampling
from tfcap.methods.options import Options
from tfcap.methods.options import TrainingOptions
from tfcap.methods.options import takes
from tfcap.methods.options import with_people
from tfcap.objectives import GAE
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import PairwiseDiversity
from tfcap.rewards import Surprisal
from tfcap.training import JointTraining

VARIANTS = ("paper", "code")


@takes(TrainingOptions)
def mle(
    speaker: Any,
    *,
    scheduled_sampling: Any = 0.0,
    normalize: str = "token",
    seed: int | None = None,
    **options: Any,
) -> JointTraining:
    """Trains a speaker on human captions by teacher forcing: MLE.

    ```
    loss = -mean over the words of the batch of log p(word | words before)
    ```

    given the human words before, or sometimes the speaker's own.

    Args:
        scheduled_sampling: Float in `[0, 1]`, probability that the speaker
            reads its own word, or a schedule. Defaults to `0.0`.
        normalize: `"token"` for the mean over words, `"sequence"` for the sum
            over the words of a caption.
        seed: Integer, of the speaker's own words.
        **options: `global_clipnorm`, see `tfcap.methods`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> batch = {
    ...     "image": np.zeros((2, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]], [[6, 2]]]),
    ... }
    >>> _ = speaker(batch)
    >>> training = tfcap.methods.mle(speaker)
    >>> training.compile(keras.optimizers.Adam(1e-3))
    >>> sorted(training.train_on_batch(batch, return_dict=True))
    ['loss', 'teacher_forcing']

    Reference:

    - Vinyals et al., Show and Tell: A Neural Image Caption Generator,
      CVPR 2015
    - Bengio et al., Scheduled Sampling for Sequence Prediction with Recurrent
      Neural Networks, NIPS 2015
    """
    given = TrainingOptions.read(mle, speaker, options)
    decoder = None
    if callable(scheduled_sampling) or scheduled_sampling != 0:
        decoder = ScheduledSampling(scheduled_sampling, seed=seed)
    return given.training(TeacherForcing(normalize, decoder=decoder))


@takes(Options)
def scst(
    speaker: Any,
    reward: Any,
    *,
    num_samples: int = 1,
    baseline: str | None = None,
    human_weight: float = 0.0,
    normalize: str = "token",
    **options: Any,
) -> JointTraining:
    """Trains for a metric, with the greedy caption as baseline: SCST.

    ```
    loss = -(reward(sample) - reward(greedy caption)) * sum_t log p(word[t])
    ```

    Its `objective` may be the `naturalness` of other methods.

    Args:
        num_samples: Integer `S`, captions drawn of an image.
        baseline: `"greedy"`, the reward of the greedy caption; or
            `"leave_one_out"`, the mean of the other samples. Defaults to the
            first for one sample, and to the second for several.
        human_weight: Float, weight of the likelihood of human captions.
        normalize: As in `tfcap.objectives.ScoreFunction`.
        **options: See `tfcap.methods`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.scst(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Rennie et al., Self-critical Sequence Training for Image Captioning,
      CVPR 2017
    - Luo, A Better Variant of Self-Critical Sequence Training, 2020, for
      `"leave_one_out"`
    """
    given = Options.read(scst, speaker, options)
    term = given.self_critical(reward, num_samples, baseline, normalize)
    return given.training(with_people(term, human_weight))


@takes(scst, "baseline", "normalize")
def sll(
    speaker: Any, reward: Any, *, num_samples: int = 5, **options: Any
) -> JointTraining:
    """Trains for a metric, with the greedy caption as baseline: SLL.

    ```
    loss = -mean over S samples of
           (reward(sample) - reward(greedy caption)) * sum_t log p(word[t])
    ```

    Args:
        num_samples: Integer `S`, captions drawn of an image.
        **options: See `tfcap.methods`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.sll(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, section 3.1 and "SLL" of Tables 1 to 4
    """
    own = {"baseline": "greedy", "normalize": "sequence"}
    return scst(speaker, reward, num_samples=num_samples, **own | options)


@takes(Options)
def sll_me(
    speaker: Any,
    reward: Any,
    *,
    entropy_weight: float = 1e-2,
    num_samples: int = 5,
    **options: Any,
) -> JointTraining:
    """Trains as `sll()`, with a bonus for entropy per word: SLL-ME.

    ```
    loss = loss of sll() - entropy_weight * entropy of the words
    ```

    Args:
        entropy_weight: Float.
        num_samples, **options: As in `sll()`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.sll_me(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, section 4, "SLL-ME"
    """
    given = Options.read(sll_me, speaker, options)
    term = given.self_critical(reward, num_samples, "greedy", "sequence")
    surprisal = Surprisal(per_word=True)
    bonus = ScoreFunction(surprisal, term.decoder, LeaveOneOutBaseline())
    return given.training(term + entropy_weight * bonus)


@takes(Options)
def sll_sle(
    speaker: Any,
    reward: Any,
    *,
    alpha: float = 0.75,
    variant: str = "paper",
    num_samples: int = 5,
    **options: Any,
) -> JointTraining:
    """Trains as `sll()`, with sequence-level exploration: SLL-SLE.

    ```
    loss = alpha * loss of sll()
           - (1 - alpha) * mean distance of all pairs of samples
    ```

    Distances are of BLEU-3 and BLEU-4. All terms share one rollout.

    Args:
        alpha: Float in `[0, 1]`, weight of the metric.
        variant: `"paper"`; or `"code"`, as in the first author's code: a
            sample's diversity is minus its mean BLEU-3 and BLEU-4 against all
            others at once, with the larger of their mean and -0.5 as baseline,
            so that very similar samples all lose by it. That code names
            `1 - alpha`.
        num_samples, **options: As in `sll()`; at least 2 samples.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.sll_sle(speaker, tfcap.rewards.BLEU(4))

    Reference:

    - Chen et al., Better Captioning with Sequence-Level Exploration,
      CVPR 2020, equation 16, "SLL-SLE" of Tables 1 to 4
    """
    given = Options.read(sll_sle, speaker, options)
    check_choice(variant, "variant", VARIANTS)
    checked_number(alpha, "alpha", "in [0, 1]", lambda x: 0 <= x <= 1)
    term = given.self_critical(reward, num_samples, "greedy", "sequence")
    if variant == "paper":
        diversity, baseline = PairwiseDiversity(), SampleMeanBaseline()
        # Equation 16 sums over all samples, its own included: over S.
        weight = 2.0 * (num_samples - 1) / num_samples
    else:
        diversity, baseline = PairwiseDiversity("self_bleu"), _mean_or_more
        # The reward is 2 minus the sum: twice the code's distance, and 2 more.
        weight = 0.5
    bonus = ScoreFunction(diversity, term.decoder, baseline)
    return given.training(alpha * term + (1.0 - alpha) * weight * bonus)


def _mean_or_more(rewards, episode):
    return ops.maximum(SampleMeanBaseline()(rewards, episode), 1.0)


@takes(Options)
def policy_gradient(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    num_continuations: int = 3,
    rollout_every: int = 1,
    baseline_units: tuple = (512,),
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric, with Monte-Carlo values per word.

    ```
    loss = -sum_t (Q[t] - baseline[t]) * log p(word[t])
    Q[t] = mean over K of reward(words[: t + 1], continuation k)
    baseline loss = mean_t (Q[t] - baseline[t]) ** 2
    ```

    The baseline is a network that reads the speaker's state. Fit it alone
    first, with a fixed speaker:

    ```
    training = policy_gradient(speaker, reward, state_units=512)
    alone = tfcap.training.JointTraining(
        speaker, {"baseline": training.learners["baseline"]}
    )
    alone.compile("adam")
    alone.fit(dataset)
    ```

    Args:
        state_units: Integer, size of the `tfcap.decoding.state_vector()` of
            the speaker's state.
        num_continuations: Integer `K`, samples of each prefix; 0 for plain
            REINFORCE, in which all words have the reward of the sentence.
        rollout_every: Integer, number of words between prefixes.
        baseline_units: Tuple of integers, hidden layers of the baseline.
        **options: See `tfcap.methods`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"baseline"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.policy_gradient(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=8
    ... )
    >>> training.compile({"speaker": "adam", "baseline": "adam"})

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, section 3, "PG-*" of its tables
    """
    given = Options.read(policy_gradient, speaker, options)
    credit = None
    if num_continuations:
        credit = MonteCarlo(num_continuations, rollout_every)
    else:
        variant = "num_continuations=0"
        given.check_unread(variant, rollout_every=rollout_every)
    baseline = LearnedBaseline(state_units, baseline_units)
    samples = given.sample(keep_states=True)
    objective = ScoreFunction(reward, samples, baseline, credit=credit)
    return _with_baseline(given, objective, baseline)


@takes(Options)
def mixer(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    stage_steps: float,
    delta: int = 3,
    weight: float = 0.5,
    baseline_units: tuple = (),
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a metric after a prefix of human words: MIXER.

    ```
    loss = (1 - weight) * -sum over t < prefix of log p(human word[t])
           + weight * -sum over t >= prefix of
                 (reward - baseline[t]) * log p(sampled word[t])
    prefix = max_length - delta * (1 + step // stage_steps), 0 at least
    ```

    The first stage already has a shorter prefix than the caption, since
    `mle()` comes before it. The baseline is a linear regression on the
    speaker's state.

    Args:
        stage_steps: Float, number of training steps of a stage.
        delta: Integer, number of words by which each stage shortens the
            prefix.
        weight: Float in `[0, 1]`, of the policy gradient.
        state_units, baseline_units, **options: As in
            `policy_gradient()`.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"baseline"`, which
        logs the `prefix`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.mixer(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=8, stage_steps=1000
    ... )

    Reference:

    - Ranzato et al., Sequence Level Training with Recurrent Neural Networks,
      ICLR 2016, section 3.2.2. The released code has the reward
      `BLEU(4, smoothing="add_one")`.
    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, "MIXER-*" of its tables
    """
    given = Options.read(mixer, speaker, options)
    checked_number(weight, "weight", "in [0, 1]", lambda x: 0 <= x <= 1)
    prefix = _prefix(given.max_length, delta, stage_steps)
    mixed = MixedPrefix(
        prefix, seed=given.seed, keep_states=True, **given.allowed
    )
    baseline = LearnedBaseline(state_units, baseline_units)
    objective = weight * ScoreFunction(reward, mixed, baseline)
    objective += (1.0 - weight) * TeacherForcing(decoder=mixed)
    return _with_baseline(given, objective, baseline)


def _prefix(max_length, delta, stage_steps):
    """Returns the number of given words, as a schedule of the step."""
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


@takes(Options)
def actor_critic(
    speaker: Any,
    reward: Any,
    *,
    state_units: int,
    lambda_: float = 0.95,
    gamma: float = 1.0,
    num_samples: int = 1,
    baseline_units: tuple = (),
    normalize: str = "sequence",
    **options: Any,
) -> JointTraining:
    """Trains a speaker for a reward, with a critic of its states.

    ```
    delta[t] = reward[t] + gamma * value[t + 1] - value[t]
    advantage[t] = sum_l (gamma * lambda_) ** l * delta[t + l]
    loss = sum_t -advantage[t] * log p(word[t])
    ```

    Args:
        lambda_, gamma: As in `tfcap.objectives.GAE`.
        num_samples: Integer `S`, captions drawn of an image.
        normalize: As in `tfcap.objectives.ScoreFunction`.
        state_units, baseline_units, **options: As in
            `policy_gradient()`, of the critic.

    Returns:
        `tfcap.training.JointTraining` of `"speaker"` and `"baseline"`.

    Example:

    >>> speaker = tfcap.models.ShowTellSpeaker(50, units=4)
    >>> _ = speaker({
    ...     "image": np.zeros((1, 1, 3), "float32"),
    ...     "caption": np.array([[[5, 2]]]),
    ... })
    >>> training = tfcap.methods.actor_critic(
    ...     speaker, tfcap.rewards.BLEU(4), state_units=24
    ... )

    Reference:

    - Schulman et al., High-Dimensional Continuous Control Using Generalized
      Advantage Estimation, ICLR 2016
    - Mnih et al., Asynchronous Methods for Deep Reinforcement Learning, ICML
      2016
    """
    given = Options.read(actor_critic, speaker, options)
    critic = LearnedBaseline(state_units, baseline_units)
    samples = given.sample(num_samples=num_samples, keep_states=True)
    objective = ScoreFunction(
        *(reward, samples),
        normalize=normalize,
        credit=GAE(critic, lambda_, gamma),
    )
    return _with_baseline(given, objective, critic)


def _with_baseline(given, objective, baseline):
    """Returns the training of a speaker and its learned baseline."""
    return given.training(
        objective, {"baseline": (baseline.network, objective)}
    )
