"""Losses for `compile()`, and as functions of embeddings."""

from tfcap.losses.contrastive_loss import BidirectionalContrastiveLoss
from tfcap.losses.contrastive_loss import bidirectional_contrastive_loss
from tfcap.losses.embedding_norm import EmbeddingNorm
from tfcap.losses.masked_loss import NPairLoss
from tfcap.losses.masked_loss import SequenceCrossentropy
from tfcap.losses.retrieval_loss import HingeRetrievalLoss
from tfcap.losses.retrieval_loss import hinge_retrieval_loss
