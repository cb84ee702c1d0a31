"""Tables of truth as a reward."""

from collections.abc import Collection

from reproduce.score_tables import HUMAN
from reproduce.score_tables import LANGUAGE
from reproduce.score_tables import STRANGERS
from reproduce.score_tables import TRUTH
from reproduce.score_tables import Row
from reproduce.score_tables import by_row
from reproduce.score_tables import difference_table
from reproduce.score_tables import found_on
from reproduce.score_tables import human_run
from reproduce.score_tables import score_table

_ORDER = (
    *("mle", "cider", "precision", "mixed", "f1", "recall"),
    *("weighted_recall", "utility", "utility_cider", "utility_probability"),
    *("learned_utility", "learned_utility_words"),
)
_CLAIMED = (
    *("truth_precision", "truth_recall", "truth_claims", "truth_false"),
    *("truth_chair_i", "truth_utility", "mean_length", "cider_d"),
    *("utility_accuracy", "learned_utility_accuracy", "strangers_r@10"),
)
_CLAIMS = {(row, "mle"): _CLAIMED for row in _ORDER[1:]} | {
    ("f1", "precision"): _CLAIMED,
    ("f1", "recall"): _CLAIMED,
    ("utility", "cider"): _CLAIMED,
    ("utility_cider", "cider"): _CLAIMED,
    ("utility_probability", "cider"): _CLAIMED,
    ("learned_utility_words", "learned_utility"): _CLAIMED,
}
#: Kinds of claims that people make of images and of videos.
_KINDS = (
    *("object", "color", "size", "texture", "place", "relation", "ground"),
    *("count", "motion", "way", "pace"),
)
#: Questions answered by a reader without errors, and by a network.
_READERS = {
    "utility": ("gain", 1),
    "utility_accuracy": ("answered", 1),
    "utility_mean_rank": ("mean rank", -1),
    "learned_utility": ("gain of a network", 1),
    "learned_utility_accuracy": ("answered by a network", 1),
    "learned_utility_mean_rank": ("mean rank by a network", -1),
}
_WRITING = {"cider_d": ("CIDEr-D", 1), "bleu_4": ("BLEU-4", 1), **LANGUAGE}
#: Of sweeps whose speakers have a listener.
_RECALL = {"r@10": ("own R@10", 1), **STRANGERS}
#: Names of scores of human captions.
_OF_PEOPLE = "human_truth", "human_utility", "human_learned"
#: Columns of measures of truth, which stand in this order, by title.
_MEASURES = list(TRUTH.items())
_COLUMNS = {
    "claims and facts": _RECALL | dict(_MEASURES[:6]),
    "objects: CHAIR and POPE": dict(_MEASURES[6:11]),
    "questions, and unread words": dict(_MEASURES[11:]),
    "questions answered by readers": _READERS,
    "claims per caption, by kind": {
        f"truth_claims_{kind}": (kind, 0) for kind in _KINDS
    },
    "claim precision, by kind": {
        f"truth_precision_{kind}": (kind, 1) for kind in _KINDS
    },
}


def truth_tables(
    records: list[dict], data: str, methods: Collection[str] | None = None
):
    """Truth, objects, answers and writing, and paired differences.

    Args:
        methods: Rows to show, or `None` for all.

    Returns:
        List of `TradeoffTable`, with a row of human captions.
    """
    if methods is not None:
        records = [r for r in records if r["method"] in methods]
    runs = by_row(records, _ORDER)
    # Human captions are the same for all rows of a seed.
    people = {
        seed: {
            name.removeprefix("human_"): score
            for name, score in record.items()
            if name.startswith(_OF_PEOPLE)
        }
        for by_seed in runs.values()
        for seed, record in by_seed.items()
    }
    with_people = runs | ({Row(HUMAN): people} if any(people.values()) else {})
    tables = [
        score_table("Truth", title, with_people, columns)
        for title, columns in _COLUMNS.items()
    ]
    # Rows whose hyperparameters are those of the settings.
    plain = {k: v for k, v in runs.items() if k == Row(k.method)}
    tables += [
        score_table("Truth", "writing", runs | human_run(runs), _WRITING),
        difference_table(plain, _CLAIMS),
    ]
    return found_on(tables, data)
