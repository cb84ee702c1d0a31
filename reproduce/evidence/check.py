"""Claims beside records: one verdict each."""

from typing import NamedTuple

from reproduce.evidence.quantity import Absent
from reproduce.evidence.records import ROOT
from reproduce.evidence.records import written_at
from reproduce.evidence.register import key_of
from reproduce.evidence.register import load_pages
from reproduce.evidence.register import load_runs
from reproduce.evidence.register import measure
from reproduce.evidence.register import registered
from reproduce.evidence.verdict import ELSEWHERE
from reproduce.evidence.verdict import GONE
from reproduce.evidence.verdict import judge
from reproduce.evidence.verdict import worst


class Finding(NamedTuple):
    """A verdict on a claim.

    Args:
        lines: List of strings, what is behind it, a quantity each.
    """

    verdict: str
    lines: list


def claims_of(papers=()) -> list:
    """Claims of pages, or of runs, of some papers; of all for none.

    Raises:
        ValueError: If a name is of no page and no paper.
    """
    pages = load_pages()
    known = dict.fromkeys([*pages, *map(paper_of, load_runs().values())])
    for paper in papers:
        if paper not in known:
            raise ValueError(
                f"`--paper` must be among {', '.join(known)}. Received: "
                f"--paper {paper}."
            )
    return [
        claim
        for name, page in pages.items()
        for claim in page.claims
        if not papers
        or name in papers
        or paper_of(load_runs()[claim.run]) in papers
    ]


def paper_of(run) -> str:
    """The paper that a run is of."""
    words = run.made_by[0].split()
    return words[3] if words[1:3] == ["-m", "reproduce"] else "benchmarks"


def check_claim(claim, paths: tuple, again: bool = False) -> Finding:
    """Verdict on a claim by the records in folders or files.

    Args:
        again: Boolean, whether these are other runs than those registered.
            What they lack was then not run; else it is gone.

    Raises:
        ValueError: If an interval is not registered.
    """
    if claim.planned and not all((ROOT / path).exists() for path in paths):
        return Finding(ELSEWHERE, ["planned: there are no records yet"])
    verdicts, lines = [], []
    for one in claim.fields:
        key = key_of(claim, one)
        if key not in registered():
            raise ValueError(
                f"`registered.json` must have an interval of {key!r}. "
                "Received: none. `python -m reproduce check --register` "
                "takes that of the records."
            )
        known = registered()[key]
        try:
            found, seeds = measure(paths, one.quantity)
        except Absent as error:
            verdicts.append(ELSEWHERE if again else GONE)
            lines.append(f"{verdicts[-1]}: {one.quantity.expression}: {error}")
            continue
        verdict = judge(one.direction, known, found, seeds, again)
        verdicts.append(verdict)
        lines.append(
            f"{verdict}: {one.quantity.expression}: "
            f"{_interval(found)} of {seeds} seed(s); registered "
            f"{known.date}: {_interval(known)} of {known.seeds}"
        )
    there = [v for v in verdicts if v != ELSEWHERE]
    return Finding(worst(there) if there else ELSEWHERE, lines)


def registered_before(claims) -> int:
    """Number of claims registered before the day of their records."""
    count = 0
    for claim in claims:
        begun = written_at(load_runs()[claim.run].records[-1])
        dates = [registered()[key_of(claim, x)].date for x in claim.fields]
        count += begun is not None and max(dates) < begun
    return count


def straddling(claims) -> list[tuple]:
    """Differences whose interval has 0, with what is claimed of them.

    Returns:
        List of tuples of a claim, its field, the `Interval` and the seeds.
    """
    found = []
    for claim in claims:
        if claim.planned:
            continue
        paths, seen = load_runs()[claim.run].records, set()
        for one in claim.fields:
            if not one.quantity.paired or one.quantity in seen:
                continue
            seen.add(one.quantity)
            interval, seeds = measure(paths, one.quantity)
            if seeds > 1 and interval.low <= 0 <= interval.high:
                found.append((claim, one, interval, seeds))
    return found


def _interval(found):
    mean, low, high = found[:3]
    if low == float("-inf"):
        return f"{mean:.4g}"
    return f"{mean:.4g} [{low:.4g}, {high:.4g}]"
