"""The content of a log."""

from collections import Counter
from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace
from functools import cached_property

from tensorboard_plugin_tfcap.axis_presets import axis_presets
from tensorboard_plugin_tfcap.comparison import Comparison
from tensorboard_plugin_tfcap.comparison import load_comparison
from tensorboard_plugin_tfcap.matching import search
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.axis_ranks import axis_rank
from tensorboard_plugin_tfcap.tradeoff.axis_ranks import is_bookkeeping
from tensorboard_plugin_tfcap.tradeoff.axis_ranks import kind
from tensorboard_plugin_tfcap.tradeoff.axis_ranks import widest
from tensorboard_plugin_tfcap.tradeoff.curve_groups import is_categorical
from tensorboard_plugin_tfcap.tradeoff.metric_names import is_other_listener
from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_order
from tensorboard_plugin_tfcap.tradeoff.metric_names import metric_pool
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.metric_names import recall_at
from tensorboard_plugin_tfcap.tradeoff.point import is_number
from tensorboard_plugin_tfcap.tradeoff.point import parameter_text
from tensorboard_plugin_tfcap.tradeoff.style import KnownTitles
from tensorboard_plugin_tfcap.tradeoff.style import known_titles

#: Metrics that axes prefer by default.
_FIRST = {
    "naturalness": ("cider_d",),
    "recall": ("strangers_r@10", "fixed_r@10", "r@10", "mrr"),
}


@dataclass(frozen=True)
class Dataset:
    """Points of one source.

    Args:
        source: `"points"` or `"scalars"`.
        rev: String, which changes with the data.
        points: List of `TradeoffPoint`, one a run.
        metrics: Dict of `Metric` by name.
        references: List of `Reference` that were logged.
        notices: List of sentences about what is left out, and why.
        comparison: `Comparison`, how the log is presented.
        histories: Dict of lists of points in the order of steps, by run, if
            earlier steps are needed.
        seen: Tuple of titles of methods in the order of their appearance,
            which keeps their colors.
        focus: Tuple of titles that keep their colors.
    """

    source: str
    rev: str
    points: list
    metrics: dict
    references: list = field(default_factory=list)
    notices: list = field(default_factory=list)
    comparison: Comparison = field(default_factory=Comparison)
    histories: dict = field(default_factory=dict)
    seen: tuple = ()
    focus: tuple = ()

    @cached_property
    def titles(self):
        """Titles by method, those of the comparison first, in its order.

        Methods with equal titles have their names beside them.
        """
        own = {p.method: p.title for p in self.points if p.title}
        titles = {**self.comparison.titles, **own, **self.comparison.titles}
        methods = {point.method for point in self.points}
        uses = Counter(titles.get(method, method) for method in methods)
        return {
            method: f"{title} ({method})"
            if method in methods and uses[title] > 1 and title != method
            else title
            for method, title in titles.items()
        }

    @cached_property
    def presets(self):
        """Presets by id: those of the comparison, and pairs of axes."""
        usual = axis_presets(self.metrics, self.points)
        own = self.comparison.presets
        return {**own, **{k: v for k, v in usual.items() if k not in own}}

    def title(self, method):
        """Title of a method."""
        return self.titles.get(method, method)

    @property
    def known(self):
        """Titles in the order of their styles: known ones, then by name."""
        titles = [self.title(point.method) for point in self.points]
        titles += [reference.title for reference in self.references]
        first = [*map(self.title, self.comparison.titles), *self.seen]
        known = known_titles(titles, dict.fromkeys(first))
        return KnownTitles(known, self.focus)

    def metric(self, name, argument="x"):
        """A metric by name.

        Raises:
            QueryError: If the log lacks it.
        """
        if name not in self.metrics:
            raise QueryError(
                f"`{argument}` must be a metric of the log. Received: "
                f"{argument}={name!r:.80}, of "
                f"{', '.join(list(self.metrics)[:20]) or 'none'}."
            )
        return self.metrics[name]

    def axes(self, x=None, y=None):
        """The metrics of both axes, see `default_axes()`."""
        default = default_axes(self.metrics, self.points)
        if default is None and not (x and y):
            return None
        return self.metric(x or default[0]), self.metric(y or default[1], "y")

    def parameters(self):
        """Numbers of values by parameter, the best order of curves first."""
        values = {}
        for point in self.points:
            for name, value in point.params.items():
                values.setdefault(name, set()).add(value)
        numbers = {n: all(map(is_number, v)) for n, v in values.items()}

        def rank(name):
            return (
                name != "lambda",
                not numbers[name],
                -len(values[name]),
                name,
            )

        return {name: len(values[name]) for name in sorted(values, key=rank)}

    def order(self, name=None, besides=()):
        """The parameter along curves, numeric by default.

        Args:
            besides: Names of parameters that are no default.

        Raises:
            QueryError: If no run has it.
        """
        known = self.parameters()
        if name and name not in known:
            raise QueryError(
                f"`order` must be a parameter of the runs. Received: "
                f"order={name!r}, of {', '.join(known) or 'none'}."
            )
        numbers = (
            n
            for n in known
            if n not in besides and not is_categorical(self.points, n)
        )
        return name or next(numbers, None)

    def about(self, run):
        """A run's method and its settings, as text."""
        for point in self.points:
            if point.run == run:
                texts = [parameter_text(*item) for item in point.params.items()]
                title = self.title(point.method)
                return {"method": title, "label": ", ".join(texts)}
        raise QueryError(
            f"`run` must be one of the log. Received: run={run!r:.120}."
        )

    def of_runs(self, pattern):
        """Points of runs whose names match a regular expression."""
        if not pattern:
            return self.points
        found = search("runs", pattern, [point.run for point in self.points])
        return [point for point in self.points if point.run in found]

    def directed(self, query):
        """The data set with the directions and focus that a query gives."""
        metrics = directed(self.metrics, query)
        return replace(
            self,
            metrics=self.metrics if metrics is None else metrics,
            focus=query.focus,
        )


def presented(dataset: Dataset, path):
    """A data set presented as a JSON file says.

    Raises:
        ValueError: If the file is malformed.
        OSError: If there is no such file.
    """
    if not path:
        return dataset
    comparison = load_comparison(path).joined(dataset.comparison)
    return replace(dataset, comparison=comparison)


def all_metrics(points, described):
    """Metrics of points, sorted; names tell what is not described."""
    names = {n for point in points for n in (*point.metrics, *point.diverged)}
    metrics = [described.get(n) or named_metric(n) for n in names]
    return {m.name: m for m in sorted(metrics, key=metric_order)}


def directed(metrics, query):
    """Metrics with the directions of a query, `None` if it has none."""
    if not (query.higher or query.lower):
        return None
    given = dict.fromkeys(query.higher, "higher")
    given |= dict.fromkeys(query.lower, "lower")
    return {
        name: replace(metric, better=given.get(name, metric.better))
        for name, metric in metrics.items()
    }


def best_metric(metrics, query):
    """The metric that tells the best step.

    Raises:
        QueryError: If the log lacks it, or its direction is unknown.
    """
    metrics = directed(metrics, query) or metrics
    if query.by:
        known = [query.by]
    else:
        first = [*(default_axes(metrics) or ()), *metrics]
        known = [name for name in first if metrics[name].sign] or first
    if not known or known[0] not in metrics:
        raise QueryError(
            f"`by` must be a metric of the log. Received: by={query.by!r:.80}, "
            f"of {', '.join(list(metrics)[:20])}."
        )
    metric = metrics[known[0]]
    if not metric.sign:
        raise QueryError(
            "`by` must be a metric with a known direction. Received: "
            f"by={metric.name!r:.80}. Name it in `higher` or `lower`; in the "
            'page, choose it beside "Best is".'
        )
    return metric


def default_axes(metrics, points=()):
    """Names of the axes, or `None` where there are no two metrics.

    First come those that HParams are configured to show, then a metric of
    naturalness and one of recall, then what was measured on held-out data. Of
    a recall at several ranks, it is the one in which the points differ most.
    """
    ranked = sorted(metrics.values(), key=axis_rank)
    useful = [m for m in ranked if m.featured and not is_bookkeeping(m)]
    first = sorted(useful, key=lambda m: m.featured)
    for role, preferred in _FIRST.items() if not first else ():
        names = [m.name for m in ranked if m.role == role]
        if role == "recall":
            # Held-out listeners first: own ones may co-adapt.
            others = [n for n in names if is_other_listener(n)]
            others = [n for n in others if n.endswith("r@10")]
            preferred = (*preferred[:2], *others, *preferred[2:])
        names.sort(key=[*preferred, *names].index)
        first += [
            metrics[widest(_ranks(name, names), points)] for name in names[:1]
        ]
    one, *others = dict.fromkeys([*first, *ranked]) or [None]
    if not others:
        return None
    # Not one metric on two splits.
    other = next((m for m in others if kind(m) != kind(one)), others[0])
    chosen = [one, other]
    if not all(m.role in _FIRST for m in chosen):
        # A metric that should rise is vertical.
        chosen.sort(key=lambda m: m.sign)
    return tuple(metric.name for metric in chosen)


def _ranks(name, names):
    """A recall by one listener at all its ranks; any other metric alone."""
    others = [n for n in names if recall_at(n) and recall_at(name)]
    return [name, *(n for n in others if metric_pool(n) == metric_pool(name))]
