"""Trade-off curves: their mathematics, their figure and their tables."""

from tensorboard_plugin_tfcap.tradeoff.figure import curve_figure
from tensorboard_plugin_tfcap.tradeoff.figure import write_curve_figure
from tensorboard_plugin_tfcap.tradeoff.listener_panels import listener_panels
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.panels import curve_panels
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.tables import curve_tables
