"""A panel of held-out listeners, trained without any speaker."""

from reproduce.comparisons.strangers.panel import StrangerPanel
from reproduce.comparisons.strangers.settings import STRANGER_SETTINGS
from reproduce.comparisons.strangers.settings import StrangerSettings
from reproduce.comparisons.strangers.strangers import STRANGERS
from reproduce.comparisons.strangers.strangers import Strangers
