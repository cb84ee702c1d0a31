"""Distinctive captions under a fixed retriever: WTF-RL."""

from tfcap.recipes.distinctive.mining import mined_neighbors
from tfcap.recipes.distinctive.retriever_training import RETRIEVER_SETTINGS
from tfcap.recipes.distinctive.retriever_training import RetrieverSettings
from tfcap.recipes.distinctive.retriever_training import evaluate_retriever
from tfcap.recipes.distinctive.retriever_training import train_retriever
