"""Tables of sequence-level learning."""

import functools

from reproduce.score_tables import CHAIR
from reproduce.score_tables import LANGUAGE
from reproduce.score_tables import STRANGERS
from reproduce.score_tables import TRUTH
from reproduce.score_tables import Row
from reproduce.score_tables import by_row
from reproduce.score_tables import cell
from reproduce.score_tables import difference_table
from reproduce.score_tables import found_on
from reproduce.score_tables import human_run
from reproduce.score_tables import score_table
from reproduce.sle.settings import ROWS
from reproduce.spider.settings import ROWS as POLICY_GRADIENT
from tensorboard_plugin_tfcap.tradeoff import TradeoffTable

_SEVERAL = {
    "mean_cider_d": ("CIDEr-D", 1),
    "best_cider_d": ("best CIDEr-D", 1),
    "div_1": ("Div-1", 1),
    "div_2": ("Div-2", 1),
    "mutual_bleu_4": ("mBLEU-4", -1),
}
_METRICS = {
    "bleu_1": ("BLEU-1", 1),
    "bleu_2": ("BLEU-2", 1),
    "bleu_3": ("BLEU-3", 1),
    "bleu_4": ("BLEU-4", 1),
    "meteor": ("METEOR", 1),
    "rouge_l": ("ROUGE-L", 1),
    "cider_d": ("CIDEr-D", 1),
    "spice": ("SPICE", 1),
    "spice_spacy": ("SPICE (spaCy)", 1),
    "spider": ("SPIDEr", 1),
    "spider_spacy": ("SPIDEr (spaCy)", 1),
    "bcmr": ("BCMR", 1),
    **CHAIR,
}
_MOTION = {
    "motion": ("motion right", 1),
    "motion_and_thing": ("motion and object right", 1),
}
#: Rows without a reward.
_STARTS = ("xe", "mle")
_EXPLORATION = ("xe", "sll", "sll_me", "sll_sle", "sll_sle_loo")
#: Pairs of rows whose difference is shown, and of which scores.
_CLAIMS = {
    ("sll", "xe"): ("beam_cider_d", "cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("sll_sle", "sll"): (
        "beam_cider_d",
        "cider_d",
        "rs_mean_cider_d",
        "rs_div_1",
        "rs_div_2",
        "rs_mutual_bleu_4",
    ),
    ("sll_me", "sll"): ("beam_cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("sll_sle", "sll_me"): ("beam_cider_d", "rs_div_1", "rs_mutual_bleu_4"),
    ("pg_cider", "reinforce"): ("cider_d",),
    ("pg_cider", "mle"): ("cider_d",),
    ("pg_cider", "mixer_cider"): ("cider_d",),
    ("pg_bleu4", "mixer_bleu4"): ("bleu_4",),
    ("pg_bcmr", "mixer_bcmr"): ("bcmr",),
    ("pg_spice_spacy", "mle"): ("spice_spacy", "cider_d"),
    ("pg_spider_spacy", "mle"): ("spice_spacy", "cider_d"),
    ("pg_spider_spacy", "pg_cider"): ("spider_spacy", "cider_d"),
    ("pg_spider_spacy", "pg_spice_spacy"): ("spider_spacy", "cider_d"),
}


def sequence_tables(records: list[dict], data: str, rows=None):
    """Builds tables like those of the papers.

    Returns:
        List of `TradeoffTable`, of those that have a row: diversity of samples
        and of beams; scores of the best beam and of greedy captions, beside
        the language of human captions; scores by learning rate; and paired
        differences.
    """
    if rows is not None:
        records = [record for record in records if record["method"] in rows]
    order = (*_STARTS, *ROWS, *POLICY_GRADIENT)
    runs = by_row(records, order)
    usual = {key: by_seed for key, by_seed in runs.items() if key.rate is None}
    ours = {k: v for k, v in usual.items() if k.method in _EXPLORATION}
    others = {k: v for k, v in runs.items() if k.method not in _EXPLORATION}
    tables = [
        score_table(
            "SLE, Table 4, rs", "random samples", ours, _SEVERAL, "rs_"
        ),
        score_table("SLE, Table 4, bs", "beams", ours, _SEVERAL, "bs_"),
        *_written("SLE, Table 2", ours),
        *reversed(_written("SPIDEr", others)),
        score_table("Clips", "greedy captions", usual, _MOTION),
        score_table("Truth", "greedy captions", usual, TRUTH),
        _rates(runs),
        *map(functools.partial(_differences, runs), [None, *_rates_of(runs)]),
    ]
    return found_on(tables, data)


def _written(name, runs):
    """Scores of the best beams, and of greedy captions."""
    people = human_run(runs)
    beams = {
        key: {
            seed: {f"beam_{k}": v for k, v in record.items()}
            for seed, record in by_seed.items()
        }
        for key, by_seed in people.items()
    }
    columns = _METRICS | STRANGERS | LANGUAGE
    return [
        score_table(name, "the best beam", runs | beams, columns, "beam_"),
        score_table(name, "greedy captions", runs | people, columns),
    ]


def _rates_of(runs):
    return sorted({key.rate for key in runs if key.rate is not None})


def _differences(runs, rate):
    """Differences of rows at one learning rate."""
    plain_runs = {
        key: by_seed
        for key, by_seed in runs.items()
        if key == Row(key.method, rate=rate)
        or key == Row(key.method)
        and key.method in _STARTS
    }
    title = "paired by seed" + ("" if rate is None else f", rate {rate:g}")
    return difference_table(plain_runs, _CLAIMS, title)


def _rates(runs):
    """CIDEr-D by learning rate, and its range."""
    rates = _rates_of(runs)
    tried = sorted({key.method for key in runs if key.rate is not None})
    if len(rates) < 2:
        return None
    rows = []
    for row in tried:
        by_rate = [runs.get(Row(row, rate=rate), {}) for rate in rates]
        scores = [{k: v["cider_d"] for k, v in f.items()} for f in by_rate]
        seeds = sorted(set.intersection(*map(set, scores)))
        each = [[by_seed[seed] for by_seed in scores] for seed in seeds]
        spans = [max(values) - min(values) for values in each]
        cells = [cell(list(by_seed.values())) for by_seed in scores]
        rows.append([row, *cells, cell(spans), str(len(seeds))])
    head = ["", *(f"{rate:g}" for rate in rates), "best - worst", "seeds"]
    title = "CIDEr-D of greedy captions by learning rate"
    return TradeoffTable("Sensitivity", title, head, rows, [])
