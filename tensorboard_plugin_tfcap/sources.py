"""Sources of points: the plugin's own records, or scalars of any log."""

from tensorboard_plugin_tfcap.points_source import PointsSource
from tensorboard_plugin_tfcap.scalars_source import ScalarsSource

_KINDS = {kind.name: kind for kind in (PointsSource, ScalarsSource)}


class Sources:
    """The sources of one log, each listed when it is asked for."""

    def __init__(self, log):
        self.log = log
        self._listed = {}

    def chosen(self, name=None):
        """A source."""
        if name is not None:
            return self._source(name)
        for kind in _KINDS:
            if len(self._source(kind)):
                return self._source(kind)
        return self._source("points")

    def counts(self, chosen):
        """Numbers of runs by the name of a source.

        Where the chosen one has runs, the others are not read: `None`.
        """
        runs = len(self._source(chosen))
        return {
            name: None if runs and name != chosen else len(self._source(name))
            for name in _KINDS
        }

    def _source(self, name):
        if name not in self._listed:
            self._listed[name] = _KINDS[name](self.log)
        return self._listed[name]
