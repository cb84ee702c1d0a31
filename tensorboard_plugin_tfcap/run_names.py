"""Groups of runs of scalars: by HParams, or by their names."""

from dataclasses import dataclass
from dataclasses import field

from google.protobuf import json_format
from tensorboard.plugins.hparams import metadata

from tensorboard_plugin_tfcap.matching import search
from tensorboard_plugin_tfcap.metadata import plain_parameters


def run_hparams(log):
    """Settings by run."""
    hparams = {}
    for run, tags in log.tensors(metadata.PLUGIN_NAME).items():
        series = tags.get(metadata.SESSION_START_INFO_TAG)
        if series is None:
            continue
        started = metadata.parse_session_start_info_plugin_data(
            series.plugin_content
        )
        values = {
            name: json_format.MessageToDict(value)
            for name, value in started.hparams.items()
        }
        hparams[run] = plain_parameters(values)
    return hparams


BY_HPARAMS, BY_RUN = "hparams", "run"
#: Names of a setting that tells repetitions apart.
_SEEDS = ("seed", "random_seed", "rng_seed")
#: Folders in which Keras and others keep parts of one run.
_PARTS = ("train", "validation", "val", "test", "eval")


@dataclass(frozen=True)
class RunName:
    """Method, seed and settings of a run, by its name or HParams.

    Args:
        whole: String, the run that this one is a part of, or is.
        part: String, the rest of its name; may be empty.
    """

    whole: str
    part: str
    method: str
    params: dict = field(default_factory=dict)
    seed: str | int | float | None = None


def run_names(runs, group, hparams):
    """Groups all runs.

    Args:
        group: `"hparams"`, `"run"`, or a regular expression with named
            groups: `method`, `seed`, and any other for a parameter.

    Raises:
        QueryError: If the expression is none.

    Example:

    >>> from tensorboard_plugin_tfcap.run_names import run_names
    >>> found = run_names(
    ...     ["st/k=3/validation"], r"(?P<method>[^/]+)/k=(?P<k>[^/]+)", {}
    ... )
    >>> name = found["st/k=3/validation"]
    >>> name.method, name.params, name.part
    ('st', {'k': 3}, 'validation')
    """
    if group == BY_HPARAMS:
        names = {run: _by_hparams(run, hparams) for run in runs}
    elif group == BY_RUN:
        names = {run: _by_run(run) for run in runs}
    else:
        found = search("group", group, sorted(runs))
        names = {run: _by_match(run, match) for run, match in found.items()}
    return {run: name for run, name in names.items() if name is not None}


def _by_hparams(run, hparams):
    parts = run.split("/")
    for end in range(len(parts), 0, -1):
        whole = "/".join(parts[:end])
        if whole in hparams:
            settings = dict(hparams[whole])
            return _named(whole, "/".join(parts[end:]), settings, "runs")
    return None


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
    usual = run[: match.end]
    method = match.text if not settings else "runs"
    return _named(usual, run[match.end :].strip("/"), settings, method)


def _named(whole, part, settings, method):
    seeds = [name for name in settings if name.lower() in _SEEDS]
    values = [settings.pop(name) for name in seeds]
    method = str(settings.pop("method", method))
    return RunName(whole, part, method, settings, next(iter(values), None))


def plain_value(text):
    """A number where a text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
