"""Captions of a run, with their pictures."""

from urllib.parse import urlencode

from tensorboard_plugin_tfcap.claims import marked_caption
from tensorboard_plugin_tfcap.metadata import SAMPLES_TAG
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.records import read_samples

#: Samples on a page.
PAGE = 8
#: First bytes of images that cannot contain scripts.
_PICTURES = {b"\xff\xd8\xff": "image/jpeg", b"\x89PNG\r\n\x1a\n": "image/png"}


def samples_view(log, run: str, step, page: int, about) -> dict:
    """One page of samples."""
    sequences = {s.step: s for s in log.read_blobs(run, SAMPLES_TAG)}
    steps = sorted(sequences)
    before = [s for s in steps if step is None or s <= step]
    view = {"run": run, "steps": steps, "page": page, **about}
    if not before:
        lacking = {"pages": 0, "count": 0, "items": [], "notices": []}
        return {**view, "step": None, **lacking}
    at = before[-1]
    values = sequences[at].values
    notices, items = [], []
    try:
        items = read_samples(
            log.read_blob(values[0].blob_key) if values else b""
        )
    except RecordError as error:
        notices.append(f"The samples of step {at} {error}.")
    shown = items[page * PAGE : (page + 1) * PAGE]
    return {
        **view,
        "step": at,
        "pages": -(-len(items) // PAGE),
        "count": len(items),
        "items": [
            {**i, **_judged(i), "image": _address(run, at, i, values)}
            for i in shown
        ],
        "notices": notices,
    }


def picture_type(data):
    """The content type of a picture, or `None` if it is not a picture."""
    for begin, kind in _PICTURES.items():
        if data.startswith(begin):
            return kind
    return None


def read_picture(log, run: str, step: int, number: int):
    """A picture of a run's samples.

    Returns:
        Its bytes and their content type, or `None` where there is no picture.
    """
    for sequence in log.read_blobs(run, SAMPLES_TAG):
        if sequence.step == step and 0 <= number < len(sequence.values) - 1:
            # The first blob is not a picture.
            data = log.read_blob(sequence.values[number + 1].blob_key)
            kind = picture_type(data)
            return None if kind is None else (data, kind)
    return None


def _judged(item):
    """A caption in pieces, and counts of its claims."""
    claims = item["claims"]
    return {
        "pieces": marked_caption(item["caption"], claims),
        "claims": None
        if claims is None
        else {
            "true": sum(claim.true for claim in claims),
            "count": len(claims),
            "false": [claim.text for claim in claims if not claim.true],
        },
    }


def _address(run, step, item, values):
    """Address of the picture of a sample, if there is one."""
    number = item["image"]
    if number is None or number + 1 >= len(values):
        return None
    return "blob?" + urlencode({"run": run, "step": step, "number": number})
