"""Losses for `compile()`, and the same as functions of embeddings."""

from tfcap.losses.bidirectional_contrastive_loss import (
    BidirectionalContrastiveLoss,
)
from tfcap.losses.bidirectional_contrastive_loss import (
    bidirectional_contrastive_loss,
)
from tfcap.losses.cross_batch_memory import CrossBatchMemory
from tfcap.losses.embedding_norm import EmbeddingNorm
from tfcap.losses.embedding_norm import embedding_norm
from tfcap.losses.hinge_retrieval_loss import HingeRetrievalLoss
from tfcap.losses.hinge_retrieval_loss import hinge_retrieval_loss
from tfcap.losses.masked_loss import MaskedLoss
from tfcap.losses.n_pair_loss import NPairLoss
from tfcap.losses.n_pair_loss import n_pair_loss
from tfcap.losses.n_pair_loss import n_pair_loss_from_scores
from tfcap.losses.one_pair_loss import OnePairLoss
from tfcap.losses.one_pair_loss import one_pair_loss
from tfcap.losses.sequence_crossentropy import SequenceCrossentropy
from tfcap.losses.sequence_crossentropy import sequence_crossentropy
