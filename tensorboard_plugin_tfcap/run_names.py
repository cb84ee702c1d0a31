"""Groups of runs of scalars: by HParams, or by their names."""

import posixpath
import re
from dataclasses import dataclass
from dataclasses import field

from tensorboard_plugin_tfcap.hparams import lending
from tensorboard_plugin_tfcap.matching import search
from tensorboard_plugin_tfcap.name_parts import name_settings
from tensorboard_plugin_tfcap.name_parts import plain_value
from tensorboard_plugin_tfcap.other_tabs import FIRST

BY_ALL, BY_HPARAMS, BY_RUN = "auto", "hparams", "run"
#: Names of a setting that tells repetitions apart.
_SEEDS = ("seed", "random_seed", "rng_seed")
#: Settings that name the method where nothing else is left of a name.
_METHODS = ("algorithm", "algo", "model", "arch", "architecture")
#: Folders with parts of one run, as of Keras.
_PARTS = ("train", "validation", "val", "test", "eval")


@dataclass(frozen=True)
class RunName:
    """Method, seed and settings of a run, by its name or HParams.

    Args:
        whole: String, the run that this one belongs to.
        part: String, the rest of its name; may be empty.
        results: Boolean, whether it contains the results of the whole run, as
            `add_hparams()` writes them at step 0. Defaults to `False`.
        metric: String, the name of its only metric. Defaults to `""`: its
            tag.
    """

    whole: str
    part: str
    method: str
    params: dict = field(default_factory=dict)
    seed: str | int | float | None = None
    results: bool = False
    metric: str = ""

    def metric_of(self, tag: str) -> str:
        """The name of a metric of the whole run."""
        name = (self.metric or tag).removeprefix(FIRST)
        return f"{self.part}/{name}" if self.part else name


def run_names(runs, group, hparams):
    """Groups all runs.

    Args:
        group: `"auto"`, by HParams and by `key=value` in names; `"hparams"`;
            `"run"`; or a regular expression with named groups: `method`,
            `seed`, and any other for a parameter.
        hparams: Dict of settings by run.

    Raises:
        QueryError: If `group` is not a regular expression.

    Example:

    >>> from tensorboard_plugin_tfcap.run_names import run_names
    >>> found = run_names(
    ...     ["st/k=3/validation"], r"(?P<method>[^/]+)/k=(?P<k>[^/]+)", {}
    ... )
    >>> name = found["st/k=3/validation"]
    >>> name.method, name.params, name.part
    ('st', {'k': 3}, 'validation')
    >>> run_names(["st/k=3/validation"], "auto", {}) == found
    True
    """
    if group in (BY_ALL, BY_HPARAMS):
        lent = lending(hparams, runs)
        usual = _by_name if group == BY_ALL else lambda run: None
        names = {
            run: _by_hparams(run, hparams, lent, group == BY_ALL) or usual(run)
            for run in runs
        }
    elif group == BY_RUN:
        names = {run: _by_run(run) for run in runs}
    else:
        found = search("group", group, sorted(runs))
        names = {run: _by_match(run, match) for run, match in found.items()}
    return {run: name for run, name in names.items() if name is not None}


def grouped_scalars(scalars) -> dict:
    """Runs that `add_scalars()` writes, one for each curve of a chart.

    For a part `train` of `Loss`, PyTorch writes a run `Loss_train` below that
    of its writer, tensorboardX a run `Loss/train`. The run's name is as given;
    in its only tag, characters other than word characters, `-`, `/` and `.`
    may be replaced by `_`.

    Args:
        scalars: Dict of dicts of time series by tag, by run.

    Returns:
        Dict of pairs by run: the run above, and the metric's name there.

    Example:

    >>> from tensorboard_plugin_tfcap.run_names import grouped_scalars
    >>> grouped_scalars({"a/Loss_train": {"Loss": None}, "a/b": {"Loss": None}})
    {'a/Loss_train': ('a', 'Loss/train')}
    >>> grouped_scalars({"a/r@10/val": {"r_10": None}})
    {'a/r@10/val': ('a', 'r@10/val')}
    """
    found = {}
    for run, tags in scalars.items():
        tag, *others = tags
        tag, place = tag.lstrip("/"), f"/{run}"
        path, flat = posixpath.normpath(tag), tag.replace("/", "_")
        # PyTorch replaces a leading slash by a `_` in the run's name.
        for name in (f"/{path}/", f"/{flat}_", f"/_{flat}_"):
            # Cleaning keeps the length, so that positions agree.
            start = _cleaned(place).rfind(_cleaned(name))
            end = start + len(name)
            if others or start < 0:
                continue
            # PyTorch joins a tag with slashes by `_`.
            given = path if "/" in path else place[: end - 1][-len(path) :]
            found[run] = place[1:start] or ".", f"{given}/{place[end:]}"
    return found


def _cleaned(tag):
    """A tag as writers clean it."""
    return re.sub(r"[^-/\w.]", "_", tag)


def _by_hparams(run, hparams, lent, and_name):
    lenders = {parent: child for child, parent in lent.items()}
    parts = run.split("/")
    for end in range(len(parts), -1, -1):
        whole = "/".join(parts[:end]) or "."
        lender = lenders.get(whole, whole)
        if lender not in hparams:
            continue
        part = "/".join(parts[end:]) if whole != run else ""
        results = whole in lent
        if results:
            whole = lent[whole]
        elif end == 0 and whole not in lenders and len(hparams) > 1:
            # Settings of the log directory apply to no other session.
            return None
        named, left = name_settings(whole) if and_name else ({}, "")
        settings = {**named, **hparams[lender]}
        return _named(
            *(whole, part, settings, left if named else ""),
            results=results,
        )
    return None


def _by_name(run):
    alone = _by_run(run)
    settings, left = name_settings(alone.whole)
    if not settings:
        return alone
    return _named(alone.whole, alone.part, settings, left)


def _by_run(run):
    whole, _, part = run.rpartition("/")
    if part in _PARTS and whole:
        return RunName(whole, part, whole)
    return RunName(run, "", run)


def _by_match(run, match):
    settings = {
        name: plain_value(text)
        for name, text in match.groups.items()
        if text is not None
    }
    method = match.text if not settings else ""
    alone = _by_run(run)
    # The rest of the name may be anything, such as names of many runs.
    inside = match.end <= len(alone.whole)
    place = (alone.whole, alone.part) if inside else (run, "")
    return _named(*place, settings, method)


def _named(whole, part, settings, left, **about):
    seeds = [name for name in settings if name.lower() in _SEEDS]
    values = [_whole_number(settings.pop(name)) for name in seeds]
    words = [n for n in _METHODS if isinstance(settings.get(n), str)]
    if not left and "method" not in settings and words:
        left = settings.pop(words[0])
    method = str(settings.pop("method", left or "runs"))
    seed = next(iter(values), None)
    return RunName(whole, part, method, settings, seed, **about)


def _whole_number(value):
    """Restores integers, which HParams store as floats."""
    whole = isinstance(value, float) and value.is_integer()
    return int(value) if whole else value
