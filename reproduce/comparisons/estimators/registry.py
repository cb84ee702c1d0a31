"""All estimators by name, and their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

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
    """Settings of estimators.

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

    def heated(self, usual: float) -> float:
        """The temperature, or the usual one where none is set."""
        return usual if self.temperature is None else self.temperature


@dataclass(frozen=True)
class Entry:
    """An estimator that is compared.

    Args:
        make: Function from a `Setting` to a `tfcap.objectives.Objective`.
        family: String, by which it is drawn.
        made_of: String, the class or arguments that give it, in Markdown.
        axes: Tuple of names of a `Setting` that move it, along which it is
            measured.
    """

    make: Callable[[Setting], Objective]
    family: str
    made_of: str = ""
    axes: tuple = ("samples",)


#: By their names in tables.
ESTIMATORS: dict[str, Entry] = {}


def estimator(name: str, family: str, made_of: str = "", axes=("samples",)):
    """Decorates a function from a `Setting` to an objective, and lists it.

    Example:

    >>> from reproduce.comparisons.estimators.registry import ESTIMATORS
    >>> ESTIMATORS["RELAX"].axes
    ('samples', 'temperature')
    """

    def listed(make):
        ESTIMATORS[name] = Entry(make, family, made_of, tuple(axes))
        return make

    return listed


ROWS = "straight-through"
SOFT = "partial sampling"
ENDS = "expected termination"
SCORE = "score function"
GROUP = "samples of a row compared"
HEAT = ("samples", "temperature")
RHO = ("samples", "rho")


def through(name, family, made_of, channel, axes=("samples",), ending=False):
    """Adds an estimator by gradients through words to the list.

    Args:
        channel: Function from a `Setting` to a channel.
        ending: Boolean, whether the expectation over ends replaces the sample.
    """

    @estimator(name, family, made_of, axes)
    def _(s):
        # Where none ends, there is no ending to expect.
        made = ExpectedEnding if ending and s.ends else Pathwise
        return made(Heard(), s.sampled(channel(s), feedback="relaxed"))


def hard(s):
    """Words alone."""
    return layers.PartialSamplingST(0.0, seed=s.seed)


def partial(s):
    """Whole distributions now and then."""
    return layers.PartialSamplingST(s.rho, seed=s.seed)


def heated(kind, usual, soft=False):
    """A function from a `Setting` to a channel that has a temperature."""

    def channel(s):
        options = {"temperature": s.heated(usual), "seed": s.seed}
        if kind in _DRAWN:
            options["num_samples"] = s.draws
        if soft:
            options["rho"] = s.rho
        return kind(**options)

    return channel


#: Channels that draw noise for a word that is given.
_DRAWN = (layers.GumbelRao, layers.ReinMaxRao, layers.ReinMaxCV)

through("straight-through", ROWS, "`PartialSamplingST(0.0)`", hard)
through("PSST", SOFT, "`PartialSamplingST(0.25)`", partial, RHO)
for _name, _kind, _usual in (
    ("Gumbel", layers.GumbelSoftmaxST, 0.5),
    ("Gumbel-Rao", layers.GumbelRao, 0.5),
    ("ReinMax", layers.ReinMax, 1.0),
    ("ReinMax-Rao", layers.ReinMaxRao, 1.0),
    ("ReinMax-CV", layers.ReinMaxCV, 1.0),
):
    _axes = (*HEAT, "draws") if _kind in _DRAWN else HEAT
    _given = ["0.5"] if _usual == 0.5 else []
    _text = f"`{_kind.__name__}({', '.join(_given)})`"
    through(_name, ROWS, _text, heated(_kind, _usual), _axes)
    _text = f"`{_kind.__name__}({', '.join([*_given, 'rho=0.25'])})`"
    _soft = heated(_kind, _usual, soft=True)
    through(f"PSST {_name}", SOFT, _text, _soft, (*_axes, "rho"))
for _name, _channel, _axes in (
    ("straight-through", hard, ("samples",)),
    ("Gumbel", heated(layers.GumbelSoftmaxST, 0.5), HEAT),
    ("PSST", partial, RHO),
    ("ReinMax", heated(layers.ReinMax, 1.0), HEAT),
):
    _text = "the channel, `ExpectedEnding`"
    through(f"{_name}, expected end", ENDS, _text, _channel, _axes, True)


@estimator(
    *("straight-through, ids fed back", ROWS),
    '`PartialSamplingST(0.0)`, `feedback="index"`',
)
def _(s):
    return Pathwise(Heard(), s.sampled(hard(s), feedback="index"))


@estimator(
    *("PSST Gumbel, decoupled", SOFT),
    "`GumbelSoftmaxST(0.5, rho=0.25, backward_temperature=1.0)`",
    axes=(*HEAT, "rho"),
)
def _(s):
    options = {"backward_temperature": s.heated(1.0), "seed": s.seed}
    channel = layers.GumbelSoftmaxST(0.5, rho=s.rho, **options)
    return Pathwise(Heard(), s.sampled(channel, feedback="relaxed"))


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


@estimator("REINFORCE, leave-one-out", SCORE, "`LeaveOneOutBaseline`")
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
    options = {"temperature": s.heated(1.0), "seed": s.seed}
    return RELAX(Heard(), decoder, s.state_units, s.size, **options)


@estimator("REINFORCE, sample mean", GROUP, "`SampleMeanBaseline`")
def _(s):
    return _score(s, SampleMeanBaseline())


@estimator(
    *("REINFORCE, standardized", GROUP),
    "`SampleMeanBaseline`, `standardize=True`",
)
def _(s):
    return _score(s, SampleMeanBaseline(), standardize=True)


@estimator("GRPO", GROUP, '`standardize=True`, `normalize="length"`')
def _(s):
    return _score(s, SampleMeanBaseline(), "length", standardize=True)


@estimator(
    *("Dr. GRPO", GROUP, '`SampleMeanBaseline`, `normalize="constant"`'),
)
def _(s):
    return _score(s, SampleMeanBaseline(), "constant")


@estimator("minimum risk", GROUP, "`StructureLoss`")
def _(s):
    return StructureLoss(Heard(), s.sampled(), "risk")


class Axis(NamedTuple):
    """An argument of a `World` or of a `Setting` that is varied.

    Args:
        values: Tuple of its values.
        shown: Tuple of names of the estimators that the figure shows.
    """

    values: tuple
    shown: tuple


_SHOWN = (
    *("straight-through", "Gumbel", "ReinMax", "PSST"),
    *("straight-through, expected end", "REINFORCE, leave-one-out"),
)
AXES = {
    "words": Axis((2, 4, 8), _SHOWN),
    "length": Axis((1, 2, 3, 4), _SHOWN),
    "ends": Axis((False,), _SHOWN[:4]),
    "temperature": Axis(
        (0.25, 0.5, 1.0, 2.0),
        (
            *("Gumbel", "Gumbel-Rao", "ReinMax", "ReinMax-Rao"),
            *("PSST Gumbel, decoupled", "Gumbel, expected end"),
            "ReinMax, expected end",
        ),
    ),
    "rho": Axis(
        (0.0, 0.25, 0.5, 0.75, 1.0),
        (
            *("PSST", "PSST Gumbel", "PSST ReinMax", "PSST Gumbel-Rao"),
            *("PSST ReinMax-Rao", "PSST, expected end"),
        ),
    ),
    "samples": Axis(
        (2, 4, 8),
        (
            *("straight-through", "ReinMax", "REINFORCE", "sum and sample"),
            *("REINFORCE, leave-one-out", "REINFORCE, sample mean"),
        ),
    ),
    "draws": Axis((1, 3, 10), ("Gumbel-Rao", "ReinMax-Rao", "ReinMax-CV")),
    "gae": Axis((0.0, 0.5, 0.95, 1.0), ("actor-critic",)),
}


def measured_along(axis: str) -> list[str]:
    """Names of the estimators that are measured along an axis.

    All along words and length, those of the figure without ends, else those
    that depend on the setting.
    """
    if axis == "ends":
        return [*AXES[axis].shown]
    every = axis in ("words", "length")
    return [k for k, entry in ESTIMATORS.items() if every or axis in entry.axes]
