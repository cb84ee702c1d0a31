"""Figures and tables of trade-off curves, for any methods and metrics."""

from tensorboard_plugin_tfcap.tradeoff.metric_names import NATURALNESS
from tensorboard_plugin_tfcap.tradeoff.metric_names import named_metric
from tensorboard_plugin_tfcap.tradeoff.name_labels import name_places
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.panels import axes_panel
from tensorboard_plugin_tfcap.tradeoff.panels import parameter_panel
from tensorboard_plugin_tfcap.tradeoff.picture import write_picture
from tensorboard_plugin_tfcap.tradeoff.plotly_figure import panels_figure
from tensorboard_plugin_tfcap.tradeoff.point import Reference
from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint
from tensorboard_plugin_tfcap.tradeoff.style import LEGEND
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.table import absences
from tensorboard_plugin_tfcap.tradeoff.table import cell
from tensorboard_plugin_tfcap.tradeoff.table import found_cell
from tensorboard_plugin_tfcap.tradeoff.table import found_on
from tensorboard_plugin_tfcap.tradeoff.table import markdown_table
from tensorboard_plugin_tfcap.tradeoff.table import not_reached
from tensorboard_plugin_tfcap.tradeoff.table import number
from tensorboard_plugin_tfcap.tradeoff.table import seeds_cell
