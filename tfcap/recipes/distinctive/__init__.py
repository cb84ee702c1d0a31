"""Distinctive captions under a fixed retriever: WTF-RL."""

from tfcap.recipes.distinctive.distinctive_sweep import distinctive_grid
from tfcap.recipes.distinctive.distinctive_sweep import distinctive_reports
from tfcap.recipes.distinctive.distinctive_sweep import distinctive_sweep
from tfcap.recipes.distinctive.distinctive_tables import distinctive_tables
from tfcap.recipes.distinctive.mining import mined_neighbors
from tfcap.recipes.distinctive.retriever_training import RETRIEVER_SETTINGS
from tfcap.recipes.distinctive.retriever_training import RetrieverSettings
from tfcap.recipes.distinctive.retriever_training import evaluate_retriever
from tfcap.recipes.distinctive.retriever_training import train_retriever
from tfcap.recipes.distinctive.settings import SETTINGS
from tfcap.recipes.distinctive.settings import DistinctiveSettings
from tfcap.recipes.distinctive.study import ROWS
from tfcap.recipes.distinctive.study import DistinctiveStudy
