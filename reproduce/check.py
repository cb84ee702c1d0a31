"""Checks a finding of each paper: `python -m reproduce check`.

Trains rows again, with one seed on the embedded world and the settings of the
paper's page. One seed has no interval: a finding holds if the difference has
the right sign.
"""

import argparse
import os
import subprocess
import sys
from typing import NamedTuple

from reproduce.sweep import load_records
from tfcap._io import command
from tfcap._io import read_json


class Check(NamedTuple):
    """A finding, and the runs that show it.

    Args:
        arguments: String, arguments of `python -m reproduce`.
        minutes: Integer, CPU minutes on one core.
        metric: String, the score that is compared.
        above: String, the row with the higher score.
        below: String, the row with the lower score.
        finding: String, the finding on the paper's page.
    """

    arguments: str
    minutes: int
    metric: str
    above: str
    below: str
    finding: str


CHECKS = {
    "psst": Check(
        "psst --methods speaker_mle,psst_multinomial --rhos 0.25 "
        "--lambdas 0.005 --seeds 0",
        8,
        "fixed_r@10",
        "psst_multinomial",
        "speaker_mle",
        "a fixed listener finds more images by PSST's captions",
    ),
    "sle": Check(
        "sle --methods sll,sll_sle --seeds 0",
        5,
        "rs_div_2",
        "sll_sle",
        "sll",
        "samples of SLL-SLE are more diverse than those of SLL",
    ),
    "spider": Check(
        "spider --methods mle,pg_cider --seeds 0",
        5,
        "cider_d",
        "pg_cider",
        "mle",
        "the policy gradient raises CIDEr-D",
    ),
    "wtf_rl": Check(
        "wtf_rl --methods tf,wtf --seeds 0",
        8,
        "unseen_r@10",
        "wtf",
        "tf",
        "an unseen retriever finds more images by WTF's captions",
    ),
    "truth": Check(
        "truth --methods mle,precision --seeds 0",
        8,
        "truth_precision",
        "precision",
        "mle",
        "a reward of precision makes captions truer",
    ),
    "visdial": Check(
        "visdial --settings world_truth --test-dialogs 300 "
        "--validation-dialogs 0 "
        "--rows hciae_g_mle,hciae_g_mle_control,hciae_g_dis --seed 0",
        8,
        "mrr",
        "hciae_g_dis",
        "hciae_g_mle_control",
        "G-DIS ranks better than as many updates of maximum likelihood",
    ),
}


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command.

    Returns:
        Integer, the exit status: 0; 1 if a finding does not hold or a run
        failed; 2 if an option is invalid; 130 after Ctrl-C.
    """
    parser = argparse.ArgumentParser(
        prog="python -m reproduce check",
        description="Trains a row of each paper again and checks that its "
        "finding holds: about "
        f"{sum(check.minutes for check in CHECKS.values())} minutes on one "
        "core for all. Finished work is kept; the same command resumes.",
    )
    parser.add_argument(
        "papers",
        nargs="*",
        metavar="PAPER",
        help=f"any of {', '.join(CHECKS)} (default: all)",
    )
    parser.add_argument("--out", default="runs/check", help="folder of runs")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.papers if name not in CHECKS]
    if unknown:
        parser.error(
            f"PAPER must be among {', '.join(CHECKS)}. Received: {unknown[0]}."
        )
    status = 0
    for name in options.papers or CHECKS:
        check, out = CHECKS[name], os.path.join(options.out, name)
        words = ["-m", "reproduce", *check.arguments.split(), "--out", out]
        print("python", *words, flush=True)
        # A process of its own: TensorFlow's memory goes with it.
        done = subprocess.run([sys.executable, *words]).returncode
        if done:
            print(f"{name}: the run failed with status {done}.")
            if done == 130:
                return 130
            status = 1
            continue
        found = scores(out, check.metric)
        more, less = found[check.above], found[check.below]
        holds = "holds" if more > less else "DOES NOT HOLD"
        print(
            f"{name}: {check.finding}: {holds}. {check.metric} "
            f"{more:.4g} of {check.above}, {less:.4g} of {check.below}."
        )
        status |= more <= less
    return int(status)


def scores(folder, metric: str) -> dict[str, float]:
    """A score by row, of a sweep or of a run of visual dialog."""
    path = os.path.join(folder, "results.json")
    if not os.path.exists(path):
        return {r["method"]: r[metric] for r in load_records(folder)}
    rows = read_json(path)["rows"]
    return {
        row: groups["generative"][metric]
        for row, groups in rows.items()
        if metric in groups.get("generative", {})
    }
