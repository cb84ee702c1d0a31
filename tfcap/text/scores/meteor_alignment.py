"""METEOR's alignments of many captions with references at once."""

import itertools
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple

import numpy as np

from tfcap.text.scores.meteor_paraphrases import expand

#: Weights of the matchers: exact, stem, synonym, paraphrase.
WEIGHTS = (1.0, 0.6, 0.8, 0.6)
EXACT, STEM, SYNONYM, PARAPHRASE = range(4)
_BEAM = 40


class Sentences(NamedTuple):
    """Rows of words, as numbers, one after the other."""

    vocabulary: list  # strings
    words: np.ndarray  # numbers into the vocabulary
    starts: np.ndarray  # where each row starts
    lengths: np.ndarray

    @classmethod
    def of(cls, rows: Sequence[tuple[str, ...]]) -> "Sentences":
        """Numbers the words of rows, tuples of strings."""
        numbers = {}
        words = [numbers.setdefault(x, len(numbers)) for r in rows for x in r]
        lengths = np.array([len(row) for row in rows], int)
        starts = np.cumsum(lengths) - lengths
        return cls([*numbers], np.array(words, int), starts, lengths)


class Matches(NamedTuple):
    """Matches of words of captions and references, as columns.

    Sorted by pair and by start in the reference.
    """

    pair: np.ndarray  # of a caption and a reference
    matcher: np.ndarray
    start: np.ndarray  # in the reference
    length: np.ndarray
    caption_start: np.ndarray
    caption_length: np.ndarray

    def rows(self, which: np.ndarray) -> "Matches":
        """Returns the rows at an index."""
        return Matches(*(column[which] for column in self))


def find_matches(
    sentences: Sentences, pairs: np.ndarray, resources: Any
) -> Matches:
    """Finds all matches of captions and references.

    Args:
        sentences: `Sentences`.
        pairs: Array of shape `(2, n)`, numbers of captions and of references.
        resources: `MeteorResources`.
    """
    terms = _terms(sentences, resources.paraphrases)
    alike = _alike(sentences, terms.nodes, resources)
    # Matches of the terms of captions: rows of `terms` and of `alike`.
    captions = np.flatnonzero(np.isin(terms.sentence, pairs[0]))
    own, how = _join(terms.term[captions], alike.own)
    own = captions[own]
    keys = terms.sentence[own] * len(terms.nodes) + alike.other[how]
    order = np.argsort(keys)
    keys, own, how = keys[order], own[order], how[order]
    # Which of these are in the reference of a pair.
    pair, other = _join(pairs[1], terms.sentence)
    wanted = pairs[0][pair] * len(terms.nodes) + terms.term[other]
    which, found = _join(wanted, keys)
    pair, other, own, how = pair[which], other[which], own[found], how[found]
    kind, rank = alike.kind[how], alike.rank[how]
    start, length = terms.start[other], terms.length[other]
    caption_start, caption_length = terms.start[own], terms.length[own]
    # At a word of the reference: by kind, then in the order of the program.
    listed = kind == PARAPHRASE
    order = np.lexsort(
        (
            np.where(listed, caption_start, rank),
            np.where(listed, rank, caption_length),
            np.where(listed, length, caption_start),
            *(kind, start, pair),
        )
    )
    same = (pairs[0] == pairs[1])[pair[order]]
    order = order[~same | (kind[order] == EXACT)]
    kind = np.minimum(kind, PARAPHRASE)
    columns = pair, kind, start, length, caption_start, caption_length
    return Matches(*columns).rows(order)


def _join(values, ascending):
    """Finds values in a sorted array: their indices, and all their places."""
    first = np.searchsorted(ascending, values)
    last = np.searchsorted(ascending, values, "right")
    which, place = expand(last - first)
    return which, first[which] + place


class _Terms(NamedTuple):
    """Words and possible phrases of sentences."""

    nodes: np.ndarray  # of each term, -1 for a word that is in no phrase
    sentence: np.ndarray  # ascending, as long as the rest
    term: np.ndarray
    start: np.ndarray
    length: np.ndarray


def _terms(sentences, paraphrases):
    get = paraphrases.words.get
    nodes = np.array([get(word, -1) for word in sentences.vocabulary], int)
    rows, place = expand(sentences.lengths)
    found = paraphrases.phrases(nodes[sentences.words], rows)
    longer, terms = np.unique(found[2], return_inverse=True)
    terms = np.append(sentences.words, len(nodes) + terms)
    at = np.append(np.arange(len(rows)), found[0])
    lengths = np.append(np.ones(len(rows), int), found[1])
    order = np.argsort(rows[at], kind="stable")
    columns = rows[at], terms, place[at], lengths
    return _Terms(np.append(nodes, longer), *(x[order] for x in columns))


class _Alike(NamedTuple):
    """Pairs of terms that match, a row for each kind of match."""

    own: np.ndarray  # of the caption, ascending
    other: np.ndarray  # of the reference
    kind: np.ndarray  # a matcher, or 4 for a paraphrase of the caption's
    rank: np.ndarray  # among the paraphrases of a phrase


def _alike(sentences, nodes, resources):
    words, stems = np.arange(len(sentences.vocabulary)), {}
    stem = [resources.stem(word) for word in sentences.vocabulary]
    stem = [stems.setdefault(x, len(stems)) for x in stem]
    synsets = [resources.synsets(word) for word in sentences.vocabulary]
    several = np.repeat(words, [*map(len, synsets)])
    synsets = [*itertools.chain.from_iterable(synsets)]
    order = np.argsort(nodes)
    order = order[nodes[order] >= 0]
    phrase, paraphrase, rank = resources.paraphrases.among(nodes[order])
    phrase, paraphrase = order[phrase], order[paraphrase]
    ways = (
        (words, words),
        _of_one_group(words, np.array(stem, int)),
        _of_one_group(several, np.array(synsets, int)),
        (paraphrase, phrase),
        (phrase, paraphrase),
    )
    own, other = np.concatenate(ways, axis=1)
    kind = np.repeat(range(len(ways)), [len(own) for own, _ in ways])
    ranks = np.append(np.zeros(len(own) - 2 * len(rank), int), [rank, rank])
    order = np.argsort(own)
    return _Alike(own[order], other[order], kind[order], ranks[order])


def _of_one_group(members, groups):
    """Pairs of different members of a group, each pair once."""
    order = np.argsort(groups)
    one, other = _join(groups, groups[order])
    one, other = members[one], members[order][other]
    base = members.max(initial=0) + 1
    keys = np.unique((one * base + other)[one != other])
    return divmod(keys, base)


def align(
    matches: Matches, lengths: np.ndarray, caption_lengths: np.ndarray
) -> np.ndarray:
    """Aligns captions with references.

    No word is in two matches. A beam search from the first to the last word of
    the reference looks for the alignment that covers most words, with each
    match weighted by its matcher and rounded down; then for fewest chunks, then
    for least distance. Matches that compete with no other are taken first.

    Args:
        matches: `Matches`.
        lengths: Array of shape `(pairs,)`, words of the reference.
        caption_lengths: The same of the caption.

    Returns:
        Boolean array of shape `(matches,)`, which are taken.
    """
    taken = _uncontested(matches, lengths, caption_lengths)
    contested = np.zeros(len(lengths), bool)
    contested[matches.pair[~taken]] = True
    if contested.any():
        rows = np.flatnonzero(contested[matches.pair])
        pair = (np.cumsum(contested) - 1)[matches.pair[rows]]
        some = matches.rows(rows)._replace(pair=pair)
        longest = caption_lengths[contested].max()
        best = _search(some, taken[rows], lengths[contested], longest)
        taken[rows[best]] = True
    return taken


def _uncontested(matches, lengths, caption_lengths):
    """Finds the matches that compete with no other for a word."""
    free = np.ones(len(matches.pair), bool)
    for starts, number, sizes in (
        (matches.start, matches.length, lengths),
        (matches.caption_start, matches.caption_length, caption_lengths),
    ):
        match, place = expand(number)
        first = (np.cumsum(sizes) - sizes)[matches.pair] + starts
        words = first[match] + place
        claims = np.bincount(words)
        free[match[claims[words] > 1]] = False
    return free


def _search(matches, fixed, lengths, longest):
    """Searches for the best alignment of each pair.

    All pairs go from the first to the last word of their references together.
    Paths, which are alignments of the words so far, are columns, sorted by
    pair.

    Args:
        matches: `Matches`.
        fixed: Boolean array, which matches are in all alignments.
        lengths: Array of the length of each pair's reference.
        longest: Integer, the length of the longest caption.

    Returns:
        Array of the numbers of matches that are taken.
    """
    pairs, positions = len(lengths), lengths.max() + 1
    table = _MatchTable(matches, positions, longest)
    cells = matches.start * pairs + matches.pair
    options = np.flatnonzero(~fixed)
    options = options[np.argsort(cells[options], kind="stable")]
    counts = np.bincount(cells[options], minlength=positions * pairs)
    firsts = np.cumsum(counts) - counts
    # Matches that all paths take; the last row is no match.
    others = np.full(positions * pairs, -1)
    others[cells[fixed]] = np.flatnonzero(fixed)
    pair, free_from = np.arange(pairs), np.zeros(pairs, int)
    cost = pair * table.span
    end = np.full(pairs, -1)  # in the caption, of the match before
    used = np.zeros(pairs, table.used.dtype)
    steps, every = [], np.arange(pairs)
    for position in range(positions):
        # Of equal paths, the first one.
        order = np.argsort(cost, kind="stable")
        place = np.arange(len(pair)) - np.searchsorted(pair, every)[pair]
        # METEOR 1.5 cuts the beam before it counts the last chunk.
        order = order[place < np.where(position > lengths[pair], 1, _BEAM)]
        cell = position * pairs + pair[order]
        free = free_from[order] <= position
        number = counts[cell] * free
        path, place = expand(number + 1)
        taken = np.where(free, others[cell], -1)[path]
        is_option = place < number[path]
        taken[is_option] = options[(firsts[cell[path]] + place)[is_option]]
        possible = (used[order[path]] & table.used[taken]) == 0
        path, taken = path[possible], taken[possible]
        # METEOR 1.5 adds the distance of a match to the path without it, and
        # so to the paths of later matches of this word.
        passed = np.cumsum(table.distance[taken]) - table.distance[taken]
        passed -= passed[np.searchsorted(path, np.arange(len(order)))][path]
        path, free = order[path], free[path]
        broken = free & (end[path] >= 0) & (end[path] != table.start[taken])
        cost = cost[path] + passed + broken * table.chunk - table.gain[taken]
        pair, used = pair[path], used[path] | table.used[taken]
        end = np.where(free, table.end[taken], end[path])
        free_from = np.maximum(free_from[path], position + table.length[taken])
        steps.append((path, taken))
    best = np.argsort(cost, kind="stable")[np.searchsorted(pair, every)]
    found = []
    for path, taken in reversed(steps):
        found.append(taken[best])
        best = path[best]
    found = np.concatenate(found)
    return found[found >= 0]


class _MatchTable:
    """Columns of matches, and a last row for no match."""

    def __init__(self, matches, positions, longest):
        pair, matcher, start, length, caption_start, caption_length = matches
        self.start = np.append(caption_start, -1)
        self.end = np.append(caption_start + caption_length, -1)
        self.length = np.append(length, 0)
        self.distance = np.append(np.abs(start - caption_start), 0)
        # Paths are sorted by pair, then covered words, chunks and distance:
        # digits of one number.
        self.chunk = 1 + int(np.bincount(pair, self.distance[:-1]).max())
        word = (1 + positions) * self.chunk
        self.span = (1 + positions + longest) * word
        weight = np.array(WEIGHTS)[matcher]
        covered = (length * weight).astype(int)
        covered += (caption_length * weight).astype(int)
        self.gain = np.append(covered * word, 0)
        # Sets of words of the caption, as bits of a number.
        bits = np.int64 if longest < 64 else object
        words = (1 << caption_length.astype(bits)) - 1
        self.used = np.append(words << caption_start.astype(bits), 0)


def count_chunks(matches: Matches, pairs: int) -> np.ndarray:
    """Counts runs of matches that are adjacent in caption and reference."""
    ends = matches.start + matches.length
    caption_ends = matches.caption_start + matches.caption_length
    new = np.ones(len(ends), bool)
    new[1:] = (
        (matches.pair[1:] != matches.pair[:-1])
        | (matches.start[1:] != ends[:-1])
        | (matches.caption_start[1:] != caption_ends[:-1])
    )
    return np.bincount(matches.pair[new], minlength=pairs)
