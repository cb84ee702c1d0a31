"""Arguments that methods share, and the parts made of them."""

import dataclasses
import functools
import inspect
from collections.abc import Callable
from typing import Any
from typing import Self

import keras

from tfcap._ops.arguments import check_choice
from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.speaker import check_speaker
from tfcap.layers import Categorical
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import Objective
from tfcap.objectives import ScoreFunction
from tfcap.objectives import TeacherForcing
from tfcap.rewards import Retrieval
from tfcap.rewards.text_rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner


@dataclasses.dataclass
class TrainingOptions:
    """Options of training, which every method takes.

    Args:
        global_clipnorm: Float or `None`, norm to clip the gradient of each
            network to.
    """

    global_clipnorm: float | None = None

    @classmethod
    def read(
        cls, method: Callable, speaker: Any, options: dict, name="speaker"
    ) -> Self:
        """Reads the options of a method of a speaker.

        Raises:
            TypeError: If it is not a `Speaker`, or an option is unknown.
        """
        check_speaker(speaker, name)
        known = [field.name for field in dataclasses.fields(cls)]
        for option, value in options.items():
            if option not in known:
                takes = ", ".join(inspect.signature(method).parameters)
                raise TypeError(
                    f"`{option}` is not an argument of {method.__name__}(). "
                    f"Received: {option}={value!r}. Its arguments are {takes}."
                )
        read = cls(**options)
        read.method, read.speaker, read.name = method, speaker, name
        return read

    def training(
        self, objective: Any, learners: dict | None = None, **more: Any
    ) -> JointTraining:
        """Makes the model to train.

        Args:
            objective: `tfcap.objectives.Objective` of the speaker; or `None`.
            learners: Dict of the network, the objective, `every` and `offset`
                of further `Learner`s, by name.
            **more: Further arguments of the model.
        """
        own = {}
        if objective is not None:
            own[self.name] = (self.speaker, objective)
        learners = {
            name: Learner(network, taught, self.global_clipnorm, *turns)
            for name, (network, taught, *turns) in (
                own | (learners or {})
            ).items()
        }
        return JointTraining(
            self.speaker,
            learners,
            **more,
        )

    def check_unread(self, variant: str, **given: Any) -> None:
        """Rejects arguments that a variant does not use.

        Args:
            variant: String, the choice that does not use them.
            **given: Arguments of the method by their names.
        """
        for name, value in given.items():
            default = inspect.signature(self.method).parameters[name].default
            if value != default:
                raise ValueError(
                    f"`{name}` must be {default!r} for {variant}, which does "
                    f"not use it. Received: {name}={value!r}. Leave it out."
                )


@dataclasses.dataclass
class Options(TrainingOptions):
    """Options of words, for every method that decodes.

    Args:
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never generated, such as the
            unknown word's.
        seed: Integer, of the samples.
    """

    max_length: int = 16
    suppress: tuple = ()
    seed: int | None = None

    @property
    def allowed(self) -> dict:
        """Returns the arguments of decoders that limit their words."""
        return {
            "max_length": self.max_length,
            "suppress": tuple(self.suppress),
        }

    @functools.cached_property
    def greedy(self) -> Greedy:
        """Returns one object: terms with it share its rollout."""
        return Greedy(**self.allowed)

    @functools.cached_property
    def sampled(self) -> Sample:
        """Returns a decoder of one sample, which several terms may share."""
        return self.sample()

    def sample(self, channel=None, num_samples=1, **more) -> Sample:
        """Returns a decoder that samples through a channel."""
        channel = channel or Categorical(seed=self.seed)
        return Sample(channel, num_samples, **self.allowed, **more)

    def self_critical(
        self, reward, num_samples=1, baseline=None, normalize="token"
    ) -> ScoreFunction:
        """Returns REINFORCE with a greedy or leave-one-out baseline.

        Args:
            baseline: `"greedy"` or `"leave_one_out"`. Defaults to the first
                for one sample, and the second for several.
        """
        # One object, for the samples and for what they are compared with.
        reward = as_reward(reward)
        num_samples = checked_integer(num_samples, "num_samples")
        if baseline is None:
            baseline = "greedy" if num_samples == 1 else "leave_one_out"
        baselines = {
            "greedy": lambda: DecoderBaseline(reward, self.greedy),
            "leave_one_out": LeaveOneOutBaseline,
        }
        check_choice(baseline, "baseline", baselines)
        samples = self.sampled
        if num_samples > 1:
            samples = self.sample(num_samples=num_samples)
        return ScoreFunction(reward, samples, baselines[baseline](), normalize)


@dataclasses.dataclass
class HingeOptions(Options):
    """Options of methods with a hinge loss of a listener.

    Args:
        margin: Float, of the hinge loss.
        negatives, same: As in `tfcap.rewards.Retrieval`.
    """

    margin: float = 0.2
    negatives: Any = "hardest"
    same: str | None = None

    def retrieval(self, listener: Any, **more: Any) -> Retrieval:
        """Returns the reward of a listener."""
        return Retrieval(
            listener, self.margin, self.negatives, same=self.same, **more
        )

    def trade_off(self, lambda_, discriminability, naturalness) -> Objective:
        """Returns equation 1 of PSST, with sums over a batch."""
        checked_number(lambda_, "lambda_", "in [0, 1]", lambda x: 0 <= x <= 1)
        if naturalness is None:
            if lambda_ < 1:
                raise ValueError(
                    "`naturalness` must be a reward if `lambda_` is below "
                    f"1. Received: naturalness=None, lambda_={lambda_}. Pass "
                    "`tfcap.rewards.CIDErD(document_frequencies)`."
                )
            return lambda_ * discriminability
        if not isinstance(naturalness, Objective):
            naturalness = self.self_critical(naturalness)
        return lambda_ * discriminability + (1.0 - lambda_) * naturalness


def takes(options: type | Callable, *fixed: str) -> Callable:
    """Decorates a method, to show its options in its signature.

    Args:
        options: Their class; or a method of which this one is a preset.
        *fixed: Names of arguments that the preset fixes.
    """

    def decorated(method):
        signature = inspect.signature(method)
        own = [
            each
            for each in signature.parameters.values()
            if each.kind is not each.VAR_KEYWORD
        ]
        known = {*(each.name for each in own), *fixed}
        shared = [
            each.replace(kind=each.KEYWORD_ONLY)
            for each in inspect.signature(options).parameters.values()
            if each.name not in known
        ]
        method.__signature__ = signature.replace(parameters=[*own, *shared])
        return method

    return decorated


def with_people(objective, human_weight: float):
    """Returns an objective plus the likelihood of human captions."""
    if not human_weight:
        return objective
    return objective + human_weight * TeacherForcing("token")


def frozen(*networks: Any) -> None:
    """Sets the `trainable` of networks to `False`."""
    for network in networks:
        if isinstance(network, keras.layers.Layer):
            network.trainable = False
