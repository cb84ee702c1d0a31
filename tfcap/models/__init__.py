"""Networks: speakers, listeners and image encoders, without losses."""

from tfcap.models.adapters import WithoutAdapters
from tfcap.models.adapters import load_adapters
from tfcap.models.adapters import save_adapters
from tfcap.models.adapters import without_dropout
from tfcap.models.attention_speakers import Att2inSpeaker
from tfcap.models.attention_speakers import UpDownSpeaker
from tfcap.models.caption_speaker import CaptionSpeaker
from tfcap.models.causal_lm_speaker import CausalLMSpeaker
from tfcap.models.clip_listener import CLIPListener
from tfcap.models.dialog_discriminator import DialogDiscriminator
from tfcap.models.dialog_generator import DialogGenerator
from tfcap.models.discriminators import GrammarClassifier
from tfcap.models.discriminators import PairDiscriminator
from tfcap.models.dual_encoder import DualEncoder
from tfcap.models.gguf import from_gguf
from tfcap.models.host_retriever import clip_retriever
from tfcap.models.pruning import prune_vocabulary
from tfcap.models.retrieval_listener import CaptionEvaluator
from tfcap.models.retrieval_listener import RetrievalListener
from tfcap.models.show_tell_speaker import ShowTellSpeaker
from tfcap.models.transformer_speaker import TransformerSpeaker
from tfcap.models.wrapped_speaker import StepwiseSpeaker
from tfcap.models.wrapped_speaker import TeacherForcedSpeaker
