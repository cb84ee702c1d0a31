"""Word channels, embeddings and encoders, as Keras layers."""

from tfcap.layers._fast import embed_words
from tfcap.layers.conditional_gumbel import GumbelRao
from tfcap.layers.conditional_gumbel import ReinMax
from tfcap.layers.conditional_gumbel import ReinMaxCV
from tfcap.layers.conditional_gumbel import ReinMaxRao
from tfcap.layers.dialog_encoder import AnswerEncoder
from tfcap.layers.dialog_encoder import DialogEncoder
from tfcap.layers.dialog_encoder import HCIAEEncoder
from tfcap.layers.dialog_encoder import HREAEncoder
from tfcap.layers.dialog_encoder import LateFusionEncoder
from tfcap.layers.dialog_encoder import MemoryNetworkEncoder
from tfcap.layers.image_standardization import ImageStandardization
from tfcap.layers.sequence_encoder import SoftEmbedding
from tfcap.layers.word_channel import Categorical
from tfcap.layers.word_channel import GumbelSoftmaxST
from tfcap.layers.word_channel import PartialSamplingST
from tfcap.layers.word_channel import ProbabilityChannel
from tfcap.layers.word_channel import WordChannel
