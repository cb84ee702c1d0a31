"""Training captioning and visual dialog models through discrete words."""

from tfcap import data
from tfcap import decoding
from tfcap import layers
from tfcap import losses
from tfcap import metrics
from tfcap import models
from tfcap import objectives
from tfcap import ops
from tfcap import rewards
from tfcap import text

__version__ = "0.1.0"
