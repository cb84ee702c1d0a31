"""Captions split into words inside a TensorFlow graph."""

import importlib
import re

from tfcap.text.caption_rules import DROPPED
from tfcap.text.caption_rules import RESTORED
from tfcap.text.caption_rules import RULES
from tfcap.text.caption_rules import TOKEN


def tokenize_captions(texts):
    """Splits captions into words as `tfcap.text.caption_tokenize()` does.

    For `tf.data` pipelines and for models that are exported with their text
    processing. The host and the graph follow one list of rules. Needs the
    package tensorflow-text: `pip install 'tfcap[text]'`.

    Args:
        texts: String tensor of shape `(B,)`. Bytes that are not UTF-8 count as
            white space.

    Returns:
        String `tf.RaggedTensor` of shape `(B, None)`.

    Raises:
        ImportError: If tensorflow-text is not installed.
        ValueError: If `texts` has another rank.

    Example:

    >>> tokens = tfcap.data.tokenize_captions(["A dog's bed.", "Isn't it?"])
    >>> tokens.to_list()
    [[b'a', b'dog', b"'s", b'bed'], [b'is', b"n't", b'it']]
    """
    import tensorflow as tf

    split = _tensorflow_text().regex_split
    texts = tf.convert_to_tensor(texts, tf.string)
    if texts.shape.rank != 1:
        raise ValueError(
            "`texts` must have shape (B,). Received: texts.shape="
            f"{texts.shape}. Batch the data set before it is mapped, "
            "which is much faster, too, or reshape."
        )
    rewrite = tf.strings.regex_replace
    texts = tf.strings.unicode_transcode(
        texts, "UTF-8", "UTF-8", errors="replace", replacement_char=ord(" ")
    )
    texts = tf.strings.join(["  ", texts, "  "])
    for rule in RULES:
        texts = rewrite(texts, rule.pattern, rule.rewrite)
    texts = rewrite(texts, TOKEN, r" \0 ")
    for stand_in, original in RESTORED.items():
        texts = rewrite(texts, re.escape(stand_in), original)
    texts = rewrite(tf.strings.lower(texts, "utf-8"), " +", "  ")
    dropped = "|".join(map(re.escape, DROPPED))
    return split(rewrite(texts, f" (?:{dropped}) ", "  "), " +")


def _tensorflow_text():
    try:
        return importlib.import_module("tensorflow_text")
    except ImportError as error:
        raise ImportError(
            "`tokenize_captions()` needs the package tensorflow-text. Install "
            "it with `pip install 'tfcap[text]'`, or split captions on the "
            "host with `tfcap.text.caption_tokenize_batch()`."
        ) from error
