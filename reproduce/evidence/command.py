"""Checks the register of claims: `python -m reproduce check`."""

import argparse
import datetime
import os
from collections import Counter

from reproduce.evidence.check import Finding
from reproduce.evidence.check import check_claim
from reproduce.evidence.check import claims_of
from reproduce.evidence.check import registered_before
from reproduce.evidence.check import straddling
from reproduce.evidence.register import load_pages
from reproduce.evidence.register import load_runs
from reproduce.evidence.register import register
from reproduce.evidence.rerun import command_of
from reproduce.evidence.rerun import data_of
from reproduce.evidence.rerun import run_again
from reproduce.evidence.rerun import shown
from reproduce.evidence.rerun import why_not
from reproduce.evidence.verdict import DIRECTIONS
from reproduce.evidence.verdict import ELSEWHERE
from reproduce.evidence.verdict import GONE
from reproduce.evidence.verdict import HOLDS
from reproduce.evidence.verdict import VERDICTS
from tfcap._io import command

#: The most CPU minutes of a run that `--fast` makes again.
FAST = 5.0


@command(ValueError)
def main(arguments: list[str] | None = None) -> int:
    """Runs the command.

    Returns:
        Integer, the exit status: 0; 1 if a claim is gone or a run failed; 2 if
        an option is not as it should be; 130 after Ctrl-C.
    """
    options = _parser().parse_args(arguments)
    claims = claims_of(options.paper)
    if options.register or options.renew:
        today = datetime.datetime.now(datetime.UTC).date().isoformat()
        new = register(claims, today, options.renew)
        print(f"Registered: {len(new)} quantities.")
        return 0
    if options.straddling:
        _print_straddling(claims)
        return 0
    recorded = {
        claim.name: check_claim(claim, load_runs()[claim.run].records)
        for claim in claims
    }
    runs = {c.run: load_runs()[c.run] for c in claims}
    minutes = 0 if options.records else FAST if options.fast else float("inf")
    reasons = {n: why_not(r, minutes, options.root) for n, r in runs.items()}
    chosen = [run for name, run in runs.items() if not reasons[name]]
    _print_plan(chosen)
    status = 0
    for run in chosen:
        try:
            failed = run_again(run, _folder(options, run), options.root)
        except KeyboardInterrupt:
            failed = 130
        if failed == 130:
            print("\nStopped. What is done is kept; the same command goes on.")
            return 130
        if failed:
            reasons[run.name], status = f"failed with status {failed}", 1
    again = {
        claim.name: _again(claim, options, reasons[claim.run])
        for claim in claims
    }
    _print_verdicts(claims, recorded, again, options.verbose)
    _print_reasons(runs, reasons, options.root)
    before = registered_before(claims)
    print(
        f"\nRegistered before their records: {before} of {len(claims)} claims. "
        "Of the others, the register says what was found; what is made again "
        "is their first test."
    )
    _print_exempt()
    found = [*recorded.values(), *again.values()]
    return 1 if any(x.verdict == GONE for x in found) else status


def _parser():
    parser = argparse.ArgumentParser(
        prog="python -m reproduce check",
        description="Says of every claim of README.md, PAPERS.md, the papers' "
        "pages and that of estimators whether it holds, is weaker or gone: by "
        "the records in results/, always; and by a stated part of the runs "
        "(one seed, see reproduce/evidence/runs.toml), made again in a fresh "
        "folder. The whole part takes some hours on one core; started again, "
        "the command goes on where it was stopped.",
    )
    add = parser.add_argument
    add(
        "--paper",
        type=lambda text: text.split(","),
        default=(),
        metavar="NAME,NAME",
        help="claims of these pages or papers only (readme, papers, psst, ...)",
    )
    part = parser.add_mutually_exclusive_group()
    part.add_argument(
        "--fast",
        action="store_true",
        help="make again what takes at most "
        f"{FAST:g} CPU minutes a run, which the plan lists",
    )
    part.add_argument(
        "--records", action="store_true", help="make nothing again: seconds"
    )
    add(
        "--out",
        default="runs/check",
        help="folder of runs made again, which go on there (default "
        "%(default)s); another one begins anew",
    )
    add(
        "--root",
        metavar="FOLDER",
        help="holds folders of real data: flickr8k/, visdial/",
    )
    add("--verbose", action="store_true", help="every quantity of a claim")
    add(
        "--straddling",
        action="store_true",
        help="list the differences whose interval has 0, and end",
    )
    add(
        "--register",
        action="store_true",
        help="register today's intervals of quantities that have none, and end",
    )
    add(
        "--renew",
        action="store_true",
        help="register those of all anew, where they differ, and end",
    )
    return parser


def _folder(options, run):
    return os.path.join(options.out, run.name)


def _again(claim, options, reason):
    if reason:
        return Finding(ELSEWHERE, [])
    folder = os.path.abspath(_folder(options, load_runs()[claim.run]))
    return check_claim(claim, (folder,), again=True)


def _print_plan(runs):
    if runs:
        print(f"Made again, some {sum(r.minutes for r in runs):g} CPU minutes:")
    for run in runs:
        print(f"  {run.name}, {run.minutes:g} minutes: {', '.join(run.again)}")


def _print_verdicts(claims, recorded, again, verbose):
    width = max(len(claim.name) for claim in claims)
    print(f"\n{'claim':{width}}  {'by the records':14}  made again")
    for claim in claims:
        both = recorded[claim.name], again[claim.name]
        print(f"{claim.name:{width}}  {both[0].verdict:14}  {both[1].verdict}")
        for of, finding in zip(("records", "again"), both):
            told = verbose or finding.verdict not in (HOLDS, ELSEWHERE)
            for line in finding.lines if told else ():
                print(f"    {of}: {line}")
    for of, findings in (("By the records", recorded), ("Made again", again)):
        count = Counter(x.verdict for x in findings.values())
        parts = [f"{count[v]} {v}" for v in VERDICTS if count[v]]
        print(f"{of}: {', '.join(parts)}.")


def _print_reasons(runs, reasons, root):
    if any(reasons.values()):
        print("\nNot run here:")
    for name, reason in reasons.items():
        if reason:
            print(f"  {name}: {reason}.")
            out = f"OUT/{name}"
            commands = command_of(runs[name], out, data_of(runs[name], root))
            for words in commands:
                print(f"    {shown(words)}")


def _print_exempt():
    """Prints the number of figures that no record is kept of."""
    trials = {
        name: sum(
            len(entry["numbers"].split())
            for entry in page.exempt
            if entry["kind"] == "trial"
        )
        for name, page in load_pages().items()
    }
    parts = [f"{name} {count}" for name, count in trials.items() if count]
    print(
        f"Numbers of trials without a kept record: {', '.join(parts)}."
        if parts
        else "Every measured number has a record."
    )


def _print_straddling(claims):
    for claim, one, interval, seeds in straddling(claims):
        about = DIRECTIONS[one.direction]
        mean, low, high = interval
        flag = "  STATED AS AN EFFECT" if one.direction in ("<", ">") else ""
        print(
            f"{claim.name}: {one.quantity.expression}: {mean:.4g} "
            f"[{low:.4g}, {high:.4g}], {seeds} seeds, {about}{flag}"
        )
