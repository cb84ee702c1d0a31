"""Methods of PSST's sweeps: their titles, and the curves of records."""

from tfcap.curves import group_curves

#: As the paper prints them, in the order of its legend; and our own.
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
    "ensemble_weighted": "Human captions, weighed by an ensemble",
    "weighted_alone": "Human captions, weighed by one retriever",
}
#: What stands before joint training.
ALONE = {
    "speaker_mle": "Speaker alone",
    "speaker_cider": "Speaker alone for CIDEr-D",
    "guided": "Guided decoding (\u03b3)",
}
#: Methods whose captions are human: they have a recall, and no trade-off.
HUMAN = ("gt_on_psst_listener", "listener_gt")

#: Methods that are one another's ends: partial sampling never, or always.
RHO_ENDS = {
    "psst_multinomial": {"st_multinomial": 0.0, "dense": 1.0},
    "psst_gumbel": {"st_gumbel": 0.0},
}


def method_title(method):
    """A method as the paper prints it; one that it has not, by its name."""
    base = method.removesuffix("_code")
    if base in TITLES and base != method:
        return f"{TITLES[base]} (code)"
    return {**TITLES, **ALONE}.get(method, method)


def by_method(records, rho: float = 0.25):
    """Records by method, in the order of the legend.

    A method that was trained with several rho or temperatures is several
    curves. Of the rho, the one that is asked for is taken; temperatures become
    methods of their own.

    Raises:
        ValueError: If a method has several rho, and not that one.
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
    """A line that says which curves are of which rho, where these differ."""
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
        The curves, and a dict of how many points are without a value, of those
        titles that cannot be measured. A curve that lacks a point is another
        curve, so such a method has none.
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
    """The symbol and the value of what moves a record along its curve."""
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
            "`python -m reproduce curves SWEEP --rho RHO` takes one of these."
        )
    return chosen
