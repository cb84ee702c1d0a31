"""Decoders, and the protocol of speakers."""

from tfcap.decoding.beam_search import BeamSearch
from tfcap.decoding.candidate_scores import score_candidates
from tfcap.decoding.mixed_prefix import MixedPrefix
from tfcap.decoding.rollout import Decoder
from tfcap.decoding.rollout import Rollout
from tfcap.decoding.sample import Greedy
from tfcap.decoding.sample import GroundTruth
from tfcap.decoding.sample import Sample
from tfcap.decoding.scheduled_sampling import ScheduledSampling
from tfcap.decoding.speaker import Speaker
from tfcap.decoding.speaker import state_vector
from tfcap.decoding.speaker import stepwise_log_probs
from tfcap.decoding.sum_and_sample import SumAndSample
