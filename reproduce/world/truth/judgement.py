"""Claims against facts: what is said and true, and what could be said."""

import itertools
from typing import NamedTuple

from reproduce.world.truth.facts import slot_of


class Claim(NamedTuple):
    """One thing that is claimed, and whether it is so.

    Args:
        kind: String: `"object"`, `"color"`, `"size"`, `"texture"`, `"place"`,
            `"count"`, `"relation"`, `"ground"`, `"motion"`, `"way"`,
            `"pace"`, `"others"` or `"varied"`.
        mentions: Tuple of integers, the noun phrases that it is about.
        value: String, what is claimed.
    """

    kind: str
    mentions: tuple[int, ...]
    value: str
    true: bool


class Judgement(NamedTuple):
    """The claims of a caption, judged, and the facts that they tell.

    Args:
        claims: Tuple of `Claim`.
        told: Frozenset of keys of `Facts.sayable`.
        facts: The `Facts`.
    """

    claims: tuple[Claim, ...]
    told: frozenset
    facts: object

    @property
    def precision(self):
        """Share of the claims that are true; 1 of none."""
        if not self.claims:
            return 1.0
        return sum(claim.true for claim in self.claims) / len(self.claims)

    @property
    def recall(self):
        """Share of what could be said that is said."""
        return len(self.told) / len(self.facts.sayable)

    def weighted_recall(self, weights):
        """Recall in which facts count as often as people tell them.

        Args:
            weights: Dict of floats by kind of a fact, see `fact_weights()`.
        """
        worth = {
            key: weights.get(kind, 0.0)
            for key, kind in self.facts.sayable.items()
        }
        return sum(worth[key] for key in self.told) / sum(worth.values())

    @property
    def f1(self):
        """Harmonic mean of precision and recall."""
        precision, recall = self.precision, self.recall
        return 2 * precision * recall / ((precision + recall) or 1.0)


def judge_claims(claims, facts) -> Judgement:
    """Judges all claims of a caption.

    Each noun phrase is about a thing of its own, so that "a ball and a ball"
    claims two: of all ways to tell which is which, the one that makes most
    claims true. What is said of a thing that is not there is false. A phrase
    of several, "two red boxes", is about up to as many things, all of which
    must look so; its number is that of all that look so.

    Args:
        claims: `Claims`.
        facts: `Facts` of what is shown.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.truth import Facts, judge_claims, read_caption
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> facts = Facts(Scene("grass", (ball,)))
    >>> judged = judge_claims(read_caption("a big blue ball on sand"), facts)
    >>> [(claim.value, claim.true) for claim in judged.claims]
    [('ball', True), ('blue', False), ('large', True), ('sand', False)]
    """
    return _Judge(claims, facts).judge()


class _Judge:
    """One caption before one scene or video."""

    def __init__(self, claims, facts):
        self.claims, self.facts = claims, facts
        # Claims about a mention that are settled with its own.
        self.links = [[] for _ in claims.mentions]
        self.options = [*map(self.choices, range(len(claims.mentions)))]
        for kind, links in (
            ("relation", claims.relations),
            ("way", claims.ways),
        ):
            for i, name, j in links:
                self.links[max(i, j)].append((kind, i, name, j))
        for happening in claims.happenings:
            if happening.mention >= 0:
                link = "motion", happening.mention, happening, None
                self.links[happening.mention].append(link)

    def judge(self):
        self.best, self.chosen = -1, ()
        # An upper bound of what the phrases from one on can still add.
        most = [
            max(true for _, true in options) + len(links)
            for options, links in zip(self.options, self.links)
        ]
        self.ahead = [*itertools.accumulate(reversed([*most, 0]))][::-1]
        self.search([], frozenset(), 0)
        judged, told = [], set()
        for i, things in enumerate(self.chosen):
            judged += self.own(i, things, told)
            for link in self.links[i]:
                judged.append(self.linked(link, self.chosen, told))
        judged += self.whole(told)
        return Judgement(tuple(judged), frozenset(told), self.facts)

    def search(self, chosen, used, score):
        """Depth first, the branches that cannot win left out."""
        i = len(chosen)
        if score + self.ahead[i] <= self.best:
            return
        if i == len(self.claims.mentions):
            self.best, self.chosen = score, tuple(chosen)
            return
        free = self.claims.mentions[i].shape is None
        for things, true in self.options[i]:
            if used & things and not free:
                continue
            now = [*chosen, things]
            held = sum(self.holds(link, now) for link in self.links[i])
            taken = used if free else used | things
            self.search(now, taken, score + true + held)

    def choices(self, i):
        """Sets of things that a phrase may be about.

        Returns:
            List of pairs of a frozenset of indices and the number of claims
            that are then true; the last is about nothing.
        """
        mention = self.claims.mentions[i]
        number = mention.count or 1
        found = self.facts.of_shape(mention.shape)
        if mention.least is not None:
            number = len(found)
        if self.is_loose(i):
            # "Shapes on the left": all that are such, not each subset.
            alike = [k for k in found if self.is_such(k, mention)]
            sets = [frozenset(alike or found)]
        else:
            sets = [
                frozenset(things)
                for size in range(min(number, len(found)), 0, -1)
                for things in itertools.combinations(found, size)
            ]
        sets.append(frozenset())
        return [
            (things, sum(claim.true for claim in self.own(i, things)))
            for things in sets
        ]

    def is_loose(self, i):
        """Check whether a phrase is of several things of any shape."""
        mention = self.claims.mentions[i]
        several = mention.least is not None or (mention.count or 1) > 1
        return mention.shape is None and several

    def is_such(self, k, mention):
        """Check whether a thing looks, and is, as a phrase says."""
        return mention.looks <= self.facts.looks[k] and all(
            self.facts.is_at(k, place) for place in mention.places
        )

    def own(self, i, things, told=None):
        """Claims of a phrase alone, if it is about some things."""
        told = set() if told is None else told
        mention, facts = self.claims.mentions[i], self.facts
        claims, true = [], set()
        if mention.shape is not None:
            claims.append(Claim("object", (i,), mention.shape, bool(things)))
            told.update(("object", thing) for thing in things)
        for value in sorted(mention.looks):
            held = bool(things) and all(value in facts.looks[k] for k in things)
            slot = slot_of(value)
            claims.append(Claim(slot, (i,), value, held))
            if held:
                true.add(value)
                told.update((slot, thing) for thing in things)
        for place in sorted(mention.places, key=sorted):
            held = bool(things) and all(facts.is_at(k, place) for k in things)
            claims.append(Claim("place", (i,), " ".join(sorted(place)), held))
            if held:
                told.update(("place", thing) for thing in things)
        claims += self.counted(i, mention, frozenset(true), told)
        return claims

    def counted(self, i, mention, true, told):
        """The number of a phrase, a claim about all that look so."""
        number = self.facts.number(mention.shape, true)
        if mention.least is not None:
            if mention.shape is None and not mention.looks:
                if mention.least <= 2:
                    # "Some shapes": there always are.
                    return []
            held = number >= mention.least
            return [Claim("count", (i,), f"{mention.least}+", held)]
        if mention.count is None:
            return []
        held = number == mention.count
        if held and mention.shape is None and not mention.looks:
            told.add(("number",))
        return [Claim("count", (i,), str(mention.count), held)]

    def holds(self, link, chosen):
        """Check whether a claim about two phrases holds."""
        kind, i, name, j = link
        if kind == "motion":
            return bool(chosen[i]) and self.facts.happens(name, chosen[i])
        return self.stand(
            i, chosen[i], j, chosen[j], self.link_test(kind, name)
        )

    def link_test(self, kind, name):
        """A function of two things that tells whether they stand so."""
        if kind == "relation":
            return lambda a, b: self.facts.related(a, name, b)
        video = self.facts.video
        return lambda a, b: (
            video is not None and a == video.mover and name in video.ways(b)
        )

    def stand(self, i, one, j, other, test):
        """Check whether the things of two phrases stand so.

        All of them must; of "shapes" as many as are said.
        """
        if not one or not other:
            return False
        mentions, loose = self.claims.mentions, [*map(self.is_loose, (i, j))]
        pairs = {(a, b) for a in one for b in other if a != b and test(a, b)}
        if not any(loose):
            return len(pairs) == len(one) * len(other)
        side = 0 if loose[0] else 1
        mention = mentions[(i, j)[side]]
        needed = 1 if all(loose) else len((one, other)[1 - side])
        hits = [sum(p[side] == k for p in pairs) for k in (one, other)[side]]
        number = mention.count or mention.least
        return sum(count >= needed for count in hits) >= number

    def linked(self, link, chosen, told):
        """A claim about two phrases, judged."""
        kind, i, name, j = link
        held = self.holds(link, chosen)
        if kind == "motion":
            if held:
                told.add(("motion",))
            return Claim(kind, (i,), name.claim, held)
        pairs = itertools.product(chosen[i], chosen[j])
        test = self.link_test(kind, name)
        for a, b in pairs if held else ():
            if a != b and test(a, b):
                way = kind == "way"
                told.add(("way", b) if way else ("relation", *sorted((a, b))))
        return Claim(kind, (i, j), name, held)

    def whole(self, told):
        """Claims about the whole picture."""
        facts, claims = self.facts, self.claims
        for ground in claims.grounds:
            held = ground == facts.ground
            if held:
                told.add(("ground",))
            yield Claim("ground", (), ground, held)
        for happening in claims.happenings:
            if happening.mention < 0:
                held = facts.happens(happening, None)
                if held:
                    told.add(("motion",))
                yield Claim("motion", (), happening.claim, held)
        for i, pace in claims.paces:
            held = facts.video is not None and facts.video.pace == pace
            yield Claim("pace", (i,) if i >= 0 else (), pace, held)
        if claims.others:
            named = frozenset().union(*self.chosen)
            more = len(facts.things) > len(named)
            yield Claim("others", (), "others", more)
        if claims.varied:
            colors = [thing.color for thing in facts.things]
            held = len({*colors}) == len(colors)
            yield Claim("varied", (), "different colors", held)
