"""Splitting a sentence into words."""

import re
import unicodedata

# `\w` leaves out the marks that some scripts write their vowels with, and the
# accents of decomposed letters; a word must not fall apart at them.
_LETTER = (
    r"[\w\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f"
    r"\u0900-\u0963\u0966-\u0dff\u0e00-\u0eff\u200c\u200d]"
)

_TOKEN = re.compile(
    r"""
      n't\b | '(?:s|re|ve|ll|d|m)\b              # ends of contractions
    | (?:can(?=not\b)|(?:gon|wan)(?=na\b)|got(?=ta\b))
    | [a-z]+?(?=n't\b)                           # is|n't, ca|n't
    | \d+'s\b                                    # the 20's
    | \d+(?:[.,:]\d+)+\w*                        # 1,000  5:30pm  2.5
    | [a-z](?:\.[a-z])+\b\.?                     # p.m.  u.s.
    | LETTER+(?:(?:[-/]|'(?!(?:s|re|ve|ll|d|m)\b))LETTER+)*
    | \.\.+ | --+
    | \S
    """.replace("LETTER", _LETTER),
    re.VERBOSE,
)

_QUOTES = str.maketrans("\u2018\u2019\u201c\u201d", "''\"\"")


def word_tokenize(text):
    """Splits a sentence into lower-cased words and punctuation marks.

    Penn-Treebank-like: contractions fall into their two words, punctuation
    stays as tokens of its own, while hyphenated words, numbers, initials and
    decades remain whole. Not a character but white space is ever lost, so the
    tokens, joined, spell the sentence again.

    Args:
        text: String, in any script. Typographic quotes are read as plain ones.

    Returns:
        List of strings, none of them empty.

    Example:

    >>> tfcap.text.word_tokenize("Isn't it a t-shirt from the 20's?")
    ['is', "n't", 'it', 'a', 't-shirt', 'from', 'the', "20's", '?']
    """
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_QUOTES)
    return _TOKEN.findall(text)
