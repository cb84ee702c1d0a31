"""The register: claims by page, runs that records are of, and intervals."""

import functools
import json
import math
import pathlib
import tomllib
from collections import Counter
from dataclasses import dataclass

from reproduce.evidence.claim import Claim
from reproduce.evidence.prose import numbers
from reproduce.evidence.prose import section_of
from reproduce.evidence.records import load_results
from reproduce.evidence.verdict import Registered
from tfcap._io import read_json
from tfcap._io import whole_file

FOLDER = pathlib.Path(__file__).parent
#: Numbers of pages that are no quantity of records, by kind.
KINDS = {
    "setting": "what was set: weights, sizes of networks, steps, data",
    "size": "how many there are of something that is listed or counted",
    "version": "of a package or a license",
    "published": "figures of papers, as printed there",
    "cost": "times, which another machine changes",
    "example": "captions that are shown, and what is true of them",
    "trial": "measured in earlier trials, whose records are not kept",
}
#: Intervals by run and expression, as they were registered.
INTERVALS = FOLDER / "registered.json"


@dataclass(frozen=True)
class Run:
    """Runs that records are of, and the part that a check runs again.

    Args:
        records: List of strings, folders or files of results.
        made_by: List of strings, the commands.
        again: List of strings, arguments of `python -m reproduce` for the
            part that is run again, without folders; empty for none.
        minutes: Float, CPU minutes that this takes.
        needs: String, name of the folder of data that it needs.
        why: String, why no part is run again.
    """

    name: str
    records: tuple
    made_by: list
    again: tuple = ()
    minutes: float = 0.0
    needs: str = ""
    why: str = ""


@dataclass(frozen=True)
class Page:
    """Claims of a page, and its numbers that are none.

    Args:
        exempt: List of dicts of `section`, `kind`, a key of `KINDS`, and
            `numbers` that no record measures, as they are written.
    """

    path: str
    claims: list
    exempt: list

    def filled(self, text: str) -> str:
        """The page with its claims' numbers as records have them."""
        for claim in self._written:
            text = claim.filled(text, intervals(claim))
        return text

    @property
    def _written(self):
        return [claim for claim in self.claims if not claim.planned]

    def faults(self, text: str) -> list[str]:
        """Numbers of prose that no claim gives, or gives otherwise."""
        wrong, spans = [], []
        for claim in self._written:
            place = claim.find(text)
            spans.append(place.span())
            wrong += claim.wrong(place, intervals(claim))
        left, listed = {}, {}
        for place, number in numbers(text, spans):
            section = section_of(text, place)
            left.setdefault(section, Counter())[number] += 1
        for entry in self.exempt:
            listed.setdefault(entry["section"], Counter()).update(
                entry["numbers"].split()
            )
        for section in {**left, **listed}:
            here = left.get(section, Counter())
            known = listed.get(section, Counter())
            for what, many in (
                ("are of no claim and not exempt", here - known),
                ("are exempt, but not there", known - here),
            ):
                if many:
                    shown = " ".join(many.elements())
                    wrong.append(f"{self.path}, {section!r}: {shown} {what}.")
        return wrong


@functools.cache
def load_runs() -> dict[str, Run]:
    """Runs by name."""
    found = tomllib.loads((FOLDER / "runs.toml").read_text(encoding="utf-8"))
    return {
        name: Run(name, **about | {"records": tuple(about["records"])})
        for name, about in found.items()
    }


@functools.cache
def load_pages() -> dict[str, Page]:
    """Pages of the register by the name of their file in `claims/`.

    Raises:
        ValueError: If a claim is not as it must be, or its run is not known.
    """
    pages = {}
    for path in sorted((FOLDER / "claims").glob("*.toml")):
        found = tomllib.loads(path.read_text(encoding="utf-8"))
        rows = found.get("rows", {})
        for entry in found.get("exempt", []):
            if entry["kind"] not in KINDS:
                raise ValueError(
                    f"`kind` must be among {', '.join(KINDS)}. Received: "
                    f"kind={entry['kind']!r} in {path.name}."
                )
        claims = [
            Claim(
                f"{path.stem}/{about['id']}",
                found["page"],
                about.get("run", found.get("run", "")),
                about["text"],
                rows,
                about.get("given", ""),
                about.get("planned", False),
            )
            for about in found.get("claims", [])
        ]
        for claim in claims:
            if claim.run not in load_runs():
                raise ValueError(
                    f"`run` must be among {', '.join(load_runs())}. Received: "
                    f"run={claim.run!r} of {claim.name}."
                )
        exempt = found.get("exempt", [])
        pages[path.stem] = Page(found["page"], claims, exempt)
    return pages


@functools.cache
def _records_of(paths):
    return [record for path in paths for record in load_results(path)]


@functools.cache
def measure(paths: tuple, quantity):
    """A quantity's interval and seeds in records, which are read once."""
    return quantity.interval(_records_of(paths))


def intervals(claim: Claim) -> list:
    """Intervals of a claim's fields, from its records."""
    paths = load_runs()[claim.run].records
    return [measure(paths, one.quantity)[0] for one in claim.fields]


def key_of(claim: Claim, field) -> str:
    """Name under which an interval is registered."""
    return f"{claim.run} | {field.quantity.expression}"


def registered() -> dict[str, Registered]:
    """Intervals as they were registered, by run and expression."""
    there = INTERVALS.exists()
    stamp = INTERVALS.stat().st_mtime_ns if there else None
    return dict(_registered(INTERVALS, stamp))


@functools.lru_cache(maxsize=1)
def _registered(path, stamp):
    found = {} if stamp is None else read_json(path)
    return {
        key: Registered(
            mean,
            -math.inf if low is None else low,
            math.inf if high is None else high,
            seeds,
            date,
        )
        for key, (mean, low, high, seeds, date) in found.items()
    }


def register(claims, date: str, renew: bool = False) -> list[str]:
    """Registers intervals of today's records. Returns the names of new ones.

    Args:
        renew: Boolean, whether those that are registered are, too.
    """
    known = registered()
    new = {}
    for claim in claims:
        paths = load_runs()[claim.run].records
        for one in claim.fields:
            key = key_of(claim, one)
            if (renew or key not in known) and not claim.planned:
                interval, seeds = measure(paths, one.quantity)
                rounded = (float(f"{x:.8g}") for x in interval)
                new[key] = Registered(*rounded, seeds, date)
    known |= {
        key: found
        for key, found in new.items()
        if key not in known or found[:4] != known[key][:4]
    }
    used = {
        key_of(c, f)
        for p in load_pages().values()
        for c in p.claims
        for f in c.fields
    }
    lines = [
        f"{json.dumps(key)}: {_line(known[key])}"
        for key in sorted(known)
        if key in used
    ]
    with whole_file(INTERVALS, "w") as file:
        file.write("{\n" + ",\n".join(lines) + "\n}\n")
    return list(new)


def _line(found):
    bounds = [x if math.isfinite(x) else None for x in found[:3]]
    return json.dumps([*bounds, found.seeds, found.date])
