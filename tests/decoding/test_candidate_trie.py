import numpy as np
import pytest

from tfcap.decoding.candidate_scores import build_trie

EOS = 2


def random_case(seed, questions=4, candidates=12, answers=15, length=5):
    rng = np.random.default_rng(seed)
    table = np.zeros((answers, length), int)
    for row in table:
        words = rng.integers(3, 6, size=rng.integers(0, length))
        row[: len(words)] = words
        row[len(words)] = EOS
    options = rng.integers(-1, answers, size=(questions, candidates))
    return table, options


def spelled(trie, leaf):
    """The question and words of a node, read from the tree."""
    sizes = [len(level.token) for level in trie.levels]
    depth = int(np.searchsorted(np.cumsum(sizes), leaf, "right"))
    node, words = leaf - sum(sizes[:depth]), []
    for level in reversed(trie.levels[: depth + 1]):
        words.append(int(level.token[node]))
        node = level.parent[node]
    return int(node), words[::-1]


@pytest.mark.parametrize("seed", range(3))
def test_every_option_is_spelled_by_its_path(seed):
    answers, options = random_case(seed)
    trie = build_trie(answers, options, EOS)
    for (question, option), answer in np.ndenumerate(options):
        if answer == -1:
            assert trie.leaf[question, option] == -1
            continue
        words = [int(w) for w in answers[answer] if w]
        assert spelled(trie, trie.leaf[question, option]) == (question, words)


@pytest.mark.parametrize("seed", range(3))
def test_no_prefix_of_a_question_stands_twice(seed):
    answers, options = random_case(seed)
    trie = build_trie(answers, options, EOS)
    prefixes = {
        (question, *answers[answer][: t + 1])
        for (question, _), answer in np.ndenumerate(options)
        for t in range(5)
        if answer >= 0 and answers[answer][t]
    }
    assert sum(len(level.token) for level in trie.levels) == len(prefixes)
    going_on = {p[:-1] for p in prefixes if len(p) > 2}
    assert sum(level.inner for level in trie.levels) == len(going_on)
    for above, below in zip(trie.levels, trie.levels[1:]):
        assert set(below.parent) == set(range(above.inner))


def test_an_answer_ends_with_its_end_token_or_its_last_word():
    trie = build_trie([[3, 4, 5], [3, 0, 0]], [[0, 1]], EOS)
    assert spelled(trie, trie.leaf[0, 0]) == (0, [3, 4, 5])
    assert spelled(trie, trie.leaf[0, 1]) == (0, [3])
    trie = build_trie([[3, EOS, 7], [3, EOS, 0]], [[0, 1]], EOS)
    assert spelled(trie, trie.leaf[0, 0]) == (0, [3, EOS])
    assert trie.leaf[0, 0] == trie.leaf[0, 1]


def test_an_empty_answer_is_refused_where_it_is_used():
    build_trie([[3, EOS], [0, 0]], [[0, -1]], EOS)
    with pytest.raises(ValueError, match="an empty row 1"):
        build_trie([[3, EOS], [0, 0]], [[0, 1]], EOS)
