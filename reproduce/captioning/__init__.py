"""Cooperative captioning: a speaker and a listener, and what they trade."""

from reproduce.captioning.caption_data import CaptionData
from reproduce.captioning.caption_page import write_caption_page
from reproduce.captioning.load_data import caption_files
from reproduce.captioning.load_data import caption_videos
from reproduce.captioning.load_data import caption_world
from reproduce.captioning.methods import METHODS
from reproduce.captioning.networks import SPEAKERS
from reproduce.captioning.networks import make_listener
from reproduce.captioning.networks import make_speaker
from reproduce.captioning.plan import Plan
from reproduce.captioning.reward_settings import RewardSettings
from reproduce.captioning.reward_study import RewardStudy
from reproduce.captioning.settings import SETTINGS
from reproduce.captioning.settings import CaptioningSettings
from reproduce.captioning.study import CaptioningStudy
from reproduce.captioning.tradeoff_log import log_point
from reproduce.captioning.tradeoff_log import log_sweep
from reproduce.captioning.tradeoff_sweep import tradeoff_grid
from reproduce.captioning.tradeoff_sweep import tradeoff_sweep
