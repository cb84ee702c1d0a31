"""Truth of captions of the embedded world.

Captions are parsed into claims, each true or false, and the facts that they
leave out are known, too.
"""

import collections
import functools
import itertools
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from reproduce.world.captions import describe
from reproduce.world.captions import describe_video
from reproduce.world.clips import sample_video
from reproduce.world.judging import meaning_array
from reproduce.world.judging import relevance
from reproduce.world.judging import truth_array
from reproduce.world.reader import CORNER
from reproduce.world.reader import LOOK_SLOTS
from reproduce.world.reader import Claims
from reproduce.world.reader import read_caption
from reproduce.world.reader import slot_of
from reproduce.world.scenes import FAR_APART
from reproduce.world.scenes import SHAPES
from reproduce.world.scenes import Scene
from reproduce.world.scenes import sample_scene
from reproduce.world.words import VALUES

#: Scores of a single caption.
MEASURES = ("precision", "recall", "weighted_recall", "f1", "utility")
#: Scenes and videos that priors and weights are counted in.
_SAMPLE = 400
#: Positions of two things relative to each other, and their inverses.
_LIES = {
    "side": {"left": "right", "right": "left"},
    "height": {"above": "below", "below": "above"},
}
_ROWS, _COLUMNS = {"top", "bottom"}, {"left", "right"}
#: Tokens that were split off a word: "is n't", "can not".
_CLITIC = re.compile(r" (?=n't\b|'\w)|(?<=\bcan) (?=not\b)")


class Facts:
    """Looks, places and relations of the things of a scene or a video.

    Of a video, what is true in the beginning or in the end is true: "a red
    ball turns blue" and "a blue ball" are both.

    Args:
        shown: `reproduce.world.Scene` or `Video`.

    Attributes:
        video: `Video`, or `None`.
        scenes: List of `Scene`, one, or that of the beginning and the end.
        things: Tuple of `Thing`, as they are in the beginning.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> facts = Facts(Scene("grass", (ball,)))
    >>> sorted(facts.sayable)[:3]
    [('color', 0), ('ground',), ('number',)]
    """

    def __init__(self, shown):
        self.video = None if isinstance(shown, Scene) else shown
        begin = shown if self.video is None else shown.scene
        self.scenes = [begin]
        if self.video is not None:
            self.scenes.append(begin.replaced(self.video.mover, self.video.end))
        self.things = begin.things
        self.ground = begin.background
        self.looks = [
            frozenset().union(*(scene.things[i].looks for scene in self.scenes))
            for i in range(len(self.things))
        ]
        self._relations = {}

    def of_shape(self, shape):
        """Indices of the things of a shape, of all for `None`."""
        things = enumerate(self.things)
        return [i for i, thing in things if shape in (None, thing.shape)]

    def number(self, shape, looks):
        """Number of things of a shape that look so."""
        return sum(looks <= self.looks[i] for i in self.of_shape(shape))

    def is_at(self, i, place):
        """Check whether a thing is at a place."""
        regions = [{*scene.region(i)} for scene in self.scenes]
        if place == CORNER:
            return any(x & _ROWS and x & _COLUMNS for x in regions)
        return any(place <= region for region in regions)

    def related(self, i, name, j):
        """Check whether a relation holds between two things."""
        if (i, j) not in self._relations:
            names = {x for scene in self.scenes for x in scene.relation(i, j)}
            for scene in self.scenes:
                one, other = scene.things[i], scene.things[j]
                if one.distance(other) > FAR_APART:
                    names.add("far")
            self._relations[i, j] = names
        return name in self._relations[i, j]

    def happens(self, happening, things):
        """Checks whether it happens to one of some things.

        Args:
            things: Collection of indices, or `None` where none was named.
        """
        video = self.video
        if video is None or video.motion != happening.motion:
            return False
        if video.motion == "still":
            return True
        colors = ((happening.old, video.start), (happening.new, video.end))
        if any(name not in (None, thing.color) for name, thing in colors):
            return False
        return things is None or video.mover in things

    @functools.cached_property
    def sayable(self):
        """All facts: their keys and kinds.

        Keys are `("object", i)`, `("color", i)`, `("size", i)`,
        `("texture", i)`, `("place", i)`, `("relation", i, j)` with the lower
        index first, `("ground",)` and `("number",)`; of a video `("motion",)`
        and `("way", j)`.

        Returns:
            Dict of kinds, tuples of strings, by key.
        """
        facts = {("ground",): ("ground",), ("number",): ("number",)}
        for i, thing in enumerate(self.things):
            for kind in ("object", "color", "size"):
                facts[kind, i] = kind, thing.size
            facts["texture", i] = "texture", thing.texture
            facts["place", i] = ("place",)
        for i, j in itertools.combinations(range(len(self.things)), 2):
            near = self.related(i, "near", j)
            facts["relation", i, j] = "relation", "near" if near else "apart"
        if self.video is not None:
            facts["motion",] = ("motion",)
            for j in range(len(self.things)):
                if self.video.ways(j):
                    facts["way", j] = ("way",)
        return facts


class Claim(NamedTuple):
    """One claim, and whether it is true.

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
    """The claims of a caption, judged, and the facts that they state.

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
        """Share of facts that are stated."""
        return len(self.told) / len(self.facts.sayable)

    def weighted_recall(self, weights):
        """Recall in which facts are weighted by how often people state them.

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
        for kind in ("relation", "way"):
            for i, name, j in getattr(claims, f"{kind}s"):
                self.links[max(i, j)].append((kind, i, name, j))
        for happening in claims.happenings:
            if (i := happening.mention) >= 0:
                self.links[i].append(("motion", i, happening, None))

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
            judged += [self.linked(link, told) for link in self.links[i]]
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
        found = self.facts.of_shape(mention.shape)
        if self.is_loose(i):
            # "Shapes on the left": all that are such, not each subset.
            alike = [k for k in found if self.is_such(k, mention)]
            sets = [alike or found]
        else:
            number = len(found)
            if mention.least is None:
                number = min(mention.count or 1, number)
            sets = [
                things
                for size in range(number, 0, -1)
                for things in itertools.combinations(found, size)
            ]
        return [
            (frozenset(x), sum(claim.true for claim in self.own(i, x)))
            for x in (*sets, ())
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
        """Claims of a phrase about some things."""
        mention, facts = self.claims.mentions[i], self.facts
        said = []
        if mention.shape is not None:
            said.append(("object", mention.shape, bool(things)))
        for value in sorted(mention.looks):
            held = bool(things) and all(value in facts.looks[k] for k in things)
            said.append((slot_of(value), value, held))
        for place in sorted(mention.places, key=sorted):
            held = bool(things) and all(facts.is_at(k, place) for k in things)
            said.append(("place", " ".join(sorted(place)), held))
        true = {value for _, value, held in said if held} & mention.looks
        number = facts.number(mention.shape, true)
        every = mention.shape is None and not mention.looks
        # "Some shapes": there always are.
        if mention.least is not None and not (every and mention.least <= 2):
            held = number >= mention.least
            said.append(("count", f"{mention.least}+", held))
        elif mention.least is None and mention.count is not None:
            said.append(("count", str(mention.count), number == mention.count))
        if told is not None:
            for kind, _, held in said:
                if held and kind != "count":
                    told.update((kind, thing) for thing in things)
                elif held and every and mention.least is None:
                    told.add(("number",))
        return [Claim(kind, (i,), value, held) for kind, value, held in said]

    def holds(self, link, chosen):
        """Check whether a claim about two phrases holds."""
        kind, i, name, j = link
        if kind == "motion":
            return bool(chosen[i]) and self.facts.happens(name, chosen[i])
        return self.stand((i, j), (chosen[i], chosen[j]), kind, name)

    def test(self, kind, a, b, name):
        """Checks whether two things are in a relation."""
        if kind == "relation":
            return a != b and self.facts.related(a, name, b)
        video = self.facts.video
        return video is not None and a == video.mover and name in video.ways(b)

    def stand(self, phrases, things, kind, name):
        """Checks whether the things of two phrases are in a relation.

        All of them must be; of "shapes" as many as the phrase says.
        """
        one, other = things
        if not one or not other:
            return False
        pairs = [
            pair
            for pair in itertools.product(*things)
            if self.test(kind, *pair, name)
        ]
        loose = [*map(self.is_loose, phrases)]
        if not any(loose):
            return len(pairs) == len(one) * len(other)
        side = 0 if loose[0] else 1
        mention = self.claims.mentions[phrases[side]]
        needed = 1 if all(loose) else len(things[1 - side])
        hits = [sum(p[side] == k for p in pairs) for k in things[side]]
        number = mention.count or mention.least
        return sum(count >= needed for count in hits) >= number

    def linked(self, link, told):
        """A claim about two phrases, judged."""
        kind, i, name, j = link
        held = self.holds(link, self.chosen)
        if kind == "motion":
            told.update([("motion",)] * held)
            return Claim(kind, (i,), name.claim, held)
        pairs = itertools.product(self.chosen[i], self.chosen[j])
        for a, b in pairs if held else ():
            if self.test(kind, a, b, name):
                way = kind == "way"
                told.add(("way", b) if way else ("relation", *sorted((a, b))))
        return Claim(kind, (i, j), name, held)

    def whole(self, told):
        """Claims about the whole picture."""
        facts, claims = self.facts, self.claims
        for ground in claims.grounds:
            held = ground == facts.ground
            told.update([("ground",)] * held)
            yield Claim("ground", (), ground, held)
        for happening in claims.happenings:
            if happening.mention < 0:
                held = facts.happens(happening, None)
                told.update([("motion",)] * held)
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


def true_answers(facts: Facts) -> dict:
    """Answers to all questions that apply to a scene or a video.

    Questions are tuples that begin with their kind: `("exists", shape)`;
    `("color", shape)`, `"size"`, `"texture"`, `"row"` and `"column"`, of shapes
    that occur once; `("side", shape, shape)` and `("height", shape, shape)`,
    how two of these lie; `("ground",)`, `("number",)`; of a video
    `("motion",)` and, unless it is still, `("mover",)`, the shape that it
    happens to.

    Returns:
        Dict of answers by question.
    """
    shapes = [thing.shape for thing in facts.things]
    answers = {("exists", shape): shape in shapes for shape in SHAPES}
    single = {s: shapes.index(s) for s in SHAPES if shapes.count(s) == 1}
    scene = facts.scenes[0]
    for shape, i in single.items():
        for slot in LOOK_SLOTS:
            answers[slot, shape] = getattr(facts.things[i], slot)
        answers["row", shape], answers["column", shape] = scene.region(i)
    for one, other in itertools.combinations(single, 2):
        relations = scene.relation(single[one], single[other])
        for kind, names in _LIES.items():
            lies = next((name for name in names if name in relations), "level")
            answers[kind, one, other] = lies
    answers["ground",] = facts.ground
    answers["number",] = len(shapes)
    if facts.video is not None:
        answers["motion",] = facts.video.motion
        if facts.video.motion != "still":
            answers["mover",] = shapes[facts.video.mover]
    return answers


def read_answers(claims: Claims) -> dict:
    """Answers that a caption gives, the first one to each question.

    Returns:
        Dict of answers by question, see `true_answers()`, without questions
        that the caption does not answer.
    """
    answers = {}
    say = answers.setdefault
    for mention in claims.mentions:
        shape = mention.shape
        if shape is None:
            if mention.count is not None and not mention.looks:
                say(("number",), mention.count)
            continue
        say(("exists", shape), True)
        for value in sorted(mention.looks):
            say((slot_of(value), shape), value)
        for place in sorted(mention.places, key=sorted):
            for slot in ("row", "column"):
                for value in sorted(place & VALUES[slot]):
                    say((slot, shape), value)
    for i, name, j in claims.relations:
        shapes = claims.mentions[i].shape, claims.mentions[j].shape
        if None not in shapes and shapes[0] != shapes[1]:
            for kind, names in _LIES.items():
                if name in names:
                    say((kind, *shapes), name)
                    say((kind, *shapes[::-1]), names[name])
    for ground in claims.grounds:
        say(("ground",), ground)
    for happening in claims.happenings:
        say(("motion",), happening.motion)
        if happening.mention >= 0 and happening.motion != "still":
            say(("mover",), claims.mentions[happening.mention].shape)
    return answers


def answered(said: dict, truth: dict, usual: dict) -> float:
    """Share of correct answers, averaged over kinds of questions.

    Args:
        said: Dict of answers, see `read_answers()`.
        truth: Dict of answers, see `true_answers()`.
        usual: Dict of answers to the other questions.

    Returns:
        Float in `[0, 1]`.
    """
    right, all_ = collections.Counter(), collections.Counter()
    for question, answer in truth.items():
        guess = said.get(question, usual.get(question))
        right[question[0]] += guess == answer
        all_[question[0]] += 1
    return sum(right[kind] / count for kind, count in all_.items()) / len(all_)


@functools.cache
def usual_answers(videos: bool = False) -> dict:
    """The commonest answer to each question.

    Returns:
        Dict of answers by question, counted in scenes or videos drawn by a
        separate seed.
    """
    return {
        question: min(found, key=lambda answer: (-found[answer], str(answer)))
        for question, found in answer_counts(videos).items()
    }


@functools.cache
def answer_counts(videos: bool = False) -> dict:
    """Counts of the answers to each question in some scenes or videos."""
    counts = collections.defaultdict(collections.Counter)
    for facts, _ in _people(videos):
        for question, answer in true_answers(facts).items():
            counts[question][answer] += 1
    return counts


@functools.cache
def fact_weights(videos: bool = False) -> dict:
    """Weights of facts: how often human captions state one of each kind.

    Returns:
        Dict of floats by kind of a fact, see `Facts.sayable`, counted in
        captions of scenes or videos drawn by a separate seed.
    """
    told, all_ = collections.Counter(), collections.Counter()
    for facts, captions in _people(videos):
        for caption in captions:
            judged = judge_claims(read_caption(caption), facts)
            told.update(facts.sayable[key] for key in judged.told)
            all_.update(facts.sayable.values())
    return {kind: told[kind] / count for kind, count in all_.items()}


@functools.cache
def _people(videos):
    """Facts of some scenes or videos, with two captions of each."""
    rng = np.random.default_rng([2026, int(videos)])
    sample = sample_video if videos else sample_scene
    say = describe_video if videos else describe
    shown = [sample(rng) for _ in range(_SAMPLE)]
    return [(Facts(one), say(one, rng, 2)) for one in shown]


class Truth:
    """Truth of scenes or videos, by which captions are scored.

    Args:
        shown: Sequence of `reproduce.world.Scene` or `Video`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> truth = Truth([Scene("grass", (ball,))])
    >>> truth.score("precision", "a blue ball on the grass", 0)
    0.6666666666666666
    """

    def __init__(self, shown: Sequence):
        self._shown = list(shown)
        if not self._shown:
            raise ValueError("`shown` must hold a scene. Received: none.")
        self._facts = functools.lru_cache(maxsize=None)(self._make_facts)
        self.score = functools.lru_cache(maxsize=1 << 17)(self._score)
        self._videos = hasattr(self._shown[0], "motion")

    def __len__(self):
        return len(self._shown)

    def judge(self, caption: str, row: int) -> Judgement:
        """Claims of a caption of one scene, each true or false."""
        return judge_claims(read_caption(caption), self._facts(row)[0])

    def answers(self, row: int) -> dict:
        """Answers to all questions of one scene, see `true_answers()`."""
        return self._facts(row)[1]

    def _make_facts(self, row):
        facts = Facts(self._shown[row])
        return facts, true_answers(facts)

    def _score(self, measure, caption, row):
        """Score of a caption of a scene by one of `MEASURES`."""
        if measure == "utility":
            said = read_answers(read_caption(caption))
            usual = usual_answers(self._videos)
            return answered(said, self.answers(row), usual)
        judged = self.judge(caption, row)
        if measure == "weighted_recall":
            return judged.weighted_recall(fact_weights(self._videos))
        return getattr(judged, measure)

    def scores(self, captions: Sequence[str]) -> dict:
        """Scores of one caption of each scene.

        Returns:
            Dict of floats: `truth_precision`, the share of all claims that
            are true, and `truth_precision_color` and so on, those of each
            kind that occurs; `truth_recall` and `truth_weighted_recall`,
            means over captions; `truth`, the harmonic mean of the first two;
            `truth_claims` and `truth_false`, claims and false ones a caption,
            and `truth_claims_color` and so on; `truth_chair_i` and
            `truth_chair_s`, CHAIR of shapes, exact; `truth_pope` and
            `truth_pope_popular`, accuracy of "yes" to shapes that are named
            and "no" to others, with as many absent shapes as there are, drawn
            evenly (as expected) or the commonest, and `truth_pope_yes`, the
            share of "yes" in the first; `truth_utility`, the share of
            questions that the caption alone answers right; `truth_unread`,
            the share of words that cannot be read, and
            `truth_unread_captions` and `truth_silent`, shares of captions
            with such, and without any claim.
        """
        if len(captions) != len(self):
            raise ValueError(
                "`captions` must hold one for each scene. Received: "
                f"{len(captions)} captions of {len(self)} scenes."
            )
        rows = range(len(self))
        judged = [*map(self.judge, captions, rows)]
        means = {
            f"truth_{name}": np.mean(
                [*map(self.score, [name] * len(self), captions, rows)]
            )
            for name in ("recall", "weighted_recall", "utility")
        }
        scores = {**_claims(judged), **means, **_unread(captions)}
        precision, recall = scores["truth_precision"], scores["truth_recall"]
        scores["truth"] = 2 * precision * recall / ((precision + recall) or 1)
        scores |= _objects(judged)
        return {name: float(value) for name, value in scores.items()}


def _claims(judged):
    claims = [claim for one in judged for claim in one.claims]
    false = sum(not claim.true for claim in claims)
    kinds = collections.Counter(claim.kind for claim in claims)
    true = collections.Counter(claim.kind for claim in claims if claim.true)
    return {
        **{f"truth_claims_{k}": n / len(judged) for k, n in kinds.items()},
        **{f"truth_precision_{k}": true[k] / n for k, n in kinds.items()},
        "truth_precision": 1.0 - false / max(len(claims), 1),
        "truth_claims": len(claims) / len(judged),
        "truth_false": false / len(judged),
        "truth_silent": np.mean([not one.claims for one in judged]),
    }


def _unread(captions):
    read = [read_caption(text) for text in captions]
    words = sum(claims.words for claims in read)
    unread = [len(claims.unread) for claims in read]
    return {
        "truth_unread": sum(unread) / max(words, 1),
        "truth_unread_captions": np.mean([count > 0 for count in unread]),
    }


def _objects(judged):
    """CHAIR and POPE of shapes."""
    present = [{t.shape for t in one.facts.things} for one in judged]
    named = [
        [c.value for c in one.claims if c.kind == "object"] for one in judged
    ]
    wrong = [
        sum(x not in own for x in said) for said, own in zip(named, present)
    ]
    common = collections.Counter(x for own in present for x in own)
    ranks = sorted(SHAPES, key=lambda x: (-common[x], x))
    rows = [_pope({*said}, own, ranks) for said, own in zip(named, present)]
    random, popular, yes = np.mean(rows, axis=0)
    return {
        "truth_chair_i": sum(wrong) / max(sum(map(len, named)), 1),
        "truth_chair_s": np.mean([count > 0 for count in wrong]),
        "truth_pope": random,
        "truth_pope_popular": popular,
        "truth_pope_yes": yes,
    }


def _pope(named, present, ranks):
    """Accuracy with random and popular absent shapes, and the share of yes."""
    absent = [shape for shape in ranks if shape not in present]
    hits = np.mean([shape in named for shape in present])
    if not absent:
        return hits, hits, hits
    false = np.mean([shape in named for shape in absent])
    popular = np.mean([x in named for x in absent[: len(present)]])
    return (hits + 1 - false) / 2, (hits + 1 - popular) / 2, (hits + false) / 2


def answer_truth(rounds: Sequence, answers: Sequence[str]) -> dict:
    """Shares of answers that are true, in part, evasive, false and empty.

    An answer is judged by the scene alone: one that repeats the slip of an
    annotator is false.

    Args:
        rounds: Sequence of `reproduce.world.dialogs.Round`.
        answers: Strings, an answer to each; tokens may be apart: "is n't".

    Returns:
        Dict of floats that add up to 1: `true_share`, `partly_share` (soft,
        incomplete, or more than can be checked), `evasive_share`, wherever the
        truth is known, `false_share`, off-topic ones among them, and
        `empty_share`.

    Example:

    >>> from reproduce.world import Scene, Thing
    >>> from reproduce.world.dialogs import make_dialog
    >>> from reproduce.world.truth import answer_truth
    >>> ball = Thing("ball", "red", "large", "plain", 20.0, 30.0, 9.0)
    >>> rng = np.random.default_rng(0)
    >>> dialog = make_dialog(Scene("grass", (ball,)), "a ball on grass", rng)
    >>> shares = answer_truth(dialog.rounds[:2], ["a purple moon", ""])
    >>> shares["false_share"], shares["empty_share"]
    (0.5, 0.5)
    """
    if len(rounds) != len(answers):
        raise ValueError(
            "`answers` must be one to each round. Received: "
            f"{len(answers)} answers to {len(rounds)} rounds."
        )
    said = meaning_array([_CLITIC.sub("", text) for text in answers])
    grades = relevance(said, truth_array([one.truth for one in rounds]))
    empty = np.array([not text.strip() for text in answers])
    evasive = (said["hedge"] > 0) & (grades < 1) & ~empty
    rest = ~empty & ~evasive
    shares = {
        "true_share": ~empty & (grades == 1),
        "partly_share": rest & (grades > 0) & (grades < 1),
        "evasive_share": evasive,
        "false_share": rest & (grades == 0),
        "empty_share": empty,
    }
    return {name: float(mask.mean()) for name, mask in shares.items()}
