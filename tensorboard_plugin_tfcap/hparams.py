"""HParams of a log: settings of its runs, and metrics to show."""

import posixpath
import re

from google.protobuf.message import DecodeError
from tensorboard.plugins.hparams import error
from tensorboard.plugins.hparams import metadata

from tensorboard_plugin_tfcap.metadata import plain_parameters

#: A folder that `add_hparams()` of PyTorch and tensorboardX names by the time.
_TIME = re.compile(r"\d{9,}(\.\d+)?", re.ASCII)
#: Kinds of values of settings.
_KINDS = ("bool_value", "number_value", "string_value")


def run_hparams(listed):
    """Settings by run.

    Args:
        listed: Time series of the HParams plugin, as of `Log.tensors()`.
    """
    hparams = {}
    for run, tags in listed.items():
        series = tags.get(metadata.SESSION_START_INFO_TAG)
        started = _content(
            series, metadata.parse_session_start_info_plugin_data
        )
        if started is not None:
            values = {
                name: getattr(value, kind)
                for name, value in started.hparams.items()
                if (kind := value.WhichOneof("kind")) in _KINDS
            }
            hparams[run] = plain_parameters(values)
    return hparams


def hparams_metrics(listed) -> dict:
    """Metrics that HParams are configured to show.

    Returns:
        Dict of titles, which may be empty, by name, in their order.
    """
    titles = {}
    for _, tags in sorted(listed.items()):
        series = tags.get(metadata.EXPERIMENT_TAG)
        found = _content(series, metadata.parse_experiment_plugin_data)
        for info in found.metric_infos if found is not None else ():
            name = info.name
            tag = f"{name.group}/{name.tag}" if name.group else name.tag
            titles.setdefault(tag, info.display_name)
    return titles


def _content(series, parse):
    """The message of a summary, or `None` if it cannot be parsed."""
    try:
        return series and parse(series.plugin_content)
    except (error.HParamsError, DecodeError):
        return None


def lending(hparams, runs) -> dict:
    """Runs whose HParams are in a folder below them.

    `add_hparams()` of PyTorch and tensorboardX writes them there, with the
    run's results.

    Args:
        hparams: Dict of settings by run.
        runs: Names of runs that have scalars.

    Returns:
        Dict of runs by the folder below them.
    """
    below = {}
    for child in hparams:
        if child not in ("", "."):
            below.setdefault(posixpath.dirname(child) or ".", []).append(child)
    runs = set(runs)
    found = {}
    for parent, children in below.items():
        if parent in hparams or len(children) > 1:
            # These are separate sessions.
            continue
        is_time = _TIME.fullmatch(posixpath.basename(children[0]))
        others = any(
            posixpath.dirname(run) == parent and run != children[0]
            for run in runs
        )
        own = parent in runs and parent != "."
        if own or (is_time and (parent in runs or others)):
            found[children[0]] = parent
    return found
