"""A panel of listeners that never met the speakers which it hears."""

from reproduce.strangers.panel import StrangerPanel
from reproduce.strangers.settings import STRANGER_SETTINGS
from reproduce.strangers.settings import StrangerSettings
from reproduce.strangers.strangers import STRANGERS
from reproduce.strangers.strangers import Strangers
