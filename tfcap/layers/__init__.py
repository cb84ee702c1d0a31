"""Word channels, embeddings and encoders, as Keras layers."""

from tfcap.layers._fast.word_vectors import embed_words
from tfcap.layers.answer_encoder import AnswerEncoder
from tfcap.layers.categorical import Categorical
from tfcap.layers.condition_dropout import ConditionDropout
from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.gumbel_rao import GumbelRao
from tfcap.layers.gumbel_softmax_st import GumbelSoftmaxST
from tfcap.layers.hciae_encoder import HCIAEEncoder
from tfcap.layers.hrea_encoder import HREAEncoder
from tfcap.layers.image_standardization import ImageStandardization
from tfcap.layers.late_fusion_encoder import LateFusionEncoder
from tfcap.layers.masked_gru import MaskedGRU
from tfcap.layers.masked_lstm import MaskedLSTM
from tfcap.layers.memory_network_encoder import MemoryNetworkEncoder
from tfcap.layers.partial_sampling_st import PartialSamplingST
from tfcap.layers.probability_channel import ProbabilityChannel
from tfcap.layers.query_attention import QueryAttention
from tfcap.layers.reinmax import ReinMax
from tfcap.layers.reinmax_cv import ReinMaxCV
from tfcap.layers.reinmax_rao import ReinMaxRao
from tfcap.layers.sequence_encoder import SequenceEncoder
from tfcap.layers.soft_embedding import SoftEmbedding
from tfcap.layers.word_channel import WordChannel
