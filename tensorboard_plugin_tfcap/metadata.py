"""Names and versions of the plugin's records, and functions to read them."""

import json
import math
from dataclasses import dataclass

from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric

PLUGIN_NAME = "tfcap_tradeoff"
#: Version of the records; readers leave out newer ones, and say so.
VERSION = 1
POINT_TAG, SAMPLES_TAG = "tfcap_tradeoff/point", "tfcap_tradeoff/samples"
REFERENCE_TAG = "tfcap_tradeoff/reference"
COMPARISON_TAG = "tfcap_tradeoff/comparison"
KINDS = ("point", "samples", "reference", "comparison")
#: Most bytes of JSON, and most metrics and parameters of a record.
LARGEST, MOST = 1 << 18, 400
#: Most bytes of JSON of a step's samples, most samples, and most human
#: captions of each.
LARGEST_SAMPLES, MOST_SAMPLES, MOST_HUMAN = 1 << 23, 200, 10
#: Most characters of names and of captions.
LONGEST_NAME, LONGEST_TEXT = 200, 2000


class RecordError(ValueError):
    """A record that cannot be read."""


@dataclass(frozen=True)
class Content:
    """Metadata of a summary, which apply to all of its records.

    Args:
        metrics: Dict of `Metric` by name.
    """

    kind: str
    metrics: dict


def encode_content(kind, metrics=()) -> bytes:
    """The content of a summary's metadata, as bytes."""
    described = {
        m.name: {"title": m.title, "role": m.role}
        | ({"better": m.better} if m.sign else {})
        for m in metrics
    }
    content = {"version": VERSION, "kind": kind, "metrics": described}
    return json.dumps(content).encode()


def decode_content(content: bytes) -> Content:
    """Reads what `encode_content()` wrote.

    Raises:
        RecordError: If it is of another version, or malformed.

    Example:

    >>> from tensorboard_plugin_tfcap import metadata
    >>> metadata.decode_content(metadata.encode_content("point")).kind
    'point'
    """
    fields = load_object(content)
    kind = fields.get("kind")
    if kind not in KINDS:
        raise RecordError(f"is of an unknown kind ({kind!r:.40})")
    described = fields.get("metrics")
    metrics = {}
    for name, about in (described if _is_dict(described) else {}).items():
        metrics[name] = _metric(name, about if _is_dict(about) else {})
    return Content(kind, metrics)


def load_object(data, largest=LARGEST) -> dict:
    """Reads JSON of the supported version as a dict.

    Args:
        largest: Integer, most bytes.

    Raises:
        RecordError: If it is malformed.
    """
    if not isinstance(data, bytes | str):
        raise RecordError("is not text")
    if len(data) > largest:
        raise RecordError(f"is larger than {largest} bytes")
    try:
        loaded = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise RecordError("is not JSON") from error
    if not _is_dict(loaded):
        raise RecordError("is not a JSON object")
    version = loaded.get("version")
    if version != VERSION:
        newer = isinstance(version, int) and version > VERSION
        word = "a newer" if newer else "an unknown"
        raise RecordError(f"is of {word} version ({version!r:.20})")
    return loaded


def finite_numbers(values):
    """The finite numbers of a dict, and whether anything else was in it."""
    if not _is_dict(values):
        return {}, True
    kept = {
        name: float(value)
        for name, value in list(values.items())[:MOST]
        if isinstance(value, int | float)
        and not isinstance(value, bool)
        and abs(value) < 1e300
        and math.isfinite(value)
    }
    return kept, len(kept) < len(values)


def plain_parameters(values):
    """The numbers and strings of a dict: settings of a run.

    A number that is not finite becomes a string, such as `"inf"`.
    """
    kept = {}
    for name, value in list((values if _is_dict(values) else {}).items()):
        if isinstance(value, str):
            kept[name] = value[:LONGEST_NAME]
        elif isinstance(value, bool) or is_infinite(value):
            kept[name] = str(value)
        elif isinstance(value, int | float) and abs(value) < 1e300:
            kept[name] = value
    return dict(list(kept.items())[:MOST])


def is_infinite(value) -> bool:
    """Check whether a setting is a number that is not finite."""
    return isinstance(value, float) and not math.isfinite(value)


def natural(value):
    """A whole number from 0; `None` for anything else."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and value >= 0 else None


def short_text(value, longest=LONGEST_NAME):
    """A string, cut after some characters; `""` for anything else."""
    return value[:longest] if isinstance(value, str) else ""


def _metric(name, about):
    texts = {
        key: about[key][:LONGEST_NAME]
        for key in ("title", "better", "role")
        if isinstance(about.get(key), str)
    }
    try:
        return named_metric(name, **texts)
    except ValueError as error:
        raise RecordError(f"has an invalid metric: {error}") from error


def _is_dict(value):
    return isinstance(value, dict)
