"""Small stateless tensor functions that the other rooms share."""

from tfcap.ops.alignment import common_subsequence
from tfcap.ops.alignment import edit_distance
from tfcap.ops.compilation import Resident
from tfcap.ops.compilation import compiled
from tfcap.ops.host_calls import call_on_host
from tfcap.ops.host_calls import captions_of
from tfcap.ops.masking import masked_logsumexp
from tfcap.ops.masking import masked_mean
from tfcap.ops.masking import masked_softmax
from tfcap.ops.masking import sequence_mask
from tfcap.ops.ngram_table import NGramTable
from tfcap.ops.ngrams import ngram_counts
from tfcap.ops.ngrams import sentence_lengths
from tfcap.ops.ngrams import words_only
from tfcap.ops.replicas import SeedGenerator
from tfcap.ops.replicas import gather_across_replicas
from tfcap.ops.replicas import mean_over_replicas
from tfcap.ops.replicas import num_replicas
from tfcap.ops.replicas import rows_across_replicas
from tfcap.ops.replicas import sum_over_replicas
from tfcap.ops.sequences import map_distinct
from tfcap.ops.sequences import repeat_samples
from tfcap.ops.sequences import take_rows
from tfcap.ops.sequences import token_log_probs
from tfcap.ops.shapes import check_shape
from tfcap.ops.straight_through import straight_through
