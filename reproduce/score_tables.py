"""Tables of rows and scores over seeds, with intervals."""

import math
from typing import NamedTuple

from tensorboard_plugin_tfcap.tradeoff import TradeoffTable
from tfcap.curves import mean_interval


class Row(NamedTuple):
    """A method, and those settings that are not its study's."""

    method: str
    alpha: float | None = None
    rate: float | None = None
    entropy_weight: float | None = None
    reward_shift: float | None = None
    lambda_: float | None = None
    rho: float | None = None
    temperature: float | None = None
    gamma: float | None = None

    @property
    def moved(self):
        """Dict of these settings by name."""
        values = zip(_SETTINGS, self[1:])
        return {k: v for k, v in values if v is not None}

    def __str__(self):
        settings = [
            f"{k.replace('_', ' ')} {v:g}" for k, v in self.moved.items()
        ]
        return ", ".join([self.method, *settings])


#: Of a row, as records name them.
_SETTINGS = [field.rstrip("_") for field in Row._fields[1:]]


def by_row(records: list[dict], order=()):
    """Records by row, and then by seed."""
    runs, place = {}, {method: i for i, method in enumerate(order)}
    for record in records:
        key = Row(*map(record.get, ["method", *_SETTINGS]))
        runs.setdefault(key, {})[record["seed"]] = record
        place.setdefault(key.method, len(place))

    def rank(key):
        values = [-math.inf if v is None else v for v in key[1:]]
        return place[key.method], *values

    return {key: runs[key] for key in sorted(runs, key=rank)}


#: Recall by a panel of held-out listeners.
STRANGERS = {
    "strangers_r@10": ("held-out R@10", 1),
    "strangers_spread": ("their spread", 0),
    "private_language": ("own - held-out", -1),
}
#: Defects of captions, as columns of tables.
LANGUAGE = {
    "lm_log_prob": ("log prob / word", 1),
    "mean_length": ("words", 0),
    "repeat_rate": ("a word twice in a row", -1),
    "repeated_bigram_rate": ("a bigram twice", -1),
    "repeated_bigrams": ("repeated bigrams", -1),
    "novel_bigrams": ("new bigrams", 0),
    "novel_trigrams": ("new trigrams", 0),
    "bad_ending_rate": ("bad endings", -1),
    "unfinished_rate": ("unfinished", -1),
}
#: Truth of captions of the embedded world, as columns of tables.
TRUTH = {
    "truth": ("harmonic mean", 1),
    "truth_precision": ("claim precision", 1),
    "truth_recall": ("fact recall", 1),
    "truth_weighted_recall": ("weighted fact recall", 1),
    "truth_claims": ("claims", 0),
    "truth_false": ("false claims", -1),
    "truth_chair_i": ("CHAIR-i", -1),
    "truth_chair_s": ("CHAIR-s", -1),
    "truth_pope": ("POPE", 1),
    "truth_pope_popular": ("POPE, popular", 1),
    "truth_pope_yes": ("yes", 0),
    "truth_utility": ("questions answered", 1),
    "truth_unread": ("unread words", -1),
    "truth_unread_captions": ("captions with unread words", -1),
    "truth_silent": ("captions without claims", -1),
}
#: Objects in captions that references do not mention, likewise.
CHAIR = {"chair_i": ("CHAIR-i", -1), "chair_s": ("CHAIR-s", -1)}
#: Human captions, as a row of tables.
HUMAN = "human captions"


def human_run(runs):
    """Scores of human captions by seed, as those of a row, or nothing."""
    run = {}
    for by_seed in runs.values():
        for seed, record in by_seed.items():
            names = (*LANGUAGE, *STRANGERS)
            scores = {k: record.get(f"human_{k}") for k in names}
            scores = {k: v for k, v in scores.items() if v is not None}
            if scores:
                run.setdefault(seed, scores)
    return {Row(HUMAN): run} if run else {}


def score_table(name: str, title: str, runs, columns, prefix: str = ""):
    """Rows by scores, the best of a column bold.

    Args:
        columns: Dict of a title, and 1 if more is better, -1 if less is, 0 if
            neither, by the name of a score.

    Returns:
        `TradeoffTable`, or `None` if no row has any of the scores. A score
        that some seeds of a row lack shows its number of seeds, and is never
        the best.
    """
    columns = {
        prefix + key: column
        for key, column in columns.items()
        if any(values(by_seed, prefix + key) for by_seed in runs.values())
    }
    if not columns:
        return None
    scores = [[values(r, key) for key in columns] for r in runs.values()]
    counts = [len(by_seed) for by_seed in runs.values()]
    rows = [
        [str(key), *(_counted(x, count) for x in line), str(count)]
        for key, line, count in zip(runs, scores, counts)
    ]
    best = []
    of_models = [key.method != HUMAN for key in runs]
    for place, (_, sign) in enumerate(columns.values()):
        means = [
            _mean(line[place]) * sign
            if ours and len(line[place]) == count
            else math.nan
            for line, ours, count in zip(scores, of_models, counts)
        ]
        known = [mean for mean in means if not math.isnan(mean)]
        if sign and len(known) > 1:
            best.append((means.index(max(known)), place + 1))
    head = ["", *(title for title, _ in columns.values()), "seeds"]
    fewer = any(
        0 < len(x) < count for line, count in zip(scores, counts) for x in line
    )
    notes = ["(n): mean over n seeds; the others lack this score."] * fewer
    return TradeoffTable(name, title, head, rows, notes, best)


def difference_table(runs, claims, title: str = "paired by seed"):
    """Differences between two rows, paired by seed.

    Returns:
        `TradeoffTable`, or `None` where no pair is there.
    """
    runs = {key[0]: by_seed for key, by_seed in runs.items()}
    rows = []
    for (row, against), names in claims.items():
        ours, theirs = runs.get(row, {}), runs.get(against, {})
        for name in names:
            if found := gaps(ours, theirs, name):
                cells = [name, cell(found, "+"), str(len(found))]
                rows.append([f"{row} - {against}", *cells])
    head = ["", "score", "difference", "seeds"]
    if not rows:
        return None
    return TradeoffTable("Differences", title, head, rows, [])


def cell(values, sign=""):
    """Mean and 95 % interval, as text."""
    if not values:
        return "-"
    mean, low, high = mean_interval(values)
    # Percentages and ranks need fewer digits than scores of about one.
    form = f"{sign}.2f" if abs(mean) >= 10 else f"{sign}.3f"
    if math.isinf(low):
        return f"{mean:{form}}"
    return f"{mean:{form}} [{low:{form}}, {high:{form}}]"


def _counted(values, count):
    """A cell with its number of values where the row has more seeds."""
    few = f" ({len(values)})" if 0 < len(values) < count else ""
    return cell(values) + few


def found_on(tables, data):
    """The tables that are not `None`, with a note on their data."""
    tables = [table for table in tables if table is not None]
    for table in tables:
        note = f"Found on: {data}; mean and 95 % interval over seeds."
        table.notes.append(note)
    return tables


def values(by_seed: dict, name: str) -> list[float]:
    """A score of every seed that has it."""
    scores = [by_seed[seed].get(name) for seed in sorted(by_seed)]
    return [score for score in scores if score is not None]


def gaps(ours: dict, theirs: dict, name: str) -> list[float]:
    """Differences of a score, of the seeds that both have."""
    pairs = [
        (ours[seed].get(name), theirs[seed].get(name))
        for seed in sorted(ours.keys() & theirs.keys())
    ]
    return [a - b for a, b in pairs if None not in (a, b)]


def _mean(values):
    return sum(values) / len(values) if values else math.nan
