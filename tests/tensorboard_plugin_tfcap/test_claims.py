"""Claims of captions: written, read from any log, marked and escaped."""

import json

import pytest

from tensorboard_plugin_tfcap.claims import MOST_CLAIMS
from tensorboard_plugin_tfcap.claims import Claim
from tensorboard_plugin_tfcap.claims import claims_content
from tensorboard_plugin_tfcap.claims import marked_caption
from tensorboard_plugin_tfcap.records import read_samples
from tensorboard_plugin_tfcap.report_parts import samples_html
from tensorboard_plugin_tfcap.samples_view import samples_view
from tensorboard_plugin_tfcap.shown import read_log
from tensorboard_plugin_tfcap.summary import Sample
from tensorboard_plugin_tfcap.summary import TradeoffWriter

CAPTION = "a \U0001f41f <b> on blue sand"
WRONG = Claim("fish: <b>", False, 4, 7)


def test_claims_are_written_and_read_and_their_places_marked(tmp_path):
    claims = [WRONG, Claim("on sand", True, 16, 20), Claim("two", False)]
    samples = [
        Sample(0, CAPTION, rank=1, claims=claims, missing=["a <i>dog</i>"]),
        Sample(1, "silence", claims=[]),
        Sample(2, "nobody knows"),
    ]
    with TradeoffWriter(tmp_path / "run", "mine") as writer:
        writer.point(0, {"r@10": 1.0, "cider_d": 1.0})
        writer.samples(0, samples)
    log = read_log(tmp_path)
    one, two, three = samples_view(log, "run", None, 0, {})["items"]
    assert one["pieces"] == [
        *(("a \U0001f41f ", ""), ("<b>", "fish: <b>"), (" on blue sand", ""))
    ]
    wrong = {"true": 1, "count": 3, "false": ["fish: <b>", "two"]}
    assert one["claims"] == wrong and one["missing"] == ["a <i>dog</i>"]
    assert two["claims"] == {"true": 0, "count": 0, "false": []}
    assert three["claims"] is None and three["missing"] == []
    assert three["pieces"] == [("nobody knows", "")]
    runs = [{"run": "run", "step": 0, "samples": True}]
    row = {"method": "mine", "label": "", "runs": runs, "hidden": False}
    assert samples_html(log, [{**row, "hidden": True}]) == []
    (html,) = samples_html(log, [row])
    assert "<summary>Captions: mine</summary>" in html
    assert "<b>" not in html and "<i>" not in html
    assert (
        '<span class="false" title="False: fish: &lt;b&gt;">&lt;b&gt;'
        '<span class="unseen"> (false)</span></span> on blue sand'
    ) in html
    assert "1 of 3 claims true" in html and "two</span>" in html
    assert "Missing: a &lt;i&gt;dog&lt;/i&gt;" in html
    assert html.count("claims true") == 2


def test_claims_that_overlap_are_marked_piece_by_piece():
    claims = [Claim("b", False, 1, 3), Claim("c", False, 2, 4)]
    claims += [Claim("d", True, 0, 4), Claim("b", False, 1, 2)]
    found = marked_caption("abcd", claims)
    assert found == [("a", ""), ("b", "b"), ("c", "b, c"), ("d", "c")]
    assert marked_caption("", []) == [] and marked_caption("a", None)


def test_what_of_a_record_is_no_claim_is_let_by():
    good = {"text": "blue", "true": False, "start": 0, "end": 4}
    changes = [{"text": 7}, {"true": 1}, {"text": ""}, {"end": 99}]
    changes += [{"start": -1}, {"start": True}, {"start": 4}]
    changes += [{"text": "x" * 900}]
    claims = [good, 3, {}, *({**good, **change} for change in changes)]
    items = [
        {"claims": claims, "missing": [1, "a"]},
        {"claims": {"a": 1}, "missing": "all"},
        {"claims": [good] * 900},
    ]
    items = [{"id": i, "caption": "blue", **x} for i, x in enumerate(items)]
    record = json.dumps({"version": 1, "items": items}).encode()
    one, two, three = read_samples(record)
    assert one["claims"][0] == Claim("blue", False, 0, 4)
    # Beyond the caption, or nowhere: they are told of, but not marked.
    places = [claim.start for claim in one["claims"]]
    assert places == [0, None, None, None, None, 0]
    assert len(one["claims"][-1].text) == 200 and one["missing"] == ["a"]
    assert two["claims"] is None and two["missing"] == []
    assert len(three["claims"]) == MOST_CLAIMS


@pytest.mark.parametrize(
    "error, about, message",
    [
        (TypeError, {"text": 3}, "`text` must be a string"),
        (TypeError, {"true": "yes"}, "`true` must be a boolean"),
        (ValueError, {"start": 3}, "`start` and `end` must be offsets"),
        (ValueError, {"start": 3, "end": 3}, "Received: start=3, end=3"),
        (ValueError, {"start": -1, "end": 3}, "Leave out both"),
    ],
)
def test_claims_are_checked_where_they_are_made(error, about, message):
    with pytest.raises(error, match=message):
        Claim(**{"text": "a", "true": True, **about})


def test_claims_beyond_their_caption_are_refused():
    with pytest.raises(ValueError, match="Received: 1 claims of 'a dog'"):
        claims_content("a dog", [WRONG])
    with pytest.raises(ValueError, match="at most 64"):
        claims_content("a dog", [Claim("dog", True)] * 65)
