"""From the exact truth, by way of an annotator's style, to words."""

import functools

from reproduce.world.conversation import zipf
from reproduce.world.judging import SUBJECTIVE
from reproduce.world.judging import UNSURE
from reproduce.world.meaning import YES
from reproduce.world.noun_phrases import NounPhrases
from reproduce.world.noun_phrases import value_in
from reproduce.world.open_answers import MAX_WORDS
from reproduce.world.open_answers import OpenAnswers
from reproduce.world.words import BITS
from reproduce.world.words import GROUNDS
from reproduce.world.words import HEDGES
from reproduce.world.words import MASKS
from reproduce.world.words import NO_FORMS
from reproduce.world.words import NUMBERS
from reproduce.world.words import PLACE
from reproduce.world.words import SLOTS
from reproduce.world.words import TYPOS
from reproduce.world.words import YES_FORMS
from reproduce.world.words import plural

TERSE, NORMAL, VERBOSE = "terse", "normal", "verbose"
# Share of annotators; of their answers that are bare, or adorned with
# details; the rest are paraphrases.
_STYLES = {
    TERSE: (0.50, 0.87, 0.00),
    NORMAL: (0.28, 0.36, 0.33),
    VERBOSE: (0.22, 0.04, 0.87),
}
_TYPO_ODDS = 0.008
_SLIPS = {plain: typo for typo, plain in TYPOS.items()}


class Annotator:
    """Someone who sees the image and answers in a style of their own.

    Half of them are terse, some chatty; each keeps to digits or number
    words, commas or none, and favorite synonyms throughout a dialog.

    Args:
        rng: `np.random.Generator`.
    """

    def __init__(self, rng):
        self.rng = rng
        draw = rng.random()
        self.style = TERSE if draw < 0.5 else NORMAL if draw < 0.78 else VERBOSE
        _, self._bare, self._adorned = _STYLES[self.style]
        self._comma = "," if rng.random() < 0.4 else ""
        numbers = NUMBERS[int(rng.random() < 0.6)]
        self._phrases = NounPhrases(rng)
        self._open = OpenAnswers(rng, self._phrases, numbers, self._comma)

    def answer(self, question):
        """Says what `question.truth` holds, or hedges where it is `UNSURE`.

        Args:
            question: `Question`, its truth possibly that of a slip.

        Returns:
            String of at most `MAX_WORDS` words, commas counted.
        """
        truth = question.truth
        unsure = truth.doubt == UNSURE
        if truth.doubt == SUBJECTIVE:
            unsure = self.rng.random() < 0.3
        if unsure:
            return zipf(self.rng, HEDGES, 1.6 if self.style == TERSE else 0.9)
        draw = self.rng.random()
        manner = 0 if draw < self._bare else 1
        manner = 2 if draw > 1 - self._adorned else manner
        if truth.polarity:
            text = self._polar(question, manner)
        elif truth.number >= 0:
            text = self._open.number(truth, manner)
        elif truth.asked == MASKS["background"]:
            text = self._open.ground(truth, manner)
        elif truth.asked == MASKS["shape"]:
            text = self._open.neighbor(truth, manner)
        elif truth.asked & PLACE:
            text = self._open.position(truth, manner)
        else:
            text = self._open.attribute(truth, manner)
        return self._slip(text)

    def _slip(self, text):
        if self.rng.random() > _TYPO_ODDS:
            return text
        words = [_SLIPS.get(word, word) for word in text.split()]
        return " ".join(words)

    def _polar(self, question, manner):
        truth = question.truth
        word = "yes" if truth.polarity == YES else "no"
        if manner == 0:
            return word
        if manner == 1 or not truth.refs:
            return self._form(truth)
        detail = self._detail(question, MAX_WORDS - 1 - len(self._comma))
        return f"{word}{self._comma} {detail}" if detail else self._form(truth)

    def _form(self, truth):
        forms = _agreeing(truth.polarity, truth.frames)
        return zipf(self.rng, forms, 0.9)

    def _detail(self, question, budget):
        """What a talkative annotator adds to a yes or a no."""
        truth, draw = question.truth, self.rng.random()
        existence = question.kind == "existence"
        if existence and truth.number == 0:
            return self._absence(truth, budget)
        if len(truth.refs) > 1 and truth.number > 1:
            return self._open.group(truth)
        if question.kind == "ground":
            return zipf(self.rng, GROUNDS[value_in(truth.value, "background")])
        if len(truth.refs) > 1 and truth.asked and question.target:
            return self._open.values(truth, brief=False)
        fact = truth.refs[int(draw * 997) % len(truth.refs)]
        between = question.kind == "relation" and len(question.target) > 1
        if truth.asked & PLACE or between or draw < 0.15:
            return self._phrases.place(fact)
        if draw < 0.4 and not existence:
            slots = {s for s in SLOTS if MASKS[s] == truth.asked} or {"color"}
            slots = slots | {"size" if draw < 0.3 else "texture"}
            words = self._phrases.adjectives(fact, slots)
            # Plain things have few adjectives; then a phrase says more.
            if words:
                said = " and ".join(words)
                return ("it is " if draw < 0.27 else "it's ") + said
        return self._phrases.phrase(fact, budget, truth.asked)

    def _absence(self, truth, budget):
        draw, bits = self.rng.random(), truth.topic
        shape, absent = value_in(bits, "shape"), value_in(bits, "absent")
        color = value_in(bits, "color")
        if draw < 0.3:
            noun = plural(self._phrases.word(shape)) if shape else "things"
            noun = absent or noun
            texture = value_in(bits, "texture")
            texture = self._phrases.word(texture) if texture else ""
            named = f"{texture} {color or ''} {noun}".split()
            return " ".join(["there are no", *named])
        alike = [f for f in truth.refs if shape and f & BITS[shape]]
        facts = alike or truth.refs
        fact = facts[int(self.rng.random() * len(facts))]
        lead = zipf(self.rng, ("just ", "only ", ""))
        named = 0.2 if alike else 1.0
        budget -= len(lead.split())
        return lead + self._phrases.phrase(fact, budget, 0, named, 0.3)


@functools.lru_cache(maxsize=512)
def _agreeing(polarity, frames):
    """Paraphrases of yes or no that follow a question's verb."""
    forms = YES_FORMS if polarity == YES else NO_FORMS
    return tuple(f for f, _, frame in forms if not frame or frame & frames)
