"""The part of a log that a query selects: runs, axes and curves."""

from dataclasses import dataclass
from dataclasses import field
from dataclasses import replace

from tensorboard_plugin_tfcap.checkpoints import at_checkpoint
from tensorboard_plugin_tfcap.conditions import where
from tensorboard_plugin_tfcap.curve_names import named_curves
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.query_error import QueryError
from tensorboard_plugin_tfcap.tradeoff.curve_groups import group_points
from tensorboard_plugin_tfcap.tradeoff.curve_groups import is_categorical
from tensorboard_plugin_tfcap.tradeoff.curve_groups import measured_curves
from tensorboard_plugin_tfcap.tradeoff.metric_names import Metric
from tensorboard_plugin_tfcap.tradeoff.table import number
from tfcap.curves import operating_point


@dataclass(frozen=True)
class Selection:
    """The part of a data set that a query selects.

    Args:
        query: `Query`, completed by its preset.
        x: `Metric`, or `None` where there are no two metrics.
        order: String, the parameter along curves, or `None`.
        groups: Dict of lists of points by title.
        curves: Dict of dicts of `Curve` by seed, by title, without hidden
            methods.
        joined: Boolean, whether points are joined, which they are unless the
            parameter has strings as values.
        settings: Dict of all parameters by run.
    """

    dataset: Dataset
    query: Query
    x: Metric | None
    y: Metric | None
    order: str | None
    groups: dict
    curves: dict
    notices: list
    joined: bool = True
    settings: dict = field(default_factory=dict)

    def references(self):
        """Published points to draw, if the query asks for them."""
        return self.published() if self.query.refs else []

    def published(self):
        """Published points that have both metrics, of the same data."""
        if self.x is None:
            return []
        dataset = self.dataset
        return [
            replace(reference, title=dataset.title(reference.title))
            for reference in (
                *dataset.references,
                *dataset.comparison.references,
            )
            if self.x.name in reference.metrics
            and self.y.name in reference.metrics
            and dataset.comparison.fits(reference)
        ]

    def held_axes(self):
        """The metric that is held at a level, and the one to read there."""
        held = (self.x, self.y)
        return held[::-1] if self.query.along == "y" else held

    def focused(self, titles):
        """The same, whose focus is limited to the methods of a figure."""
        drawn = {*titles} - {*self.query.hide}
        focus = tuple(t for t in self.dataset.focus if t in drawn)
        return replace(self, dataset=replace(self.dataset, focus=focus))

    def preset(self):
        """The preset that was asked for, if it has panels, or `None`."""
        preset = self.dataset.presets.get(self.query.preset)
        return preset if preset is not None and preset.panels else None

    def line(self):
        """The line as a dict, or `None`: without curves, none is automatic."""
        query = self.query
        if query.value is None or not self.curves or not self.joined:
            return None
        along, held = query.along or "x", self.held_axes()[0]
        of = "naturalness" if along == "x" else "recall"
        values = [
            value
            for by_seed in self.curves.values()
            for curve in by_seed.values()
            for value in getattr(curve, of)
        ]
        low, high = float(min(values)), float(max(values))
        value = query.value
        if value == "auto":
            value = operating_point(self.curves, of, less=held.sign < 0)
            if value is None:
                return None
        found = {"along": along, "value": value, "low": low, "high": high}
        reached = self._reached(of, value)
        if not reached:
            offer = operating_point(self.curves, of, less=held.sign < 0)
            if offer is None:
                offer = min(values, key=lambda level: abs(level - value))
            found["offer"] = float(offer)
            found["note"] = (
                f"No curve reaches {held.title} = {number(value)}: they range "
                f"from {number(low)} to {number(high)}. At "
                f"{number(offer)}, {self._reached(of, offer)} of "
                f"{len(self.curves)} methods have a value."
            )
        return found

    def _reached(self, of, level):
        """Number of methods with a seed whose curve reaches a level."""
        return sum(
            any(
                getattr(curve, of).min() <= level <= getattr(curve, of).max()
                for curve in by_seed.values()
            )
            for by_seed in self.curves.values()
        )


def select(dataset: Dataset, query: Query) -> Selection:
    """Selects what a query asks for.

    Raises:
        QueryError: If a metric or parameter is absent.
    """
    query = with_preset(query, dataset.presets)
    dataset = dataset.directed(query)
    points = dataset.of_runs(query.runs)
    notices = list(dataset.notices)
    if dataset.points and not points:
        notices.append(f"No run matches {query.runs!r}.")
    every, points = points, where(points, query.where)
    if every and not points:
        notices.append(f"No run has {' and '.join(query.where)}.")
    order = dataset.order(query.order, query.curve)
    points, sentences = at_checkpoint(
        *(points, query.at, dataset.histories),
        _hidden_runs(points, query, order, dataset.titles),
    )
    notices += sentences
    settings = {point.run: point.params for point in points}
    axes = dataset.axes(query.x, query.y)
    if query.curve:
        points = named_curves(points, query.curve, order, dataset.titles)
        dataset = replace(dataset, points=points)
    if axes is None:
        return Selection(dataset, query, None, None, order, {}, {}, notices)
    unknown = [metric.title for metric in axes if not metric.sign]
    if unknown:
        notices.append(
            f"Whether more of {' and '.join(unknown)} is better is unknown: "
            "no value is bold, and there is no Pareto front. Choose it beside "
            "the axis."
        )
    groups, sentences = group_points(points, order, dataset.titles)
    notices += sentences
    shown = {t: group for t, group in groups.items() if t not in query.hide}
    curves, sentences = measured_curves(shown, *(a.name for a in axes), order)
    notices += sentences
    if query.at != "best":
        notices += _uneven(shown, order)
    joined = not is_categorical(points, order)
    if not joined:
        notices.append(
            f"{order} has strings as values: points are not joined, and no "
            "table interpolates between them."
        )
    if query.baseline and query.baseline not in groups:
        notices.append(
            f"There are no differences to {query.baseline:.80}: it has no "
            "curve here."
        )
        query = replace(query, baseline=None)
    return Selection(
        *(dataset, query, *axes, order, groups, curves, notices, joined),
        settings,
    )


def _hidden_runs(points, query, order, titles):
    """Runs of hidden methods only."""
    if not query.hide:
        return set()
    if query.curve:
        points = named_curves(points, query.curve, order, titles)
    groups, _ = group_points(points, order, titles)
    shown = [group for t, group in groups.items() if t not in query.hide]
    # Not the runs of hidden groups, which lack what was left out.
    return {p.run for p in points} - {p.run for group in shown for p in group}


def _uneven(groups, order):
    """Notices of points that average seeds at different steps."""
    for title, points in groups.items():
        steps = {}
        for point in points:
            steps.setdefault(point.params.get(order), []).append(point.step)
        uneven = [s for s in steps.values() if len(set(s)) > 1]
        if uneven:
            low, high = min(map(min, uneven)), max(map(max, uneven))
            yield (
                f"{title}: {len(uneven)} of {len(steps)} points are means of "
                f"seeds at different steps, {low} to {high}, and are hollow. "
                'The checkpoints "Common" and "Finished" compare equal steps.'
            )


def with_preset(query: Query, presets) -> Query:
    """Completes a query by its preset.

    Raises:
        QueryError: If there is no such preset.
    """
    if query.preset in (None, "", "-"):
        return query
    if query.preset not in presets:
        raise QueryError(
            f"`preset` must be one of {', '.join(presets) or 'none'}. "
            f"Received: preset={query.preset!r:.40}."
        )
    preset = presets[query.preset]
    if preset.panels:
        return query
    usual = {
        name: value
        for name in ("x", "y", "along", "value")
        if getattr(query, name) in (None, "auto")
        and (value := getattr(preset, name)) is not None
    }
    return replace(query, **usual)
