"""Parts that the methods share: words, rewards and checks of arguments."""

import functools
import inspect
from collections.abc import Callable
from collections.abc import Iterable
from typing import Any

import keras

from tfcap._ops.arguments import checked_integer
from tfcap._ops.arguments import checked_number
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding.speaker import check_speaker
from tfcap.layers import Categorical
from tfcap.layers import GumbelRao
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.layers import ReinMax
from tfcap.layers import ReinMaxCV
from tfcap.layers import ReinMaxRao
from tfcap.layers import WordChannel
from tfcap.objectives import ClippedRatio
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ExpectedEnding
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import Objective
from tfcap.objectives import Pathwise
from tfcap.objectives import ScoreFunction
from tfcap.rewards import as_reward
from tfcap.training import JointTraining
from tfcap.training import Learner

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


class WordLimits:
    """Decoders of one speaker, alike in what may be said.

    Args:
        max_length: Integer `T`, number of words with the end token.
        suppress: Tuple of integers, ids that are never said.
    """

    def __init__(self, max_length, suppress, seed: int | None):
        self.allowed = {"max_length": max_length, "suppress": tuple(suppress)}
        self.seed = seed
        #: One object: terms that are given it share its rollout.
        self.greedy = Greedy(**self.allowed)

    @functools.cached_property
    def sampled(self):
        """One caption drawn of an image, which several terms may judge."""
        return self.sample()

    def sample(self, channel=None, num_samples=1, **options):
        """Words drawn through a channel, `Categorical` unless one is given."""
        channel = channel or Categorical(seed=self.seed)
        return Sample(channel, num_samples, **self.allowed, **options)


def word_channel(
    method: Callable,
    channel: str | WordChannel,
    seed: int | None,
    rho: Any = None,
    temperature: Any = 1.0,
) -> WordChannel:
    """A straight-through channel by its name, or the caller's own.

    Args:
        method: Function whose arguments the others are.
        rho: As that of the method, or `None` where it passes words alone.
    """
    if isinstance(channel, WordChannel):
        given = {"temperature": temperature}
        given |= {} if rho is None else {"rho": rho}
        check_unread(method, "a channel of your own", **given)
        if rho is None and not channel.discrete:
            share = getattr(channel, "rho", None)
            held = "" if share is None else f" with rho={float(share):g}"
            raise ValueError(
                "`channel` must pass words alone here. Received: channel="
                f"{channel.name!r}{held}. Make it with rho=0, or use partial "
                "sampling, `psst`."
            )
        return channel
    check_choice(channel, "channel", tuple(CHANNELS))
    rho = 0.0 if rho is None else rho
    if channel == "multinomial":
        variant = 'channel="multinomial"'
        check_unread(method, variant, temperature=temperature)
        return PartialSamplingST(rho=rho, seed=seed)
    return CHANNELS[channel](rho=rho, seed=seed, temperature=temperature)


def relaxed_feedback(speaker: Any) -> str:
    """The feedback of partial sampling: of speakers that read ids, these."""
    return "index" if getattr(speaker, "reads_ids", False) else "relaxed"


def through_words(reward, samples, termination="sampled", reduction="mean"):
    """A reward, differentiated through the words of a decoder."""
    check_choice(termination, "termination", tuple(TERMINATIONS))
    return TERMINATIONS[termination](reward, samples, reduction=reduction)


def trade_off(lambda_, discriminability, naturalness, words):
    """Equation 1 of PSST: what a listener makes of captions, and people.

    ```
    loss = lambda_ * discriminability + (1 - lambda_) * naturalness
    ```

    Args:
        lambda_: Float in `[0, 1]`.
        discriminability: `tfcap.objectives.Objective`, summed over a batch.
        naturalness: `tfcap.rewards.Reward`, or a function of strings, for
            which one sample is trained self-critically, or
            `tfcap.objectives.Objective`; `None` where `lambda_` is 1.
        words: `WordLimits`.

    Returns:
        `tfcap.objectives.Objective`.
    """
    checked_number(lambda_, "lambda_", "in [0, 1]", lambda x: 0 <= x <= 1)
    if naturalness is None:
        if lambda_ < 1:
            raise ValueError(
                "`naturalness` must be a reward where `lambda_` is below 1. "
                f"Received: naturalness=None, lambda_={lambda_}. Give "
                "`tfcap.rewards.CIDErD(document_frequencies)`."
            )
        return lambda_ * discriminability
    if not isinstance(naturalness, Objective):
        naturalness = self_critical_term(naturalness, words)
    return lambda_ * discriminability + (1.0 - lambda_) * naturalness


def self_critical_term(
    reward,
    words: WordLimits,
    num_samples: int = 1,
    baseline=None,
    normalize="token",
) -> ScoreFunction:
    """REINFORCE above the greedy caption, or above the other samples.

    Args:
        baseline: `"greedy"` or `"leave_one_out"`. Defaults to the first for
            one sample, and the second for several.
    """
    # One object, for the samples and for what they are compared with.
    reward = as_reward(reward)
    num_samples = checked_integer(num_samples, "num_samples")
    if baseline is None:
        baseline = "greedy" if num_samples == 1 else "leave_one_out"
    baselines = {
        "greedy": lambda: DecoderBaseline(reward, words.greedy),
        "leave_one_out": LeaveOneOutBaseline,
    }
    check_choice(baseline, "baseline", tuple(baselines))
    if num_samples == 1:
        samples = words.sampled
    else:
        samples = words.sample(num_samples=num_samples)
    return ScoreFunction(reward, samples, baselines[baseline](), normalize)


def check_choice(value: Any, name: str, choices: tuple) -> None:
    """Refuses what is not one of some strings."""
    if value not in choices:
        raise ValueError(
            f"`{name}` must be one of {choices}. Received: {name}={value!r}."
        )


def check_unread(method: Callable, variant: str, **given: Any) -> None:
    """Refuses arguments that were given to a variant that reads none of them.

    Args:
        method: Function, whose defaults are those of the arguments.
        variant: String, the choice by which they are not read.
        **given: Arguments by their names.
    """
    for name, value in given.items():
        default = inspect.signature(method).parameters[name].default
        if value != default:
            raise ValueError(
                f"`{name}` must stay {default!r} for {variant}, which does "
                f"not read it. Received: {name}={value!r}. Leave it out."
            )


class Embedder:
    """A pair of functions, as a retriever that nobody trains.

    Args:
        images: Callable from images `(B, P, D)` to embeddings `(B, D)`.
        texts: Callable from tokens `(B, S, T)`, or words `(B, S, T, V)`, and
            their mask to embeddings `(B, S, D)`.
    """

    def __init__(self, images: Any, texts: Any):
        self.images, self.texts = images, texts

    def embed_images(self, image, training=False):
        return self.images(image)

    def embed_texts(self, words, mask, training=False):
        return self.texts(words, mask)


def embedder(network: Any) -> Any:
    """An object that embeds images and texts, also of a pair of functions."""
    pair = isinstance(network, tuple) and len(network) == 2
    return Embedder(*network) if pair else network


def frozen(*networks: Any) -> None:
    """Has networks be read and left as they are."""
    for network in networks:
        if isinstance(network, keras.layers.Layer):
            network.trainable = False


def frozen_embedders(retrievers: Iterable) -> list:
    """Objects that embed, of several retrievers.

    All of them are read and left as they are.
    """
    found = [embedder(retriever) for retriever in retrievers]
    frozen(*found)
    return found


def joint_players(
    speaker: keras.Model,
    listener: keras.Model,
    objective,
    learns=None,
    global_clipnorm: float | None = None,
    turns: bool = False,
):
    """A speaker and a listener who both learn, together or in turns."""
    every = 2 if turns else 1
    learns = learns or objective
    return {
        "speaker": Learner(speaker, objective, global_clipnorm, every),
        "listener": Learner(
            listener, learns, global_clipnorm, every, every - 1
        ),
    }


def anchored(speaker: Any, reference: Any) -> None:
    """Has a reference speaker be read and left as it is."""
    if reference is None:
        return
    if reference is speaker:
        raise ValueError(
            "`reference` must be another object than `speaker`, which moves. "
            "Received: the same. Pass a copy, or "
            "`tfcap.models.WithoutAdapters(speaker)`."
        )
    check_speaker(reference, "reference")
    frozen(reference)


def clipped_updates(clip: Any, updates: int, options: dict) -> dict:
    """Arguments of `JointTraining`: updates of a rollout, and their ratio.

    One update on all that was drawn has a ratio of 1, and needs none.

    Raises:
        ValueError: If there is a `clip` all the same.
    """
    if once(updates, options):
        if clip is None:
            return {}
        raise ValueError(
            "`clip` must be left out where one update takes all that was "
            "drawn: its ratios are 1, and none is clipped. Received: a clip, "
            "and updates_per_rollout=1. Take several updates, "
            "`updates_per_rollout=4`, or give a `minibatch_size`."
        )
    ratio = clip or ClippedRatio()
    return {"updates_per_rollout": updates, "clipped_ratio": ratio}


def with_own_clip(clip: ClippedRatio, options: dict) -> dict:
    """Options of a method with a clip of its own, and so of four updates.

    Its own clip is left out where one update would not read it; that of the
    caller is refused there.
    """
    options = {"updates_per_rollout": 4} | options
    if once(options["updates_per_rollout"], options):
        return options
    return {"clip": clip} | options


def once(updates: int, options: dict) -> bool:
    """Tells whether one update takes all of a rollout, and not in parts."""
    return updates == 1 and not options.get("minibatch_size")


def with_baseline(
    speaker: keras.Model,
    baseline,
    objective,
    global_clipnorm: float | None,
    options,
) -> JointTraining:
    """A speaker, and the baseline that learns to expect its rewards."""
    networks = {"speaker": speaker, "baseline": baseline.network}
    learners = {
        name: Learner(network, objective, global_clipnorm)
        for name, network in networks.items()
    }
    return JointTraining(speaker, learners, **options)
