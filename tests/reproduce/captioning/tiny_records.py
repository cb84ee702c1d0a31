"""Records of a sweep that was never run."""


def line(method, gain, seeds=(0, 1), weights=(1e-3, 5e-3), **settings):
    """Points on a straight line: recall rises by 10 as CIDEr-D falls by 0.2.

    The second seed's recall is higher by 2.
    """
    return [
        {
            "method": method,
            "lambda": weight,
            "seed": seed,
            **settings,
            "cider_d": 1.2 - 0.2 * place,
            "bleu_4": 0.32 - 0.02 * place,
            "rouge_l": 0.55 - 0.01 * place,
            "r@1": 20.0 + gain + 10 * place + 2 * seed,
            "r@5": 50.0 + gain + 10 * place + 2 * seed,
            "r@10": 60.0 + gain + 10 * place + 2 * seed,
        }
        for seed in seeds
        for place, weight in enumerate(weights)
    ]


def without(records, name):
    return [{k: v for k, v in r.items() if k != name} for r in records]


def heard(records, gain=0.0):
    """The same points, with all that records of today have.

    The fixed listener's recall is half the own one's; a beam search is more
    natural by 0.1 and is heard `gain` better.
    """
    found = []
    for r in records:
        fixed = {f"fixed_{k}": r[k] / 2 for k in ("r@1", "r@5", "r@10")}
        language = {
            "lm_log_prob": -3.0 + r["cider_d"],
            "repeated_bigram_rate": 0.24,
            "unfinished_rate": 0.13,
            "novel_trigrams": 0.36,
        }
        now = {**r, **fixed, **language}
        beam = {
            f"beam_{k}": v + (gain if "r@" in k else 0.1)
            for k, v in now.items()
            if k.split("_")[0] in ("cider", "lm", "fixed", "r@1", "r@5", "r@10")
        }
        found.append({**now, **beam})
    return found


#: Two methods, of which one was trained with several rho.
RECORDS = [
    *line("psst_multinomial", 10.0, rho=0.25),
    *line("psst_multinomial", 12.0, rho=0.5),
    *line("st_multinomial", 0.0),
    *line("luo2018", -5.0, seeds=(0,)),
]
