"""Distinctive captions under a fixed retriever: WTF-RL."""

from reproduce.distinctive.distinctive_sweep import distinctive_grid
from reproduce.distinctive.distinctive_sweep import distinctive_reports
from reproduce.distinctive.distinctive_sweep import distinctive_sweep
from reproduce.distinctive.distinctive_tables import distinctive_tables
from reproduce.distinctive.mining import mined_neighbors
from reproduce.distinctive.retriever_training import RETRIEVER_SETTINGS
from reproduce.distinctive.retriever_training import RetrieverSettings
from reproduce.distinctive.retriever_training import evaluate_retriever
from reproduce.distinctive.retriever_training import train_retriever
from reproduce.distinctive.settings import SETTINGS
from reproduce.distinctive.settings import DistinctiveSettings
from reproduce.distinctive.study import ROWS
from reproduce.distinctive.study import DistinctiveStudy
