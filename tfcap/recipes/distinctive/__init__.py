"""Distinctive captions under a fixed retriever: WTF-RL."""

from tfcap.recipes.distinctive.mining import mined_neighbors
from tfcap.recipes.distinctive.retriever import RETRIEVER_SETTINGS
from tfcap.recipes.distinctive.retriever import RetrieverSettings
from tfcap.recipes.distinctive.retriever import evaluate_retriever
from tfcap.recipes.distinctive.retriever import train_retriever
