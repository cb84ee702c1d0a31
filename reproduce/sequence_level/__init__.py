"""Sequence-level learning: SLL-SLE, the policy gradient of SPIDEr, MIXER."""

from reproduce.sequence_level.sequence_sweep import sequence_grid
from reproduce.sequence_level.sequence_sweep import sequence_sweep
from reproduce.sequence_level.sequence_sweep import several_captions
from reproduce.sequence_level.sequence_tables import sequence_tables
from reproduce.sequence_level.settings import SETTINGS
from reproduce.sequence_level.settings import SequenceLevelSettings
from reproduce.sequence_level.several_page import write_several_page
from reproduce.sequence_level.study import ROWS
from reproduce.sequence_level.study import SequenceLevelStudy
