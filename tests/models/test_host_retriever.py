import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import captions
from tests.tiny import *  # noqa: F403
from tfcap.models import HostRetriever
