"""Words, vocabularies and scores on the host: NumPy, no TensorFlow."""

from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.caption_tokenization import word_tokenize
from tfcap.text.document_frequencies import DocumentFrequencies
from tfcap.text.document_frequencies import coco_captions
from tfcap.text.evaluation import METRICS
from tfcap.text.evaluation import caption_language
from tfcap.text.evaluation import evaluate_captions
from tfcap.text.missing_score import MissingScoreError
from tfcap.text.score_differences import score_differences
from tfcap.text.scores.bleu import bleu
from tfcap.text.scores.cider import cider_d
from tfcap.text.scores.cider import self_cider
from tfcap.text.scores.meteor import meteor
from tfcap.text.scores.rouge_l import rouge_l
from tfcap.text.scores.spice_spacy import SceneGraph
from tfcap.text.scores.spice_spacy import SceneGraphParser
from tfcap.text.scores.spice_spacy import spice_spacy
from tfcap.text.tokenizers import as_vocabulary
from tfcap.text.training_captions import TrainingCaptions
from tfcap.text.vocabulary import Vocabulary
