"""Settings of optimizers, such as learning rates, when a run goes on."""

import json
import warnings

from tfcap.training.model_description import optimizers_of

_RATE = "learning_rate"


class Settings:
    """Decides between settings of a program and those of a checkpoint.

    A learning rate is a setting and, as callbacks change it, part of a
    model's state. Where the program makes an optimizer as it did before, the
    state counts; where it makes another one, the program does. So a
    checkpoint tells with what settings the program had made the optimizers.

    Args:
        made: List of dicts, what `now` was when the checkpoint was written;
            None where that is not known.

    Attributes:
        now: List of dicts, the settings to write into the next checkpoint.
        changes: List of strings, sentences that tell which settings differ
            from those of the checkpoint.
    """

    def __init__(self, model, made=None):
        self.changes = []
        self._made = {}
        self.now = []
        for index, optimizer in enumerate(optimizers_of(model)):
            now = _settings(optimizer)
            self.now.append(now)
            known = made is not None and index < len(made)
            before = made[index] if known else {}
            self._tell(optimizer, now, before)
            # One that wraps another has a variable and no setting.
            for variable in _rates(optimizer) if _RATE in now else ():
                self._made[id(variable)] = now, before.get(_RATE)

    def keeps(self, variable, array) -> bool:
        """Check whether a variable keeps its value in spite of a checkpoint."""
        if id(variable) not in self._made:
            return False
        settings, made = self._made[id(variable)]
        now, then = settings[_RATE], float(array)
        if made is None:
            if now != then:
                self.changes.append(_change(_RATE, now, then, then))
            return False
        if now == then:
            # A callback's, of the run so far: the program has not changed it.
            settings[_RATE] = made
        if now in (made, then):
            return False
        self.changes.append(_change(_RATE, now, then, now))
        return True

    def _tell(self, optimizer, now, before):
        rates = [_RATE] if _rates(optimizer) else []
        for name in now:
            # Settings that came with a later Keras were not there to differ.
            if name in rates or name not in before:
                continue
            if now[name] != before[name]:
                values = now[name], before[name]
                self.changes.append(_change(name, *values, now[name]))


def _change(name, now, before, taken):
    return (
        f"`{name}` of the optimizer is {now} now, and {before} in the "
        f"checkpoint. Going on with {taken}."
    )


def _settings(optimizer):
    """The settings of an optimizer, as JSON gives them back."""
    with warnings.catch_warnings():
        # Of functions, which are not to be loaded again here.
        warnings.simplefilter("ignore")
        try:
            config = dict(optimizer.get_config())
        except NotImplementedError:
            # Of a schedule that does not say what it is.
            return {}
    for name in ("name", "inner_optimizer"):
        config.pop(name, None)
    return json.loads(json.dumps(config, default=_name))


def _name(value):
    """Number or name that JSON can hold for a value, alike in every process."""
    if hasattr(value, "item"):
        return value.item()
    return getattr(value, "__qualname__", type(value).__qualname__)


def _rates(optimizer):
    """The variables that hold an optimizer's own learning rate."""
    inner = getattr(optimizer, "inner_optimizer", None)
    others = {id(v) for v in inner.variables} if inner is not None else ()
    return [
        variable
        for variable in optimizer.variables
        if variable.name == _RATE and id(variable) not in others
    ]
