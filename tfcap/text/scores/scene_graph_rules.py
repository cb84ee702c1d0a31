"""Rules that read a scene graph from the dependencies of a sentence."""

COLORS = frozenset(
    "beige black blond blonde blue bronze brown copper cream crimson dark gold "
    "golden gray green grey indigo ivory khaki lavender lilac magenta maroon "
    "navy olive orange peach pink purple red scarlet silver tan teal turquoise "
    "violet white yellow".split()
)
_NOUNS = {"NN", "NNS", "NNP", "NNPS"}
#: Nouns without a singular.
_PLURALS = {
    *("clothes", "fries", "goggles", "jeans", "leggings", "pajamas", "pants"),
    *("scissors", "shorts", "tights", "trousers"),
}
#: "a couple of dogs" are dogs.
_AMOUNTS = {"bit", "bunch", "couple", "deal", "lot", "pair", "plenty"}
#: Nouns that stand for what follows "of": in "a row of cars on a road", cars.
_FRAMES = {"image", "photo", "photograph", "picture", "shot", "video"}
_FRAMES |= {"bunch", "crowd", "flock", "group", "herd", "line", "pile", "roll"}
_FRAMES |= {"row", "set", "stack", "team"}
#: Prepositions that contain a noun.
_PHRASES = {("in", "front"), ("on", "top")}
#: Adverbs that a preposition follows: "next to".
_ADVERBS = {"next", "close", "far", "away", "ahead", "outside", "inside"}
_PRONOUNS = {"he", "she", "it", "they", "him", "her", "them", "one"}
_POSSESSIVES = {"his", "her", "hers", "its", "their"}
_RELATIVE = {"WDT", "WP", "IN"}


def read_graph(sentence: list) -> tuple[tuple, tuple, tuple]:
    """Reads a scene graph from the tokens of a parsed sentence.

    Args:
        sentence: List, or another sequence, of spaCy's tokens, whose
            dependencies have ClearNLP's labels.

    Returns:
        Objects, attributes and relations, as of a `SceneGraph`.
    """
    return _Reader(sentence).graph()


class _Reader:
    """A reader of the graph of a sentence."""

    def __init__(self, sentence):
        self.sentence = sentence
        self.names = {
            token.i: _noun_lemma(token)
            for token in sentence
            if _is_thing(token)
        }
        self.attributes, self.relations = {}, {}

    def graph(self):
        for token in self.sentence:
            if token.i in self.names:
                self.read_noun(token)
            elif token.lemma_ == "be" and token.pos_ in ("AUX", "VERB"):
                if token.dep_ not in ("aux", "auxpass"):
                    self.read_copula(token)
            elif token.tag_.startswith("VB") and token.dep_ not in _MODIFIERS:
                self.read_verb(token)
        objects = tuple(dict.fromkeys(self.names.values()))
        return objects, tuple(self.attributes), tuple(self.relations)

    def add_attribute(self, thing, word):
        self.attributes[self.names[thing.i], word] = None

    def relate(self, subject, relation, target):
        if subject.i != target.i:
            names = self.names[subject.i], relation, self.names[target.i]
            self.relations[names] = None

    def things(self, tokens):
        """Objects of noun phrases, including those joined by "and"."""
        things = []
        for part in _depth_first([*tokens], self.parts):
            if part.lower_ in _PRONOUNS:
                things += self.first(part)
            elif part.i in self.names:
                things.append(part)
        return things

    def parts(self, token):
        """Nouns after an amount of them, and words joined by "and"."""
        inner = []
        if token.lower_ not in _PRONOUNS and token.i not in self.names:
            inner = [
                noun
                for preposition in token.children
                if preposition.lower_ == "of"
                for noun in preposition.children
            ]
        return inner + _conjuncts(token)

    def first(self, pronoun):
        """The first object, in a list, if it precedes a pronoun."""
        return [self.sentence[i] for i in [*self.names][:1] if i < pronoun.i]

    def read_noun(self, noun):
        amount = noun.head.head
        if not (noun.head.lower_ == "of" and _is_amount(amount)):
            amount = None
        for head in filter(None, (noun, amount)):
            for word in _modifiers(head):
                self.read_modifier(noun, word)
            shown = self.shown(head)
            for relation, thing in self.prepositions(head):
                if relation == "of":
                    if head is noun:
                        self.relate(noun, relation, thing)
                    continue
                for subject in shown or [noun]:
                    self.relate(subject, relation, thing)
        for owner in _children(noun, "poss"):
            known = owner.lower_ in _POSSESSIVES
            for thing in self.first(owner) if known else self.things([owner]):
                self.relate(thing, "have", noun)

    def shown(self, noun):
        """Objects of a picture or a group."""
        preposition = _of(noun) if noun.lower_ in _FRAMES else None
        return self.things(preposition.children if preposition else ())

    def read_modifier(self, noun, word):
        """An adjective, a number, or a noun before a noun."""
        before = self.sentence[word.i - 1] if word.i else None
        if word.tag_ == "VBN" and before in word.children:
            if before.i in self.names:  # "snow covered mountain"
                return self.relate(before, _verb_lemma(word), noun)
            if before.lower_ in COLORS:
                self.add_attribute(noun, before.lower_)
        if not _is_adverb(word):
            self.add_attribute(noun, word.lower_)

    def prepositions(self, head):
        """Pairs of a preposition after a word, and its object."""
        for child in head.children:
            if child.dep_ in ("prep", "agent"):
                yield from self.after(child, child.lower_)
            elif child.dep_ == "advmod" or _is_adverb(child):
                named = f"{child.lower_} " * _is_adverb(child)
                for inner in _children(child, "prep"):
                    yield from self.after(inner, named + inner.lower_)

    def after(self, preposition, name):
        for named in _depth_first([(preposition, name)], _following):
            token, name = named
            if token.dep_ == "pobj" and not _following(named):
                for thing in self.things([token]):
                    yield name, thing

    def subjects(self, verb):
        """Objects that are subjects of a verb."""
        while True:
            own = _children(verb, "nsubj", "nsubjpass")
            if own and not (verb.dep_ == "relcl" and own[0].tag_ in _RELATIVE):
                return self.things(own)
            if verb.dep_ in ("acl", "relcl"):
                return self.shown(verb.head) or self.things([verb.head])
            if verb.dep_ not in ("conj", "xcomp", "advcl", "ccomp"):
                return []
            verb = verb.head

    def read_verb(self, verb):
        if _is_adverb(verb):
            return
        subjects = self.subjects(verb)
        particle = [c.lower_ for c in _children(verb, "prt")]
        name = " ".join([_verb_lemma(verb), *particle])
        direct = self.things(_children(verb, "dobj"))
        after = list(self.prepositions(verb))
        if not subjects:  # "we see a dog on a bed"
            for thing in direct:
                for preposition, place in after:
                    self.relate(thing, preposition, place)
        for subject in subjects:
            for thing in direct:
                self.relate(subject, name, thing)
            for preposition, thing in after:
                self.relate(subject, f"{name} {preposition}", thing)
                if thing.i == subject.i:  # "the rock has moss on it"
                    for moss in direct:
                        self.relate(moss, preposition, thing)
            if not direct and not after:
                self.add_attribute(subject, name)

    def read_copula(self, verb):
        subjects = self.subjects(verb)
        complements = [
            part
            for child in _children(verb, "acomp", "attr")
            if not _is_adverb(child)
            for part in (child, *_joined(child))
        ]
        for subject in subjects:
            for part in complements:
                self.add_attribute(subject, part.lower_)
        for subject in subjects or self.things(complements):
            for relation, thing in self.prepositions(verb):
                self.relate(subject, relation, thing)


_MODIFIERS = {"amod", "compound", "nmod", "aux", "auxpass", "npadvmod"}


def _depth_first(nodes, below):
    """Yields nodes depth-first, each before those below it.

    It does not recurse: a chain of a thousand words would exceed Python's
    stack.
    """
    waiting = [*reversed(nodes)]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(below(node))


def _modifiers(noun):
    return _depth_first(_own_modifiers(noun), _own_modifiers)


def _own_modifiers(token):
    return [
        part
        for child in token.children
        if child.dep_ in ("amod", "nummod", "compound", "nmod")
        or (child.dep_ == "advmod" and child.tag_ == "JJ")
        for part in (child, *_joined(child))
    ]


def _joined(token):
    """Words joined to a word by "and"."""
    return _depth_first(_conjuncts(token), _conjuncts)


def _conjuncts(token):
    return _children(token, "conj")


def _children(token, *labels):
    return [child for child in token.children if child.dep_ in labels]


def _following(named):
    """Words that follow a preposition or its object, each with its name."""
    token, name = named
    if token.dep_ == "pobj":
        inner = _of(token) if (name, token.lower_) in _PHRASES else None
        return [] if inner is None else [(inner, f"{name} {token.lower_} of")]
    following = []
    for child in token.children:
        if child.dep_ == "pobj":
            following.append((child, name))
        elif child.dep_ == "prep":
            following.append((child, f"{name} {child.lower_}"))
        elif child.dep_ == "conj":
            following.append((child, child.lower_))
    return following


def _of(noun):
    found = (c for c in _children(noun, "prep") if c.lower_ == "of")
    return next(found, None)


def _is_adverb(token):
    """Whether a word begins a preposition: "next to", "left of"."""
    if token.lower_ in ("left", "right"):
        return _of(token) is not None and not _children(token, "det")
    return token.lower_ in _ADVERBS


def _is_amount(token):
    return token.lemma_.lower() in _AMOUNTS and _of(token) is not None


def _is_thing(token):
    first = token.i == 0 and token.dep_ == "ROOT" and token.pos_ != "AUX"
    if first and "prep" in (parts := {c.dep_ for c in token.children}):
        # No commands occur in captions: "pillows on a bed".
        if parts <= {"prep", "punct", "acl"}:
            return True
    if token.tag_ not in _NOUNS or token.dep_ in ("compound", "nmod"):
        return False
    if _is_amount(token) or _is_adverb(token):
        return False
    head = token.head
    if token.lower_ in COLORS and head.tag_ == "VBN" and head.i == token.i + 1:
        return False  # "a blue striped shirt"
    if token.dep_ == "pobj" and (head.lower_, token.lower_) in _PHRASES:
        return _of(token) is None
    return True


def _noun_lemma(token):
    if token.lower_ in _PLURALS:
        return token.lower_
    return token.lemma_.lower()


def _verb_lemma(token):
    lemma = token.lemma_.lower()
    return "ride" if lemma == "rid" else lemma  # "rides", to spaCy
