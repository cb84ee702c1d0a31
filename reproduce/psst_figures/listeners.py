"""Listeners of a sweep: the speaker's own, and those that never met it.

A speaker and a listener that learn together may agree on a code. Recall by a
listener that was not there tells what captions say to others.
"""

import re

from reproduce.psst_figures.methods import measured

RECALLS = ("r@1", "r@5", "r@10")
FIXED = "fixed_"
#: The mean of a panel of listeners, none of which met the speaker.
STRANGERS = "strangers_"
#: What stands before names of scores that are no other listener's.
_NO_LISTENER = ("human_", "image_to_text_", "first_", "beam_", "greedy_")
#: Who listens to human captions alone, and is the fixed listener itself.
_ITSELF = "listener_gt"

NOTE = (
    "Fixed: the listener of phase 1, which heard people alone; own: the one "
    "that began as it and learned with the speaker. What own exceeds fixed by "
    "is a language of these two, or a listener that has learned more (the "
    "frozen speaker's has learned more alone). Where they are one (a frozen "
    "listener, as that of Luo et al.), the speaker was trained for it: it is "
    "no stranger."
)
PANEL_NOTE = (
    "Strangers: the mean of a panel of listeners of several makes that learned "
    "from people alone (`python -m reproduce strangers`)."
)


def listeners(records: list[dict], recall: str = "r@10", decoding=""):
    """Listeners of a record, those that never met the speakers first.

    Args:
        decoding: String before the names of scores, such as `"beam_"`.
            Defaults to `""`.

    Returns:
        List of prefixes of `recall`: `"fixed_"`, those of other listeners,
        and `""`, the speaker's own, where a record has it.

    Example:

    >>> from reproduce.psst_figures.listeners import listeners
    >>> listeners([{"r@10": 58.7, "fixed_r@10": 47.7, "human_r@10": 44.0}])
    ['fixed_', '']
    """
    names = {name for r in records for name in r if measured(r, name)}
    pattern = re.compile(
        rf"{re.escape(decoding)}((?:\w+_)?){re.escape(recall)}$"
    )
    prefixes = {m[1] for name in names if (m := pattern.match(name))}
    others = sorted(
        p for p in prefixes if p and not any(x in p for x in _NO_LISTENER)
    )
    first = [STRANGERS, FIXED]
    others.sort(key=lambda x: first.index(x) if x in first else len(first))
    return [*others, *([""] if "" in prefixes else [])]


def listener_notes(heard):
    """Notes on the listeners that a table has columns of."""
    notes = [NOTE] if len(heard) > 1 else []
    return notes + [PANEL_NOTE] * (STRANGERS in heard)


def listener_title(prefix):
    """Title of a listener: `"fixed listener"`."""
    if prefix == STRANGERS:
        return "strangers"
    return f"{prefix.removesuffix('_').replace('_', ' ') or 'own'} listener"


def recall_head(recall, prefix, several):
    """The head of a column: `"fixed R@10"`; `"R@10"` where one listens."""
    word = prefix.removesuffix("_").replace("_", " ") or "own"
    return f"{word} {recall.upper()}" if several else recall.upper()


def with_fixed_listener(records: list[dict]):
    """Records in which the fixed listener's own row says that it is fixed.

    Returns:
        List of dicts. Of human captions heard by the listener that learned
        from these alone, recall by the fixed one is its own.
    """
    if FIXED not in listeners(records):
        return list(records)
    rescored = []
    for record in records:
        if record["method"] == _ITSELF:
            own = {f"{FIXED}{k}": record[k] for k in RECALLS if k in record}
            record = {**own, **record}
        rescored.append(record)
    return rescored
