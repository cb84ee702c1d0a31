"""Cooperative captioning: a speaker and a listener, and what they trade."""

from tensorboard_plugin_tfcap.tradeoff.figure import curve_figure
from tensorboard_plugin_tfcap.tradeoff.figure import write_curve_figure
from tensorboard_plugin_tfcap.tradeoff.panels import Panel
from tensorboard_plugin_tfcap.tradeoff.panels import curve_panels
from tensorboard_plugin_tfcap.tradeoff.table import TradeoffTable
from tensorboard_plugin_tfcap.tradeoff.tables import curve_tables
from tfcap.recipes.captioning.caption_data import CaptionData
from tfcap.recipes.captioning.caption_page import write_caption_page
from tfcap.recipes.captioning.load_data import caption_clips
from tfcap.recipes.captioning.load_data import caption_files
from tfcap.recipes.captioning.load_data import caption_world
from tfcap.recipes.captioning.methods import METHODS
from tfcap.recipes.captioning.networks import SPEAKERS
from tfcap.recipes.captioning.networks import make_listener
from tfcap.recipes.captioning.networks import make_speaker
from tfcap.recipes.captioning.plan import Plan
from tfcap.recipes.captioning.reward_settings import RewardSettings
from tfcap.recipes.captioning.reward_study import RewardStudy
from tfcap.recipes.captioning.settings import SETTINGS
from tfcap.recipes.captioning.settings import CaptioningSettings
from tfcap.recipes.captioning.study import CaptioningStudy
from tfcap.recipes.captioning.tradeoff_log import log_point
from tfcap.recipes.captioning.tradeoff_log import log_sweep
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_grid
from tfcap.recipes.captioning.tradeoff_sweep import tradeoff_sweep
