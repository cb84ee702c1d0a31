import pytest

from tensorboard_plugin_tfcap import log


class HalfRead:
    """A provider that does not find a tag for some calls."""

    def __init__(self, calls):
        self.calls = calls

    def list_tensors(self, context, *, experiment_id, plugin_name):
        self.calls -= 1
        if self.calls >= 0:
            raise KeyError("tag")
        return {"run": (context, experiment_id, plugin_name)}


@pytest.mark.parametrize("calls, found", [(0, True), (3, True), (99, False)])
def test_a_tag_that_is_half_read_is_waited_for(calls, found, monkeypatch):
    monkeypatch.setattr(log, "_PAUSE", 0.0)
    tab = log.Log(HalfRead(calls), "context", "a")
    if found:
        assert tab.tensors("mine") == {"run": ("context", "a", "mine")}
    else:
        with pytest.raises(KeyError, match="tag"):
            tab.tensors()
