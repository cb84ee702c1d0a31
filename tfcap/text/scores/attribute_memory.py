"""Rules of a spaCy pipeline, matched once for all tokens that are alike."""

from typing import Any

#: What patterns may ask of one token whatever its value: all of it is known.
_WHOLE = ("IS_SPACE", "TAG", "DEP", "POS", "MORPH", "LEMMA")
#: Kinds of tokens that are kept at most.
_KEPT = 1 << 17


class AttributeMemory:
    """An `AttributeRuler` of spaCy that matches each kind of token once.

    Matching its patterns, some 180 for English, takes about as long as
    parsing captions. All but a few ask of one token its tag, its dependency
    or whether it is one of some words: what they set is remembered by these.
    Where one of the few matches, the ruler itself sets the attributes of the
    whole document.

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
        self._words = set()
        self._others = Matcher(ruler.vocab)
        patterns = [p for rule in ruler.patterns for p in rule["patterns"]]
        for number, pattern in enumerate(patterns):
            words = _words_of(pattern)
            if words is None:
                self._others.add(f"{number}", [pattern])
            else:
                self._words |= {ruler.vocab.strings.add(x) for x in words}

    def __call__(self, doc):
        if len(self._others) and self._others(doc):
            return self._ruler(doc)
        keys = [
            (word if word in self._words else 0, *rest)
            for word, *rest in doc.to_array(["LOWER", *_WHOLE]).tolist()
        ]
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


def _words_of(pattern):
    """The words that a pattern of one token names; `None` of any other."""
    if len(pattern) != 1:
        return None
    (asked,) = pattern
    words = asked.get("LOWER", {"IN": []})
    words = {"IN": [words]} if isinstance(words, str) else words
    understood = {*asked} <= {"LOWER", *_WHOLE} and {*words} == {"IN"}
    return words["IN"] if understood else None
