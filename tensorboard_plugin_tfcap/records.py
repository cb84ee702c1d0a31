"""The plugin's own records, as points and samples."""

from tensorboard_plugin_tfcap.claims import read_claims
from tensorboard_plugin_tfcap.claims import read_missing
from tensorboard_plugin_tfcap.metadata import LARGEST_SAMPLES
from tensorboard_plugin_tfcap.metadata import LONGEST_TEXT
from tensorboard_plugin_tfcap.metadata import MOST
from tensorboard_plugin_tfcap.metadata import MOST_HUMAN
from tensorboard_plugin_tfcap.metadata import MOST_SAMPLES
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import finite_numbers
from tensorboard_plugin_tfcap.metadata import load_object
from tensorboard_plugin_tfcap.metadata import natural
from tensorboard_plugin_tfcap.metadata import plain_parameters
from tensorboard_plugin_tfcap.metadata import short_text
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint


def read_point(
    data: bytes, run: str, step: int, wall_time: float, samples: bool = False
):
    """One record of a run.

    Returns:
        `TradeoffPoint`, and the record's `best` as a `TradeoffPoint` and the
        name of its metric, or `None` where it has none.

    Raises:
        RecordError: If it cannot be read.
    """
    record = load_object(data)
    method = short_text(record.get("method"))
    if not method:
        raise RecordError("has no method")
    seed = record.get("seed")
    if seed is not None and not isinstance(seed, str | int | float):
        raise RecordError("has a seed that is neither a number nor a string")
    if isinstance(seed, int | float) and not abs(seed) < 1e300:
        raise RecordError("has a seed that is not finite")
    params = plain_parameters(record.get("params", {}))
    if split := short_text(record.get("split")):
        params.setdefault("split", split)
    about = {
        "run": run,
        "method": method,
        "params": params,
        "seed": short_text(seed) if isinstance(seed, str) else seed,
        "wall_time": wall_time,
        "samples": samples,
        "title": short_text(record.get("title")),
    }
    metrics, _ = finite_numbers(record.get("metrics"))
    bad = record.get("diverged", [])
    bad = [n for n in bad if short_text(n)] if isinstance(bad, list) else []
    if not metrics and not bad:
        raise RecordError("has no metric that is a finite number")
    bad = tuple(sorted({short_text(name) for name in bad[:MOST]}))
    point = TradeoffPoint(step=step, metrics=metrics, diverged=bad, **about)
    best = record.get("best")
    if not isinstance(best, dict) or not isinstance(best.get("step"), int):
        return point, None
    metrics, _ = finite_numbers(best.get("metrics"))
    best_point = TradeoffPoint(step=best["step"], metrics=metrics, **about)
    return point, (best_point, short_text(best.get("by")))


def read_samples(data: bytes):
    """Reads the captions of a run at one step.

    Returns:
        List of dicts: `id`, `name`, `caption`, `rank`, `human`, `human_rank`,
        `scores`, `claims`, which are `None` where they are not known,
        `missing`, and `image`, the number of its picture or `None`.

    Raises:
        RecordError: If it cannot be read.
    """
    items = load_object(data, LARGEST_SAMPLES).get("items")
    if not isinstance(items, list):
        raise RecordError("has no list of items")
    samples = []
    for item in items[:MOST_SAMPLES]:
        if not isinstance(item, dict):
            raise RecordError("has an item that is not an object")
        numbers, _ = finite_numbers(
            {k: item.get(k) for k in ("rank", "human_rank")}
        )
        human = item.get("human")
        human = human if isinstance(human, list) else []
        caption = short_text(item.get("caption"), LONGEST_TEXT)
        samples.append(
            {
                "id": short_text(str(item.get("id", ""))),
                "name": short_text(item.get("name")),
                "caption": caption,
                "rank": numbers.get("rank"),
                "human": [
                    short_text(text, LONGEST_TEXT)
                    for text in human[:MOST_HUMAN]
                ],
                "human_rank": numbers.get("human_rank"),
                "scores": finite_numbers(item.get("scores", {}))[0],
                "claims": read_claims(item.get("claims"), caption),
                "missing": read_missing(item.get("missing")),
                "image": natural(item.get("image")),
            }
        )
    return samples
