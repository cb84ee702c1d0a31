"""Methods of a sweep, their comparisons, and published results."""

import re

from tensorboard_plugin_tfcap.tradeoff import Reference
from tfcap.curves import group_curves

#: Names in the paper, in the order of its legend; and our own.
TITLES = {
    "psst_multinomial": "PSST Multinomial",
    "psst_gumbel": "PSST Gumbel Softmax",
    "psst_soft_cooling": "PSST, cooling \u03c1",
    "psst_expected": "PSST, expected end",
    "st_multinomial": "ST Multinomial",
    "st_gumbel": "ST Gumbel Softmax",
    "st_gumbel_annealed": "Gumbel Temperature Annealing",
    "dense": "Dense (\u03c1 = 1)",
    "reinforce_joint": "REINFORCE",
    "luo2018": "Luo et al. 2018",
    "psst_speaker": "PSST, listener frozen",
    "multinomial_speaker": "ST Multinomial, listener frozen",
    "gumbel_speaker": "ST Gumbel Softmax, listener frozen",
    "frozen_speaker_luo": "Frozen Speaker (Luo)",
    "frozen_speaker_mle": "Frozen Speaker (MLE)",
    "sr_pl": "SR-PL",
    "g_gan": "G-GAN",
    "listener_gt": "Listener trained on GT",
    "gt_on_psst_listener": "GT captions, PSST's listener",
    "retriever_ensemble": "Retriever ensemble",
    "retriever_alone": "One retriever",
    "ensemble_without_cider": "Retriever ensemble without CIDEr-D",
    "ensemble_without_people": "Retriever ensemble without likelihood",
    "ensemble_pathwise": "Retriever ensemble, pathwise",
    "ensemble_weighted": "Human captions, weighted by an ensemble",
    "weighted_alone": "Human captions, weighted by one retriever",
}
#: Speakers before joint training.
ALONE = {
    "speaker_mle": "Speaker alone",
    "speaker_cider": "Speaker alone for CIDEr-D",
    "guided": "Guided decoding (\u03b3)",
}
#: Rows of human captions: they have a recall, and no trade-off.
HUMAN = ("gt_on_psst_listener", "listener_gt")

#: Methods at the ends of rho: partial sampling never, or always.
RHO_ENDS = {
    "psst_multinomial": {"st_multinomial": 0.0, "dense": 1.0},
    "psst_gumbel": {"st_gumbel": 0.0},
}


def method_title(method):
    """A method as the paper prints it; others by their names."""
    base = method.removesuffix("_code")
    if base in TITLES and base != method:
        return f"{TITLES[base]} (code)"
    return {**TITLES, **ALONE}.get(method, method)


def by_method(records, rho: float = 0.25):
    """Records by method, in the order of the legend.

    A method that was trained with several rho or temperatures has several
    curves. The given rho is taken; temperatures become methods of their own.

    Raises:
        ValueError: If a method has several rho, and not the given one.
    """
    groups = {}
    for record in records:
        groups.setdefault(record["method"], []).append(record)
    names = [name for name in TITLES if name in groups]
    names += [name for name in groups if name not in names]
    members = {}
    for name in names:
        chosen = _of_rho(name, groups[name], rho)
        heats = {record.get("temperature") for record in chosen}
        for record in chosen:
            title = method_title(name)
            if len(heats) > 1:
                title += f", \u03c4 = {record.get('temperature')}"
            members.setdefault(title, []).append(record)
    return members


def rho_notes(groups):
    """A line with the rho of each curve, if these differ."""
    shares = {
        title: records[0]["rho"]
        for title, records in groups.items()
        if measured(records[0], "rho")
    }
    if len(set(shares.values())) < 2:
        return []
    named = ", ".join(f"{title} {rho:g}" for title, rho in shares.items())
    return [f"Partial sampling, \u03c1: {named}."]


def curves_of(groups, naturalness: str = "cider_d", recall: str = "r@10"):
    """Curves by seed, by title, of the methods that can be measured so.

    Returns:
        The curves, and a dict of the number of points without a value, by
        title. A method with such a point has no curve.
    """
    curves, lacking = {}, {}
    for title, records in groups.items():
        bad = [r for r in records if not measured(r, naturalness, recall)]
        if bad:
            lacking[title] = len(bad)
        else:
            (curves[title],) = group_curves(
                [
                    {**record, "method": title, "lambda": place_of(record)[1]}
                    for record in records
                ],
                naturalness,
                recall,
            ).values()
    return curves, lacking


def rho_curves(records: list[dict], recall: str = "r@10"):
    """Curves of the methods that were trained with several rho.

    Returns:
        Dict of dicts of `Curve` by seed, by pairs of title and rho, ascending.
        Those of `RHO_ENDS` stand for rho 0 and 1 where the method itself was
        not trained with them.
    """
    curves = {}
    for method, ends in RHO_ENDS.items():
        family = {}
        for record in records:
            if record["method"] == method and record.get("rho") is not None:
                family.setdefault(float(record["rho"]), []).append(record)
        for end, rho in ends.items() if family else ():
            stand_in = [r for r in records if r["method"] == end]
            if stand_in and rho not in family:
                family[rho] = stand_in
        if len(family) > 1:
            title = method_title(method)
            groups = {(title, rho): family[rho] for rho in sorted(family)}
            curves.update(curves_of(groups, "cider_d", recall)[0])
    return curves


def place_of(record):
    """The symbol and the value that place a record on its curve."""
    if measured(record, "gamma"):
        return "\u03b3", record["gamma"]
    return "\u03bb", record.get("lambda")


def measured(record, *names):
    """Check whether a record has a number under each of these names."""
    values = [record.get(name) for name in names]
    # NaN alone is not itself.
    return all(value is not None and value == value for value in values)


def _of_rho(method, records, rho):
    rhos = {record.get("rho") for record in records}
    if len(rhos) == 1:
        return records
    chosen = [record for record in records if record.get("rho") == rho]
    if not chosen:
        raise ValueError(
            f"`rho` must be one that {method!r} was trained with. Received: "
            f"rho={rho}, of {', '.join(map(str, sorted(rhos, key=str)))}. "
            "`python -m reproduce tables psst SWEEP --rho RHO` takes one."
        )
    return chosen


#: Where they are from.
DATA = "COCO"
PAPER = f"Vered et al. 2019, on {DATA}"

RECALLS = ("r@1", "r@5", "r@10")

#: Table 1, naturalness at recall@5 = 80 %.
AT_RECALL = {
    "psst_multinomial": (1.119, 0.322, 0.264, 0.544, 0.206),
    "psst_gumbel": (1.109, 0.320, 0.263, 0.541, 0.205),
    "st_multinomial": (1.106, 0.300, 0.259, 0.542, 0.194),
    "st_gumbel": (1.087, 0.288, 0.253, 0.528, 0.187),
    "reinforce_joint": (0.902, 0.251, 0.247, 0.505, 0.189),
}
#: Its columns.
AT_RECALL_OF = ("cider_d", "bleu_4", "meteor", "rouge_l", "spice")

#: Table 2, recall@1, 5 and 10 in percent at CIDEr = 1.2.
AT_CIDER = {
    "psst_multinomial": (38.1, 74.2, 86.3),
    "psst_gumbel": (37.6, 73.0, 85.7),
    "st_multinomial": (31.9, 67.9, 81.8),
    "st_gumbel": (31.8, 67.3, 80.6),
    "st_gumbel_annealed": (24.2, 56.3, 70.9),
    "reinforce_joint": (31.3, 67.0, 80.5),
    "luo2018": (20.5, 49.1, 64.0),
    "sr_pl": (33.0, 66.4, 80.1),
    "g_gan": (14.3, 40.1, 55.8),
}
AT_CIDER_NOTE = (
    "Published SR-PL is at CIDEr 1.17 on the Karpathy split, published G-GAN "
    "at 0.795 on COCO's validation split."
)

#: Table 3, top: recall@1, 5 and 10 in percent at CIDEr = 1.13.
ABLATION = {
    "psst_multinomial": (45.3, 79.4, 89.9),
    "psst_gumbel": (45.0, 78.8, 89.4),
    "reinforce_joint": (38.9, 74.0, 86.2),
    "luo2018": (27.7, 60.1, 74.6),
    "frozen_speaker_luo": (32.6, 67.8, 81.8),
    "frozen_speaker_mle": (19.3, 46.9, 61.3),
}
#: Table 3, bottom: human captions.
HUMAN_CAPTIONS = {
    "gt_on_psst_listener": (21.3, 46.9, 59.3),
    "listener_gt": (25.4, 53.9, 66.8),
}

#: The paper's claims: a method, and one that it outperforms.
CLAIMS = (
    ("psst_multinomial", "st_multinomial"),
    ("psst_multinomial", "st_gumbel"),
    ("psst_multinomial", "reinforce_joint"),
    ("psst_multinomial", "dense"),
    ("psst_multinomial", "luo2018"),
    ("psst_multinomial", "frozen_speaker_luo"),
    ("psst_multinomial", "frozen_speaker_mle"),
    ("psst_gumbel", "st_gumbel"),
    ("st_gumbel", "st_gumbel_annealed"),
    ("st_multinomial", "luo2018"),
    ("reinforce_joint", "luo2018"),
)


def published_references():
    """The paper's tables as points: each has two operating points at most.

    Example:

    >>> from reproduce import psst_figures
    >>> references = psst_figures.published_references()
    >>> references[0].title, references[0].metrics["r@10"]
    ('psst_multinomial', 86.3)
    """
    tables = (
        (2, AT_CIDER, RECALLS, {"cider_d": 1.2}),
        (1, AT_RECALL, AT_RECALL_OF, {"r@5": 80.0}),
        (3, ABLATION, RECALLS, {"cider_d": 1.13}),
    )
    others = {"sr_pl": {"cider_d": 1.17}, "g_gan": {"cider_d": 0.795}}
    references = []
    for place, table, names, at in tables:
        for method, values in table.items():
            metrics = dict(zip(names, values)) | others.get(method, at)
            source = f"{PAPER}, Table {place}"
            references.append(Reference(method, metrics, source, DATA))
    return references


#: Decodings by the prefix of their scores.
DECODINGS = {"": "", "beam_": "beam search", "greedy_": "greedy"}


def decoded(name, decoding):
    """A table's name, with the decoding unless it is the published one."""
    return ", ".join(filter(None, [name, DECODINGS[decoding]]))


FIXED = "fixed_"
#: The mean of a panel of held-out listeners.
STRANGERS = "strangers_"
#: Prefixes of scores that are not those of another listener.
_NO_LISTENER = ("human_", "image_to_text_", "first_", "beam_", "greedy_")
#: The row of human captions, whose listener is the fixed one.
_ITSELF = "listener_gt"

NOTE = (
    "Fixed: the listener of phase 1, trained on human captions alone; own: the "
    "same listener after training with the speaker. The gap between own and "
    "fixed is co-adaptation, or further training of the listener (that of the "
    "frozen speaker was trained further alone). A frozen listener, as that of "
    "Luo et al., is both: the speaker was trained for it, so it is not held "
    "out."
)
PANEL_NOTE = (
    "Held-out: the mean of a panel of listeners of several architectures, "
    "trained on human captions alone (`python -m reproduce strangers`)."
)


def listeners(records: list[dict], recall: str = "r@10", decoding=""):
    """Listeners of a record, held-out ones first.

    Args:
        decoding: String before the names of scores, such as `"beam_"`.
            Defaults to `""`.

    Returns:
        List of prefixes of `recall`: `"strangers_"`, `"fixed_"`, those of
        other listeners, and `""`, the speaker's own, if a record has it.

    Example:

    >>> from reproduce.psst_figures.methods import listeners
    >>> listeners([{"r@10": 58.7, "fixed_r@10": 47.7, "human_r@10": 44.0}])
    ['fixed_', '']
    """
    names = {name for r in records for name in r if measured(r, name)}
    pattern = re.compile(
        rf"{re.escape(decoding)}((?:\w+_)?){re.escape(recall)}$"
    )
    found = {m[1] for name in names if (m := pattern.match(name))}
    found = {p for p in found if not any(x in p for x in _NO_LISTENER)}
    order = {STRANGERS: 0, FIXED: 1, "": 3}
    return sorted(found, key=lambda prefix: (order.get(prefix, 2), prefix))


def listener_notes(heard):
    """Notes on the listeners that a table has columns of."""
    notes = [NOTE] if len(heard) > 1 else []
    return notes + [PANEL_NOTE] * (STRANGERS in heard)


def listener_title(prefix):
    """Title of a listener: `"fixed listener"`."""
    if prefix == STRANGERS:
        return "held-out listeners"
    return f"{prefix.removesuffix('_').replace('_', ' ') or 'own'} listener"


def recall_head(recall, prefix, several):
    """The head of a column: `"fixed R@10"`; `"R@10"` where one listens."""
    word = prefix.removesuffix("_").replace("_", " ") or "own"
    word = "held-out" if prefix == STRANGERS else word
    return f"{word} {recall.upper()}" if several else recall.upper()


def with_fixed_listener(records: list[dict]):
    """Records with scores of the fixed listener in its own row, too.

    Returns:
        List of dicts. For human captions by the listener that was trained on
        these alone, recall by the fixed listener is its own.
    """
    if FIXED not in listeners(records):
        return list(records)
    rescored = []
    for record in records:
        if record["method"] == _ITSELF:
            own = {f"{FIXED}{k}": record[k] for k in RECALLS if k in record}
            record = {**own, **record}
        rescored.append(record)
    return rescored
