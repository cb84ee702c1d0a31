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


#: Two methods, of which one was trained with several rho.
RECORDS = [
    *line("psst_multinomial", 10.0, rho=0.25),
    *line("psst_multinomial", 12.0, rho=0.5),
    *line("st_multinomial", 0.0),
    *line("luo2018", -5.0, seeds=(0,)),
]
