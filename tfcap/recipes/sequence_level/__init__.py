"""Sequence-level learning: SLL-SLE, the policy gradient of SPIDEr, MIXER."""

from tfcap.recipes.sequence_level.sequence_sweep import sequence_grid
from tfcap.recipes.sequence_level.sequence_sweep import sequence_sweep
from tfcap.recipes.sequence_level.sequence_sweep import several_captions
from tfcap.recipes.sequence_level.sequence_tables import sequence_tables
from tfcap.recipes.sequence_level.settings import SETTINGS
from tfcap.recipes.sequence_level.settings import SequenceLevelSettings
from tfcap.recipes.sequence_level.several_page import write_several_page
from tfcap.recipes.sequence_level.study import ROWS
from tfcap.recipes.sequence_level.study import SequenceLevelStudy
