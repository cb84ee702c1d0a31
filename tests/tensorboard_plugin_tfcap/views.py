"""Data sets, selections and views, of points and of logs, for the tests."""

from tensorboard_plugin_tfcap.dataset import Dataset
from tensorboard_plugin_tfcap.dataset import all_metrics
from tensorboard_plugin_tfcap.figure_view import figure_view
from tensorboard_plugin_tfcap.query import Query
from tensorboard_plugin_tfcap.report import read_log
from tensorboard_plugin_tfcap.selection import select
from tensorboard_plugin_tfcap.sources import Sources


def dataset(points, **more):
    return Dataset("points", "1", points, all_metrics(points, {}), **more)


def selected(points, **asked):
    """What is asked for, of points or of a data set."""
    found = points if isinstance(points, Dataset) else dataset(points)
    return select(found, Query(**asked))


def viewed(points, **asked):
    return figure_view(selected(points, **asked))


def traces(view, kind="curve"):
    """What a figure has of one kind."""
    found = view["figure"]["data"]
    return [trace for trace in found if trace["meta"]["kind"] == kind]


def logged(folder, source=None, **asked):
    """The data set of a log."""
    return Sources(read_log(folder)).chosen(source).dataset(Query(**asked))
