"""Memory of callbacks, which a run that goes on gives back to them."""

import keras
import numpy as np

#: What the callbacks of Keras remember of an epoch or a step before.
_KEPT = {
    keras.callbacks.EarlyStopping: (
        *("wait", "stopped_epoch", "best", "best_epoch", "best_weights"),
    ),
    keras.callbacks.ReduceLROnPlateau: ("wait", "best", "cooldown_counter"),
    keras.callbacks.ModelCheckpoint: (
        *("best", "_batches_seen_since_last_saving", "_last_batch_seen"),
    ),
    keras.callbacks.SwapEMAWeights: ("_ema_weights_in_model",),
}


def memory_of(callbacks):
    """State of callbacks, as a checkpoint keeps it.

    Returns:
        Pair: a list that JSON can hold, one entry for each that was asked, and
        the list of arrays that the entries name by their number.

    Raises:
        TypeError: If one remembers what neither can hold.
    """
    memory, arrays = [], []
    for callback in callbacks:
        state, name = _state(callback), type(callback).__name__
        if state is not None:
            memory.append([name, _packed(state, arrays, name)])
    return memory, arrays


def give_back(callbacks, memory: list, arrays) -> str:
    """Sets callbacks to what they remembered."""
    asked = [c for c in callbacks if _state(c) is not None]
    names = [type(callback).__name__ for callback in asked]
    known = [name for name, _ in memory]
    if names != known:
        return (
            f"The run had the callbacks {', '.join(known) or 'none'} to "
            f"remember, and has {', '.join(names) or 'none'} now: these begin "
            "anew."
        )
    for callback, (_, state) in zip(asked, memory):
        state = _unpacked(state, arrays)
        if hasattr(callback, "set_state"):
            callback.set_state(state)
        else:
            vars(callback).update(state)
    return ""


def history_of(history: keras.callbacks.History | None) -> dict | None:
    """The epochs and numbers of a history."""
    if history is None:
        return None
    logs = {
        name: [np.asarray(value).tolist() for value in values]
        for name, values in history.history.items()
    }
    return {"epoch": [int(e) for e in history.epoch], "logs": logs}


def set_history(history: keras.callbacks.History | None, saved: dict | None):
    """Sets a history to what `history_of()` returned."""
    if history is not None and saved:
        history.epoch = list(saved["epoch"])
        history.history.clear()
        history.history.update(saved["logs"])


def _state(callback):
    """State of a callback; `None` if it is not known."""
    if hasattr(callback, "get_state") and hasattr(callback, "set_state"):
        return callback.get_state()
    for kind, names in _KEPT.items():
        if isinstance(callback, kind):
            return {name: vars(callback).get(name) for name in names}
    return None


def _packed(value, arrays, place):
    """A value as JSON holds it; arrays are put into a list."""
    if isinstance(value, dict):
        # JSON would make text of other keys.
        items = [
            [
                _packed(key, arrays, f"a key of {place}"),
                _packed(entry, arrays, f"{place}[{key!r}]"),
            ]
            for key, entry in value.items()
        ]
        return {"items": items}
    if isinstance(value, (list, tuple)):
        packed = [
            _packed(entry, arrays, f"{place}[{i}]")
            for i, entry in enumerate(value)
        ]
        return {"tuple": packed} if isinstance(value, tuple) else packed
    if isinstance(value, np.generic) and value.dtype.kind in "biuf":
        return value.item()
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        # NumPy itself knows no bfloat16, which float32 holds exactly.
        short = value.dtype.kind == "V" and value.dtype.type is not np.void
        arrays.append(value.astype("float32") if short else value)
        return {"array": len(arrays) - 1}
    if not isinstance(value, str | int | float | None):
        raise TypeError(
            "What a callback remembers must be numbers, text and arrays, in "
            f"dicts, lists and tuples. Received: {value!r:.80} as {place}. "
            "Turn it into these in its `get_state()`."
        )
    return value


def _unpacked(value, arrays):
    if isinstance(value, list):
        return [_unpacked(entry, arrays) for entry in value]
    if not isinstance(value, dict):
        return value
    ((kind, packed),) = value.items()
    if kind == "array":
        return arrays[packed]
    if kind == "tuple":
        return tuple(_unpacked(packed, arrays))
    if kind == "items":
        return dict(_unpacked(packed, arrays))
    # Dicts of earlier versions.
    return {k: _unpacked(v, arrays) for k, v in packed.items()}
