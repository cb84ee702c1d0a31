"""Every number of a page is one that records give, or is exempt by kind."""

import pytest

from reproduce.evidence import check_claim
from reproduce.evidence import claims_of
from reproduce.evidence import load_pages
from reproduce.evidence import load_runs
from reproduce.evidence import straddling
from reproduce.evidence.prose import masked
from reproduce.evidence.prose import numbers
from reproduce.evidence.records import ROOT

#: README.md, PAPERS.md, the page of estimators and those of all papers.
PAGES = [
    ROOT / "README.md",
    ROOT / "PAPERS.md",
    ROOT / "docs" / "which_estimator.md",
    *sorted(ROOT.glob("reproduce/*/README.md")),
]


def text_of(name):
    return (ROOT / load_pages()[name].path).read_text(encoding="utf-8")


def test_every_page_is_in_the_register():
    assert {ROOT / p.path for p in load_pages().values()} == set(PAGES)


@pytest.mark.parametrize("name", load_pages())
def test_numbers_are_those_of_records(name):
    found = load_pages()[name].faults(text_of(name))
    assert not found, "`python -m reproduce pages` writes those of records"


@pytest.mark.parametrize("name", load_pages())
def test_a_wrong_number_is_noticed_wherever_it_is_planted(name):
    page, text = load_pages()[name], text_of(name)
    places = numbers(text)
    assert places
    # Some of each page: of all, it would take a minute.
    for place, number in places[:: max(1, len(places) // 12)]:
        digit = number[-1]
        wrong = number[:-1] + str((int(digit) + 3) % 10)
        planted = text[:place] + wrong + text[place + len(number) :]
        try:
            found = page.faults(planted)
        except ValueError as error:
            found = [str(error)]
        assert found, f"{number} as {wrong}: {planted[place - 60 : place + 20]}"


def test_a_number_that_nothing_gives_is_noticed():
    page, text = load_pages()["readme"], text_of("readme")
    mark = "## What the methods achieve\n"
    more = text.replace(mark, f"{mark}\nPSST finds 61.7 [60.1, 63.3] more.\n")
    (found,) = page.faults(more)
    assert "61.7 60.1 63.3 are of no claim and not exempt" in found
    section, entry = "What the methods achieve", page.exempt[-2]
    assert entry["section"] == section
    (found,) = page.faults(text.replace("among 1,000;", "among all;"))
    assert "1,000 are exempt, but not there" in found


def test_a_page_is_renewed_from_records():
    page, text = load_pages()["readme"], text_of("readme")
    old = text.replace("finds 5.7 [0.7, 10.8]", "finds 12.3 [-0.7, 11.8]")
    old = old.replace("| 0.400 | 49.6 |", "| 0.398 | 7.1 |")
    assert old != text and page.faults(old)
    assert page.filled(old) == text


@pytest.mark.parametrize("name", load_pages())
def test_claims_hold_by_the_records(name):
    for claim in load_pages()[name].claims:
        found = check_claim(claim, load_runs()[claim.run].records)
        assert found.verdict == "holds" or claim.planned, (
            f"{found}: where records are new, reword what is gone, and "
            "`python -m reproduce check --renew`"
        )


def test_what_is_not_beyond_its_interval_is_not_stated_as_an_effect():
    assert [
        (claim.name, one.quantity.expression)
        for claim, one, _, _ in straddling(claims_of())
        if one.direction in ("<", ">")
    ] == []
    every = {c.name for c, *_ in straddling(claims_of(["psst"]))}
    assert "psst/flickr8k-st" in every


def test_differences_on_pages_say_what_is_expected():
    """A difference is above, below, or not shown: never without a word."""
    for claim in claims_of():
        said = {f.quantity for f in claim.fields if f.direction}
        # Said again, as an interval apart or in another claim.
        said |= {
            f.quantity
            for other in claims_of()
            if other.run == claim.run
            for f in other.fields
            if f.direction
        }
        silent = [
            f.quantity.expression
            for f in claim.fields
            if " - " in f.quantity.expression.partition(": ")[2]
            and f.quantity not in said
        ]
        assert not silent, claim.name


def test_generated_tables_are_left_to_their_own_tests():
    text = "a 1\n<!-- table x | y -->\n| 2 |\n<!-- end of table -->\n3"
    assert [n for _, n in numbers(text)] == ["1", "3"]
    assert len(masked(text)) == len(text)
