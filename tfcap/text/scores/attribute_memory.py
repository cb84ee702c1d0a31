"""Rules of a spaCy pipeline that are matched once a word, not once a token."""

from typing import Any

#: Attributes that say all of a token that its own patterns ask for.
_KEY = ("ORTH", "TAG", "DEP", "POS", "MORPH", "LEMMA")
#: Attributes of patterns that those of the key determine.
_OF_WORDS = {
    *_KEY,
    *("TEXT", "LOWER", "NORM", "SHAPE", "PREFIX", "SUFFIX", "LENGTH"),
    *("IS_ALPHA", "IS_ASCII", "IS_DIGIT", "IS_LOWER", "IS_UPPER"),
    *("IS_TITLE", "IS_PUNCT", "IS_SPACE", "IS_STOP"),
    *("LIKE_NUM", "LIKE_URL", "LIKE_EMAIL"),
}
#: Words with their tags and dependencies that are kept at most, some 50 MB.
_KEPT = 1 << 17


class AttributeMemory:
    """An `AttributeRuler` of spaCy that matches each kind of token once.

    Matching its patterns, some 180 for English, to all tokens takes about as
    long as parsing captions. All but a few ask of one token what its word, tag
    and dependency say: what they set is remembered by these. Where one of the
    few matches, the ruler itself sets the attributes of the whole document.

    Args:
        ruler: `spacy.pipeline.AttributeRuler`.

    Call arguments:
        doc: `spacy.tokens.Doc`, tagged and parsed.

    Returns:
        The document, as the ruler returns it.
    """

    def __init__(self, ruler: Any):
        from spacy.matcher import Matcher

        self._ruler = ruler
        self._known = {}
        self._others = Matcher(ruler.vocab)
        for number, rule in enumerate(ruler.patterns):
            for pattern in rule["patterns"]:
                if not _of_one_word(pattern):
                    self._others.add(f"{number}", [pattern])

    def __call__(self, doc):
        if len(self._others) and self._others(doc):
            return self._ruler(doc)
        keys = [*map(tuple, doc.to_array([*_KEY]).tolist())]
        found = [self._known.get(key) for key in keys]
        if None in found:
            doc = self._ruler(doc)
            if len(self._known) > _KEPT:
                self._known = {}
            self._known |= {
                key: (t.tag, t.dep, t.pos, t.morph.key, t.lemma)
                for key, t in zip(keys, doc)
            }
            return doc
        for token, (tag, dep, pos, morph, lemma) in zip(doc, found):
            token.pos, token.lemma = pos, lemma
            token.set_morph(morph)
            # Of spaces only; each is dear to set.
            if token.tag != tag:
                token.tag = tag
            if token.dep != dep:
                token.dep = dep
        return doc


def _of_one_word(pattern):
    return (
        len(pattern) == 1 and {key.upper() for key in pattern[0]} <= _OF_WORDS
    )
