"""The laboratory: the five papers' experiments, run with the kit."""

from reproduce import captioning
from reproduce import distinctive
from reproduce import sequence_level
from reproduce import visdial
from reproduce import world
from reproduce.sweep_records import load_records
