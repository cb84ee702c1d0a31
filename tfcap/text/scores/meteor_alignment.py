"""METEOR's alignment of a caption with a reference."""

import functools
import itertools
from collections import defaultdict
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

#: Weights of the matchers: exact, stem, synonym, paraphrase.
WEIGHTS = (1.0, 0.6, 0.8, 0.6)
EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
_BEAM = 40
_LONGEST_PHRASE = 7  # words, of METEOR's table


class Match(NamedTuple):
    """Words of the caption that stand for words of the reference."""

    matcher: int
    start: int  # in the reference
    length: int
    caption_start: int
    caption_length: int


def align(
    caption: tuple[str, ...], matches: Sequence[Sequence[Match]]
) -> list[Match]:
    """Aligns two rows of words.

    No word is in two matches. Among the alignments it looks for those that
    cover most words, each match weighted by its matcher and the sums rounded
    down; then for fewest chunks, then for least distance, by a beam search
    from the reference's first word to its last. Matches that compete with no
    other are taken from the start.

    Args:
        caption: Tuple of words.
        matches: What `find_matches()` returns of it and a reference.

    Returns:
        List of `Match`, ascending by `start`.
    """
    fixed = _uncontested(matches, len(caption))
    if all(map(_settled, fixed, matches)):
        return [match for match in fixed if match is not None]
    options = [[_option(x) for x in found] for found in matches]
    beam = [_Path(fixed)]
    for position, found in enumerate(options):
        beam.sort(key=_Path.rank)
        extended = [path.extended(position, found) for path in beam[:_BEAM]]
        beam = [*itertools.chain.from_iterable(extended)] or beam[:1]
    # METEOR 1.5 cuts the beam before it counts the last chunk.
    beam = sorted(beam, key=_Path.rank)[:_BEAM]
    for path in beam:
        path.end_chunk()
    return min(beam, key=_Path.rank).all_matches()


def count_chunks(matches: list[Match]) -> int:
    """Counts runs of matches that are adjacent in caption and reference."""
    ends = [(0, -1)]
    ends += [
        (m.start + m.length, m.caption_start + m.caption_length)
        for m in matches
    ]
    return sum(
        end != (match.start, match.caption_start)
        for end, match in zip(ends, matches)
    )


def _settled(chosen, found):
    """Returns whether nothing is left to choose at a position."""
    return not found or chosen is not None


def _words_of(match):
    """Sets, as bits, of the words of a match in reference and caption."""
    _, start, length, caption_start, caption_length = match
    words, of_caption = (1 << length) - 1, (1 << caption_length) - 1
    return words << start, of_caption << caption_start


def _option(match):
    """A match, the sets of its words, its distance and what it covers."""
    matcher, start, length, caption_start, caption_length = match
    distance = abs(start - caption_start)
    return match, *_words_of(match), distance, (matcher, length, caption_length)


class _Path:
    """An alignment of the words up to a position of the reference.

    Args:
        fixed: List of the match that is taken from the start, or None, at each
            position of the reference.
    """

    __slots__ = (
        *("fixed", "chosen", "used", "used_of_caption", "next"),
        *("caption_next", "covered", "covered_of_caption", "chunks"),
        "distance",
    )

    def __init__(self, fixed):
        self.fixed = fixed
        self.chosen = None  # pair of those before and a match
        self.used = self.used_of_caption = 0
        for match in filter(None, fixed):
            words, of_caption = _words_of(match)
            self.used |= words
            self.used_of_caption |= of_caption
        self.covered = self.covered_of_caption = 0
        self.chunks = self.distance = 0
        self.next = 0  # position after the last match
        self.caption_next = None  # the same in the caption, within a chunk

    def rank(self):
        covered = self.covered + self.covered_of_caption
        return -covered, self.chunks, self.distance

    def extended(self, position, found):
        """Yields the paths that this one becomes at a position."""
        if self.used >> position & 1:
            if position < self.next:
                yield self  # inside a match
            elif (match := self.fixed[self.next]) is not None:
                self._count(match)
                self.distance += abs(match.start - match.caption_start)
                yield self
            return
        used, used_of_caption = self.used, self.used_of_caption
        alike = defaultdict(int)
        for match, words, of_caption, distance, weight in found:
            if used & words or used_of_caption & of_caption:
                continue
            # After as many that weigh as much and lie no farther, only one that
            # continues a chunk can stay among the best.
            if (
                alike[weight] < _BEAM
                or match.caption_start == self.caption_next
            ):
                alike[weight] += 1
                path = self._copy()
                path.chosen = self.chosen, match
                path.used |= words
                path.used_of_caption |= of_caption
                path._count(match)
                yield path
            # METEOR 1.5 adds it to the path without the match, and so to
            # the paths of later matches of this word.
            self.distance += distance
        self.end_chunk()
        self.next += 1
        yield self

    def end_chunk(self):
        if self.caption_next is not None:
            self.chunks += 1
            self.caption_next = None

    def all_matches(self):
        """Matches, ascending by their start."""
        matches, chosen = [*filter(None, self.fixed)], self.chosen
        while chosen is not None:
            chosen, match = chosen
            matches.append(match)
        return sorted(matches, key=lambda match: match.start)

    def _copy(self):
        path = _Path.__new__(_Path)
        path.fixed, path.chosen = self.fixed, self.chosen
        path.used, path.used_of_caption = self.used, self.used_of_caption
        path.covered = self.covered
        path.covered_of_caption = self.covered_of_caption
        path.chunks, path.distance = self.chunks, self.distance
        path.caption_next = self.caption_next
        return path

    def _count(self, match):
        matcher, start, length, caption_start, caption_length = match
        weight = WEIGHTS[matcher]
        self.covered = int(self.covered + length * weight)
        self.covered_of_caption = int(
            self.covered_of_caption + caption_length * weight
        )
        if self.caption_next not in (None, caption_start):
            self.chunks += 1
        self.next = start + length
        self.caption_next = caption_start + caption_length


def _uncontested(matches, caption_length):
    """The match at each position that competes with no other, or None."""
    claims, caption_claims = [0] * len(matches), [0] * caption_length
    for match in (match for found in matches for match in found):
        for k in range(match.length):
            claims[match.start + k] += 1
        for k in range(match.caption_length):
            caption_claims[match.caption_start + k] += 1
    fixed = [None] * len(matches)
    for position, found in enumerate(matches):
        if len(found) == 1:
            _, start, length, caption_start, caption_length = found[0]
            claimed = claims[start : start + length]
            end = caption_start + caption_length
            claimed += caption_claims[caption_start:end]
            if max(claimed) == 1:
                fixed[position] = found[0]
    return fixed


def find_matches(
    caption: tuple[str, ...], reference: tuple[str, ...], resources: Any
) -> list[list[Match]]:
    """Finds all matches of two rows of words, by position in the reference.

    Args:
        caption: Tuple of words.
        reference: Tuple of words.
        resources: `MeteorResources`.
    """
    own, other = (_sentence(x, resources) for x in (caption, reference))
    matches = []
    for j, word in enumerate(reference):
        places = [(EXACT, i) for i in own.words[word]]
        if caption != reference:
            places += [
                (STEM, i)
                for i in own.stems[resources.stem(word)]
                if caption[i] != word
            ]
            synsets = resources.synsets(word)
            places += [
                (SYNONYM, i)
                for i, others in own.synsets
                if caption[i] != word and not others.isdisjoint(synsets)
            ]
        matches.append([Match(kind, j, 1, i, 1) for kind, i in places])
    if caption == reference:
        return matches
    for j, length, i, caption_length in _paraphrased(other, own):
        matches[j].append(Match(PARAPHRASE, j, length, i, caption_length))
    for i, caption_length, j, length in _paraphrased(own, other):
        matches[j].append(Match(PARAPHRASE, j, length, i, caption_length))
    return matches


class _Sentence(NamedTuple):
    """A row of words as the matchers look things up in it."""

    words: dict  # positions of each word
    stems: dict  # positions of each stem
    synsets: list  # pairs of a position and the synonym sets there
    places: dict  # starts and lengths of each phrase
    phrases: list  # triples of start, length and paraphrases


# A caption is compared with each of its references, and a batch of captions
# with those of its images again and again.
@functools.lru_cache(4096)
def _sentence(words, resources):
    found = _Sentence(defaultdict(list), defaultdict(list), [], {}, [])
    for i, word in enumerate(words):
        found.words[word].append(i)
        found.stems[resources.stem(word)].append(i)
        synsets = resources.synsets(word)
        if synsets:
            found.synsets.append((i, synsets))
        phrase = ""
        for length, following in enumerate(words[i : i + _LONGEST_PHRASE], 1):
            phrase = f"{phrase} {following}" if phrase else following
            found.places.setdefault(phrase, []).append((i, length))
            if phrase in resources.sources:
                ranks = resources.paraphrases(phrase)
                found.phrases.append((i, length, ranks))
    return found


def _paraphrased(sentence, other):
    """Yields start and length of phrases, and of their paraphrases."""
    places = other.places.keys()
    for start, length, ranks in sentence.phrases:
        if not places.isdisjoint(ranks):
            for text in sorted(places & ranks.keys(), key=ranks.get):
                for place in other.places[text]:
                    yield start, length, *place
