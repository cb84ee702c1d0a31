"""Shared parts of the captioning experiments."""

from reproduce.captioning.caption_data import CaptionData
from reproduce.captioning.caption_page import write_caption_page
from reproduce.captioning.load_data import caption_files
from reproduce.captioning.load_data import caption_videos
from reproduce.captioning.load_data import caption_world
from reproduce.captioning.networks import SPEAKERS
from reproduce.captioning.networks import make_listener
from reproduce.captioning.networks import make_speaker
