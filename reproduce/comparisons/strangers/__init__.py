"""A panel of listeners that never met the speakers which it hears."""

from reproduce.comparisons.strangers.panel import StrangerPanel
from reproduce.comparisons.strangers.settings import STRANGER_SETTINGS
from reproduce.comparisons.strangers.settings import StrangerSettings
from reproduce.comparisons.strangers.strangers import STRANGERS
from reproduce.comparisons.strangers.strangers import Strangers
