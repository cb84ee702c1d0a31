"""Tokenization of captions and of dialogs."""

import functools
import re
import unicodedata
from collections.abc import Iterable

from tfcap.text.caption_rules import ABBREVIATIONS
from tfcap.text.caption_rules import DROPPED
from tfcap.text.caption_rules import PARTED
from tfcap.text.caption_rules import RESTORED
from tfcap.text.caption_rules import RULES
from tfcap.text.caption_rules import TOKEN

_RESTORED = str.maketrans(RESTORED)
_DROPPED = frozenset(DROPPED)
_PARTED = frozenset(PARTED)

# Words, some with a hyphen or 's, with commas between them and a final full
# stop: nearly all captions, which need no rules.
_PLAIN_WORD = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:'s)?"
_PLAIN = re.compile(
    rf" *{_PLAIN_WORD}(?:(?: ?,)? +{_PLAIN_WORD})* *(?:\. *)?"
).fullmatch
# `\w` excludes the vowel signs of some scripts and the accents of decomposed
# letters; a word must not be split at them.
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


def caption_tokenize(text: str) -> list[str]:
    """Splits a caption into words as the COCO evaluation does.

    Published BLEU, CIDEr, METEOR, ROUGE and SPICE are scores of captions that
    Stanford's PTBTokenizer 3.4.1 split and lower-cased, and from which the
    coco-caption scripts removed punctuation. This function gives the same words
    without Java.

    Each caption is split by itself. The Java program looks past its end:
    whether a final "U." keeps its full stop depends on the first word of the
    next caption. Carriage returns, form feeds and Unicode line separators are
    white space here; in Java, they break a caption in two and shift all that
    follow.

    One in 200 unusual words (elisions, measures, entities, emoticons, other
    scripts) is split differently, and one in 40 of such words joined by signs:
    low quotes beside others; mail and web addresses that contain quotes;
    abbreviations after a slash, or with one letter after their full stop
    (`Oct.a`, `etc.-a`); file names with a number and two full stops; the
    decimal sign of Arabic; soft hyphens in numbers; `S&P-500` and `S&Ls`.

    Args:
        text: String, in any script.

    Returns:
        List of non-empty strings without white space.

    Raises:
        TypeError: If `text` is not a string.

    Example:

    >>> tfcap.text.caption_tokenize("A dog's ball, on St. John's half-made bed")
    ['a', 'dog', "'s", 'ball', 'on', 'st.', 'john', "'s", 'half-made', 'bed']
    """
    if not isinstance(text, str):
        raise TypeError(
            "`text` must be a string. Received: "
            f"text={text!r} of type {type(text).__name__}. Pass many captions "
            "to `caption_tokenize_batch()`."
        )
    words = _plain_words(text) if _PLAIN(text) else None
    return _ruled_words(text) if words is None else words


def caption_tokenize_batch(texts: Iterable[str]) -> list:
    """Splits many captions into words; see `caption_tokenize()`.

    Args:
        texts: Iterable of strings.

    Returns:
        List of as many lists of strings, in the same order.

    Raises:
        TypeError: If `texts` is a string, or holds anything but strings.

    Example:

    >>> from tfcap.text.caption_tokenization import caption_tokenize_batch
    >>> caption_tokenize_batch(["Two dogs.", "It isn't a cat!"])
    [['two', 'dogs'], ['it', 'is', "n't", 'a', 'cat']]
    """
    if isinstance(texts, str) or not isinstance(texts, Iterable):
        raise TypeError(
            "`texts` must be an iterable of strings. Received: "
            f"texts={texts!r}. Pass one caption to "
            "`tfcap.text.caption_tokenize()`."
        )
    return [caption_tokenize(text) for text in texts]


def _plain_words(text):
    """Words of a plain caption, or None if the rules may change them."""
    text = text.lower().replace(",", " ")
    if "'" in text:
        text = text.replace("'s", " 's")
    words = text.split()
    if words[-1][-1] == ".":
        last = words.pop()[:-1]
        if len(last) == 1 or last in ABBREVIATIONS:
            return None
        if last:
            words.append(last)
    return words if _PARTED.isdisjoint(words) else None


@functools.cache
def _compiled():
    """The rules and the pattern of a token, slow to compile, seldom needed."""
    rules = [(rule.needs, re.compile(rule[1]), rule[2]) for rule in RULES]
    return rules, re.compile(TOKEN)


def _ruled_words(text):
    rules, token = _compiled()
    text = f"  {text}  "
    for needs, pattern, rewrite in rules:
        if needs in text:
            text = pattern.sub(rewrite, text)
    text = " ".join(token.findall(text)).translate(_RESTORED)
    return [word for word in text.lower().split() if word not in _DROPPED]


def word_tokenize(text: str) -> list[str]:
    """Splits a sentence into lower-cased words and punctuation marks.

    As in the Penn Treebank, contractions are split in two and punctuation marks
    are separate tokens; hyphenated words, numbers, initials and decades remain
    whole. Only white space is lost, so the joined tokens spell the sentence.

    Args:
        text: String, in any script. Typographic quotes are read as plain ones.

    Returns:
        List of non-empty strings.

    Example:

    >>> tfcap.text.word_tokenize("Isn't it a t-shirt from the 20's?")
    ['is', "n't", 'it', 'a', 't-shirt', 'from', 'the', "20's", '?']
    """
    text = text.lower()
    if not text.isascii():
        text = unicodedata.normalize("NFC", text).translate(_QUOTES)
    return _TOKEN.findall(text)
