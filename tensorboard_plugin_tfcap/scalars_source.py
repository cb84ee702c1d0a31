"""Any two scalars of any runs, as points."""

import math
from collections import defaultdict
from dataclasses import replace

from tensorboard_plugin_tfcap.checkpoints import harm_notices
from tensorboard_plugin_tfcap.checkpoints import merged
from tensorboard_plugin_tfcap.checkpoints import sampled_notices
from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.dataset import best_metric
from tensorboard_plugin_tfcap.log import ALL
from tensorboard_plugin_tfcap.log import WHOLE
from tensorboard_plugin_tfcap.log import revision
from tensorboard_plugin_tfcap.run_names import BY_HPARAMS
from tensorboard_plugin_tfcap.run_names import BY_RUN
from tensorboard_plugin_tfcap.run_names import run_hparams
from tensorboard_plugin_tfcap.run_names import run_names
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
        best = (query.by, query.higher, query.lower)
        at = query.at if query.at in ("best", "common") else "last"
        return query.group, at, *(best if at == "best" else ()), *curve

    def dataset(self, query) -> Dataset:
        """Every run's last or best values."""
        members, notices = self._members(query)
        if query.at in ("best", "common"):
            histories = self._histories(members, WHOLE)
        else:
            histories = self._histories(members, downsample=1)
        last = [merged(points) for points in histories.values()]
        metrics, points = all_metrics(last, {}), last
        notices += harm_notices(last)
        if query.at == "best" and metrics:
            by = best_metric(metrics, query)
            points, sampled = self._best(histories, by)
            notices += sampled
        return Dataset(
            self.name,
            self.revision(),
            _repeated(points, query),
            metrics,
            notices=notices,
            histories=histories if query.at == "common" else {},
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
            steps, times, bad = defaultdict(dict), {}, defaultdict(set)
            for run, name in parts:
                for tag, series in data.get(run, {}).items():
                    metric = f"{name.part}/{tag}" if name.part else tag
                    for datum in series:
                        times[datum.step] = datum.wall_time
                        if math.isfinite(datum.value):
                            steps[datum.step][metric] = float(datum.value)
                        else:
                            bad[datum.step].add(metric)
            about = parts[0][1]
            points = [
                TradeoffPoint(
                    whole,
                    *(about.method, about.params, about.seed),
                    *(step, steps[step], times[step]),
                    diverged=tuple(sorted(bad[step])),
                )
                for step in sorted(times)
            ]
            if points:
                histories[whole] = points
        return histories

    def _best(self, histories, by):
        """The best step of each run, and notices of what was not looked at.

        A metric that was not logged at that step has its last value before.
        """
        chosen, sampled = [], []
        for run, points in histories.items():
            known = [
                place
                for place, point in enumerate(points)
                if by.name in point.metrics
            ]
            best = max(
                known,
                key=lambda place: by.sign * points[place].metrics[by.name],
                default=len(points) - 1,
            )
            chosen.append(merged(points[: best + 1]))
            if self._log.is_sampled(len(known), "scalars"):
                sampled.append(run)
        return chosen, sampled_notices(sampled, by, "scalars")


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
