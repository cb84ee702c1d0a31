"""Words, vocabularies and scores on the host: NumPy, no TensorFlow."""

from tfcap.text.tokenization import word_tokenize
from tfcap.text.vocabulary import Vocabulary
