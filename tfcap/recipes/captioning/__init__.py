"""Cooperative captioning: a speaker and a listener, and what they trade."""

from tfcap.recipes.captioning.caption_data import CaptionData
from tfcap.recipes.captioning.caption_data import caption_files
from tfcap.recipes.captioning.caption_data import caption_world
from tfcap.recipes.captioning.caption_page import write_caption_page
from tfcap.recipes.captioning.methods import METHODS
from tfcap.recipes.captioning.networks import SPEAKERS
from tfcap.recipes.captioning.networks import make_listener
from tfcap.recipes.captioning.networks import make_speaker
from tfcap.recipes.captioning.settings import SETTINGS
from tfcap.recipes.captioning.settings import CaptioningSettings
from tfcap.recipes.captioning.study import CaptioningStudy
from tfcap.recipes.captioning.tradeoff_figure import curve_figure
from tfcap.recipes.captioning.tradeoff_figure import write_curve_figure
from tfcap.recipes.captioning.tradeoff_panels import Panel
from tfcap.recipes.captioning.tradeoff_panels import curve_panels
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_grid
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_sweep
from tfcap.recipes.captioning.tradeoff_table import TradeoffTable
from tfcap.recipes.captioning.tradeoff_tables import curve_tables
