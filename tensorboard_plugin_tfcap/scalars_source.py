"""Any two scalars of any runs, as points."""

import math
from collections import defaultdict
from dataclasses import replace

from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import QueryError
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.log import ALL
from tensorboard_plugin_tfcap.log import revision
from tensorboard_plugin_tfcap.run_names import BY_HPARAMS
from tensorboard_plugin_tfcap.run_names import BY_RUN
from tensorboard_plugin_tfcap.run_names import run_hparams
from tensorboard_plugin_tfcap.run_names import run_names
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tensorboard_plugin_tfcap.tradeoff.point import parameter_text


class ScalarsSource:
    """Reads scalars of runs that may never have heard of tfcap."""

    name = "scalars"

    def __init__(self, log):
        self._log = log
        self._scalars = log.scalars()

    def __len__(self):
        return len(self._scalars)

    def revision(self):
        """A text that changes when the log does."""
        return revision(self._scalars)

    def about(self, query):
        """Parts of a query on which the data set depends."""
        curve = (query.curve, query.order) if query.curve else ()
        return query.group, query.at, query.by, *curve

    def dataset(self, query) -> Dataset:
        """Every run's last or best values."""
        members, notices = self._members(query)
        if query.at == "best":
            points = self._best(members, query.by)
        else:
            points = [
                _merged(history)
                for history in self._histories(members, downsample=1).values()
            ]
        points = _repeated(points, query)
        metrics = all_metrics(points, {})
        return Dataset(
            self.name, self.revision(), points, metrics, notices=notices
        )

    def history(self, run: str, query):
        """All values of a run, step by step."""
        members, _ = self._members(query)
        chosen = {run: members[run]} if run in members else {}
        return self._histories(chosen, ALL).get(run, [])

    def _members(self, query):
        """Parts of runs by run, and notices of what belongs nowhere."""
        hparams = run_hparams(self._log)
        group = query.group or (BY_HPARAMS if hparams else BY_RUN)
        names = run_names(self._scalars, group, hparams)
        members = defaultdict(list)
        for run, name in sorted(names.items()):
            members[name.whole].append((run, name))
        unknown = len(self._scalars) - len(names)
        if not unknown:
            return members, []
        how = "have no HParams" if group == BY_HPARAMS else "do not match"
        return members, [f"{unknown} runs {how}, and are left out."]

    def _histories(self, members, downsample):
        """Lists of points in the order of steps, by run."""
        runs = [run for parts in members.values() for run, _ in parts]
        data = self._log.read_scalars(downsample, runs) if runs else {}
        histories = {}
        for whole, parts in members.items():
            steps, times = defaultdict(dict), {}
            for run, name in parts:
                for tag, series in data.get(run, {}).items():
                    metric = f"{name.part}/{tag}" if name.part else tag
                    for datum in series:
                        if math.isfinite(datum.value):
                            steps[datum.step][metric] = float(datum.value)
                            times[datum.step] = datum.wall_time
            about = parts[0][1]
            points = [
                TradeoffPoint(
                    whole,
                    *(about.method, about.params, about.seed),
                    *(step, steps[step], times[step]),
                )
                for step in sorted(steps)
            ]
            if points:
                histories[whole] = points
        return histories

    def _best(self, members, by):
        """The step of each run at which one metric is the best."""
        histories = self._histories(members, ALL)
        every = (p for points in histories.values() for p in points)
        names = {name for point in every for name in point.metrics}
        if names and by not in names:
            raise QueryError(
                f"`by` must be a scalar of the log. Received: by={by!r:.80}."
            )
        sign, chosen = named_metric(by or "").sign, []
        for points in histories.values():
            known = [p for p in points if by in p.metrics]
            chosen.append(
                max(known, key=lambda p: sign * p.metrics[by])
                if known
                else points[-1]
            )
        return chosen


def _merged(points):
    """The last value of everything that a run has measured."""
    metrics = {}
    for point in points:
        metrics |= point.metrics
    return replace(points[-1], metrics=metrics)


def _repeated(points, query):
    """Names curves as asked, and numbers runs that would be the same point."""
    repeated, counts = [], defaultdict(int)
    for point in points:
        params, method = dict(point.params), point.method
        if query.curve:
            named = [n for n in query.curve if n in params]
            texts = [method] if "method" in query.curve else []
            texts += [parameter_text(name, params[name]) for name in named]
            kept = {query.order} if query.order else set()
            params = {k: v for k, v in params.items() if k in kept}
            method = ", ".join(texts) or method
        key = (method, point.seed, tuple(sorted(params.items())))
        number, counts[key] = counts[key], counts[key] + 1
        seed = point.seed
        if number or query.curve:
            seed = number if seed is None else f"{seed} #{number}"
        repeated.append(replace(point, method=method, params=params, seed=seed))
    return repeated
