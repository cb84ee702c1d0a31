"""Points on straight lines, for the tests."""

from tensorboard_plugin_tfcap.tradeoff.point import TradeoffPoint


def line(method, gain=0.0, seeds=(0, 1), weights=(0.1, 0.2), **params):
    """Naturalness falls from 2 to 1 as recall rises from 50 to 60."""
    return [
        TradeoffPoint(
            f"{method}/{params}{weight},{seed}",
            method,
            {"lambda": weight, **params},
            seed,
            metrics={
                "cider_d": 2.0 - place,
                "r@10": 50.0 + gain + 10 * place + 2 * seed,
                "mean_rank": 10.0 - place - gain,
            },
        )
        for seed in seeds
        for place, weight in enumerate(weights)
    ]


def boxes_meet(one, other):
    """Check whether two boxes of Matplotlib share more than a dot."""
    across = min(one.x1, other.x1) - max(one.x0, other.x0)
    return across >= 1 and min(one.y1, other.y1) - max(one.y0, other.y0) >= 1
