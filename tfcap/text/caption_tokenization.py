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

# Words, some with a hyphen or 's, commas between them and a full stop at the
# end: nearly all captions, of which the rules change nothing.
_PLAIN_WORD = r"[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*(?:'s)?"
_PLAIN = re.compile(
    rf" *{_PLAIN_WORD}(?:(?: ?,)? +{_PLAIN_WORD})* *(?:\. *)?"
).fullmatch
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


def caption_tokenize(text: str) -> list[str]:
    """Splits a caption into words as the COCO evaluation does.

    Published BLEU, CIDEr, METEOR, ROUGE and SPICE are scores of captions that
    Stanford's PTBTokenizer 3.4.1 has split and lower-cased and the coco-caption
    scripts have freed of punctuation. This gives the same words without Java.

    A caption is read by itself. Java looks past its end: whether the "U." that
    ends one keeps its full stop depends there on the word that begins the next
    one. And carriage returns, form feeds and Unicode line separators are white
    space here, where for Java they break a caption in two and shift all that
    follow.

    Of single odd words (elisions, measures, entities, smiles, other scripts)
    one in 200 is split differently, of odd words glued together by signs one in
    40: low quotes beside others; mail and web addresses with quotes in them;
    abbreviations after a slash, or with one letter glued behind their full stop
    (`Oct.a`, `etc.-a`); names of files with a number and two full stops; the
    decimal sign of Arabic; soft hyphens in numbers; `S&P-500` and `S&Ls`.

    Args:
        text: String, in any script.

    Returns:
        List of strings, none of them empty and none with white space within.

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
        TypeError: If `texts` is one string, or holds anything but strings.

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
    """The rules, and the pattern of a word: slow to compile, seldom needed."""
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
