"""All estimators by name: what is compared, and what moves it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from reproduce.comparisons.estimators.small_world import Heard
from tfcap import layers
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.decoding import SumAndSample
from tfcap.objectives import GAE
from tfcap.objectives import RELAX
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ExpectedEnding
from tfcap.objectives import LearnedBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import MonteCarlo
from tfcap.objectives import Objective
from tfcap.objectives import Pathwise
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import RunningMeanBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.objectives import StructureLoss


@dataclass(frozen=True)
class Setting:
    """Numbers that estimators read.

    Args:
        length: Integer `T`.
        ends: Boolean, whether captions may end before.
        samples: Integer `S`, captions of a row.
        temperature: Float, or `None` for the default of each.
        rho: Float, of partial sampling.
        draws: Integer `K`, of the Gumbel noise given a word.
        gae: Float, lambda of generalized advantage estimation.
        seed: Integer.
        size: Integer, words of the vocabulary.
        state_units: Integer, size of the state that critics read.
    """

    length: int = 3
    ends: bool = True
    samples: int = 2
    temperature: float | None = None
    rho: float = 0.25
    draws: int = 10
    gae: float = 0.95
    seed: int = 0
    size: int = 7
    state_units: int = 1

    def sampled(self, channel=None, **options) -> Sample:
        """The decoder of `S` captions through a channel."""
        channel = channel or layers.Categorical(seed=self.seed)
        return Sample(channel, self.samples, self.length, **options)

    def heat(self, usual: float) -> dict:
        """The temperature as an argument."""
        value = usual if self.temperature is None else self.temperature
        return {"temperature": value, "seed": self.seed}


@dataclass(frozen=True)
class Entry:
    """An estimator that is compared.

    Args:
        make: Function from a `Setting` to a `tfcap.objectives.Objective`.
        family: String, by which it is drawn.
        made_of: String, the class or arguments that give it, in Markdown.
        axes: Tuple of names of a `Setting` that move it, along which it is
            measured.
        least: Integer, the samples that it needs at least.
    """

    make: Callable[[Setting], Objective]
    family: str
    made_of: str = ""
    axes: tuple = ("samples",)
    least: int = 1


#: By their names in tables.
ESTIMATORS: dict[str, Entry] = {}


def estimator(
    name: str,
    family: str,
    made_of: str = "",
    axes: Any = ("samples",),
    least: int = 1,
):
    """Decorates a function from a `Setting` to an objective, and lists it.

    Example:

    >>> from reproduce.comparisons.estimators.registry import ESTIMATORS
    >>> ESTIMATORS["REINFORCE, leave-one-out"].least
    2
    """

    def listed(make):
        ESTIMATORS[name] = Entry(make, family, made_of, tuple(axes), least)
        return make

    return listed


def pathwise(setting: Setting, channel, feedback="relaxed", made=Pathwise):
    """Gradient through the words, which speaker and listener read alike."""
    return made(Heard(), setting.sampled(channel, feedback=feedback))


ROWS = "straight-through"
SOFT = "partial sampling"
ENDS = "expected termination"
SCORE = "score function"
GROUP = "samples of a row compared"
EXPECTED = "the channel, `ExpectedEnding`"
HEAT = ("samples", "temperature")
DRAWN = (*HEAT, "draws")


@estimator("straight-through", ROWS, "`PartialSamplingST(0.0)`")
def _(s):
    return pathwise(s, layers.PartialSamplingST(0.0, seed=s.seed))


@estimator(
    *("straight-through, ids fed back", ROWS),
    '`PartialSamplingST(0.0)`, `feedback="index"`',
)
def _(s):
    channel = layers.PartialSamplingST(0.0, seed=s.seed)
    return pathwise(s, channel, "index")


@estimator("Gumbel", ROWS, "`GumbelSoftmaxST(0.5)`", HEAT)
def _(s):
    return pathwise(s, layers.GumbelSoftmaxST(**s.heat(0.5)))


@estimator("Gumbel-Rao", ROWS, "`GumbelRao(0.5)`", DRAWN)
def _(s):
    return pathwise(s, layers.GumbelRao(num_samples=s.draws, **s.heat(0.5)))


@estimator("ReinMax", ROWS, "`ReinMax()`", HEAT)
def _(s):
    return pathwise(s, layers.ReinMax(**s.heat(1.0)))


@estimator("ReinMax-Rao", ROWS, "`ReinMaxRao()`", DRAWN)
def _(s):
    return pathwise(s, layers.ReinMaxRao(num_samples=s.draws, **s.heat(1.0)))


@estimator("ReinMax-CV", ROWS, "`ReinMaxCV()`", DRAWN)
def _(s):
    return pathwise(s, layers.ReinMaxCV(num_samples=s.draws, **s.heat(1.0)))


@estimator("PSST", SOFT, "`PartialSamplingST(0.25)`", ("samples", "rho"))
def _(s):
    return pathwise(s, layers.PartialSamplingST(s.rho, seed=s.seed))


@estimator(
    *("PSST Gumbel", SOFT, "`GumbelSoftmaxST(0.5, rho=0.25)`"),
    axes=(*HEAT, "rho"),
)
def _(s):
    return pathwise(s, layers.GumbelSoftmaxST(rho=s.rho, **s.heat(0.5)))


@estimator(
    *("PSST Gumbel, decoupled", SOFT),
    "`GumbelSoftmaxST(0.5, rho=0.25, backward_temperature=1.0)`",
    axes=(*HEAT, "rho"),
)
def _(s):
    heat = {"temperature": 0.5, "seed": s.seed}
    heat["backward_temperature"] = s.heat(1.0)["temperature"]
    return pathwise(s, layers.GumbelSoftmaxST(rho=s.rho, **heat))


@estimator(
    *("PSST ReinMax", SOFT, "`ReinMax(rho=0.25)`"),
    axes=(*HEAT, "rho"),
)
def _(s):
    return pathwise(s, layers.ReinMax(rho=s.rho, **s.heat(1.0)))


def _rao(s):
    return {"num_samples": s.draws, "rho": s.rho}


@estimator(
    *("PSST Gumbel-Rao", SOFT, "`GumbelRao(0.5, rho=0.25)`"),
    axes=(*DRAWN, "rho"),
)
def _(s):
    return pathwise(s, layers.GumbelRao(**_rao(s), **s.heat(0.5)))


@estimator(
    *("PSST ReinMax-Rao", SOFT, "`ReinMaxRao(rho=0.25)`"),
    axes=(*DRAWN, "rho"),
)
def _(s):
    return pathwise(s, layers.ReinMaxRao(**_rao(s), **s.heat(1.0)))


@estimator(
    *("PSST ReinMax-CV", SOFT, "`ReinMaxCV(rho=0.25)`"),
    axes=(*DRAWN, "rho"),
)
def _(s):
    return pathwise(s, layers.ReinMaxCV(**_rao(s), **s.heat(1.0)))


def _ending(s, channel):
    # Where none ends, there is no ending to expect.
    return pathwise(s, channel, made=ExpectedEnding if s.ends else Pathwise)


@estimator("straight-through, expected end", ENDS, EXPECTED)
def _(s):
    return _ending(s, layers.PartialSamplingST(0.0, seed=s.seed))


@estimator("Gumbel, expected end", ENDS, EXPECTED, HEAT)
def _(s):
    return _ending(s, layers.GumbelSoftmaxST(**s.heat(0.5)))


@estimator("PSST, expected end", ENDS, EXPECTED, ("samples", "rho"))
def _(s):
    return _ending(s, layers.PartialSamplingST(s.rho, seed=s.seed))


@estimator("ReinMax, expected end", ENDS, EXPECTED, HEAT)
def _(s):
    return _ending(s, layers.ReinMax(**s.heat(1.0)))


def _score(s, baseline=None, *normalize, **options):
    return ScoreFunction(Heard(), s.sampled(), baseline, *normalize, **options)


@estimator("REINFORCE", SCORE, "`ScoreFunction`")
def _(s):
    return _score(s)


@estimator("REINFORCE, greedy (SCST)", SCORE, "`DecoderBaseline` with `Greedy`")
def _(s):
    greedy = Greedy(max_length=s.length)
    return _score(s, DecoderBaseline(Heard(), greedy))


@estimator("REINFORCE, running mean", SCORE, "`RunningMeanBaseline`")
def _(s):
    return _score(s, RunningMeanBaseline())


@estimator("REINFORCE, leave-one-out", SCORE, "`LeaveOneOutBaseline`", least=2)
def _(s):
    return _score(s, LeaveOneOutBaseline())


@estimator(
    *("REINFORCE, continuations", SCORE),
    "`PrefixBaseline`, `credit=MonteCarlo(3)`",
)
def _(s):
    return _score(s, PrefixBaseline(), credit=MonteCarlo(3))


@estimator(
    *("sum and sample", SCORE),
    "`SumAndSample(1, S - 1)`, `LeaveOneOutBaseline`",
    least=2,
)
def _(s):
    decoder = SumAndSample(1, s.samples - 1, s.length, seed=s.seed)
    baseline = LeaveOneOutBaseline()
    return ScoreFunction(Heard(), decoder, baseline)


@estimator("REINFORCE, learned baseline", SCORE, "`LearnedBaseline`")
def _(s):
    decoder = s.sampled(keep_states=True)
    baseline = LearnedBaseline(s.state_units)
    return ScoreFunction(Heard(), decoder, baseline)


@estimator(
    *("actor-critic", SCORE, "`LearnedBaseline`, `credit=GAE(lambda_=0.95)`"),
    ("samples", "gae"),
)
def _(s):
    decoder = s.sampled(keep_states=True)
    critic = LearnedBaseline(s.state_units)
    return ScoreFunction(Heard(), decoder, credit=GAE(critic, s.gae))


@estimator("RELAX", SCORE, "`RELAX`", HEAT)
def _(s):
    decoder = s.sampled(keep_states=True)
    sizes = {"state_units": s.state_units, "vocabulary_size": s.size}
    return RELAX(Heard(), decoder, **sizes, **s.heat(1.0))


@estimator("REINFORCE, sample mean", GROUP, "`SampleMeanBaseline`", least=2)
def _(s):
    return _score(s, SampleMeanBaseline())


@estimator(
    *("REINFORCE, standardized", GROUP),
    "`SampleMeanBaseline`, `standardize=True`",
    least=2,
)
def _(s):
    return _score(s, SampleMeanBaseline(), standardize=True)


@estimator("GRPO", GROUP, '`standardize=True`, `normalize="length"`', least=2)
def _(s):
    return _score(s, SampleMeanBaseline(), "length", standardize=True)


@estimator(
    *("Dr. GRPO", GROUP, '`SampleMeanBaseline`, `normalize="constant"`'),
    least=2,
)
def _(s):
    return _score(s, SampleMeanBaseline(), "constant")


@estimator("minimum risk", GROUP, "`StructureLoss`", least=2)
def _(s):
    return StructureLoss(Heard(), s.sampled(), "risk")


def names(chosen: list | None = None) -> list[str]:
    """All names, or those asked for.

    Raises:
        ValueError: If one is not known.
    """
    unknown = sorted(set(chosen or ()) - set(ESTIMATORS))
    if unknown:
        raise ValueError(
            f"`estimators` must be among {', '.join(ESTIMATORS)}. Received: "
            f"{', '.join(unknown)}."
        )
    return list(chosen or ESTIMATORS)
