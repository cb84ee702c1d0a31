"""Logs of others, of later versions, and of nobody's good will."""

import json

import numpy as np
import pytest
from tensorboard.compat.proto.event_pb2 import Event
from tensorboard.compat.proto.summary_pb2 import DATA_CLASS_TENSOR
from tensorboard.compat.proto.summary_pb2 import Summary
from tensorboard.compat.proto.summary_pb2 import SummaryMetadata
from tensorboard.summary.writer.event_file_writer import EventFileWriter
from tensorboard.util.tensor_util import make_tensor_proto

from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME
from tensorboard_plugin_tfcap.metadata import encode_content
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.serving import write_curves

GOOD = {"version": 1, "method": "mine", "metrics": {"cider_d": 1.0, "r@10": 9}}
#: What may stand in a log, and what is said of it.
RECORDS = {
    "newer": ({**GOOD, "version": 7}, "a newer version (7)"),
    "old": ({**GOOD, "version": "x"}, "an unknown version ('x')"),
    "list": ([1, 2], "is not a JSON object"),
    "nobody": ({**GOOD, "method": 3}, "has no method"),
    "empty": ({**GOOD, "metrics": {}}, "no metric that is a finite number"),
    "seed": ({**GOOD, "seed": [1]}, "has a seed"),
    "infinite seed": ({**GOOD, "seed": float("nan")}, "seed that is not"),
    "huge seed": ({**GOOD, "seed": 10**400}, "seed that is not"),
    "text": ("{", "is not JSON"),
    "deep": ("[" * 100_000, "is not JSON"),
    "huge": ({**GOOD, "more": "x" * 300_000}, "is larger than"),
    "nan": ('{"version": 1, "method": "m", "metrics": {"a": NaN}}', "finite"),
}


def write(folder, value, content=None, dtype=object):
    if not isinstance(value, str | np.ndarray):
        value = json.dumps(value)
    if isinstance(value, str):
        value = np.array(value.encode(), dtype)
    metadata = SummaryMetadata(
        plugin_data=SummaryMetadata.PluginData(
            plugin_name=PLUGIN_NAME,
            content=encode_content("point") if content is None else content,
        ),
        data_class=DATA_CLASS_TENSOR,
    )
    one = Summary.Value(
        tag="tfcap_tradeoff/point",
        tensor=make_tensor_proto(value),
        metadata=metadata,
    )
    writer = EventFileWriter(str(folder))
    writer.add_event(Event(step=1, wall_time=1.0, summary=Summary(value=[one])))
    writer.close()


@pytest.fixture(scope="module", params=[True, False], ids=["fast", "slow"])
def server(request, tmp_path_factory):
    logs = write_curves(tmp_path_factory.mktemp("logs"))
    for name, (record, _) in RECORDS.items():
        write(logs / name, record)
    write(logs / "number", np.array(3.0))
    write(logs / "many", np.array([b"{}", b"{}"], object))
    write(logs / "content", GOOD, content=b"\xff{")
    write(logs / "kind", GOOD, content=b'{"version": 1, "kind": "more"}')
    about = {"kind": "point", "metrics": {"cider_d": {"better": "bluer"}}}
    content = json.dumps({"version": 1, **about}).encode()
    write(logs / "better", GOOD, content=content)
    markup = {"method": "<script>alert(1)</script>", "params": {"<i>": "</i>"}}
    write(logs / "markup", {**GOOD, **markup})
    wild = {"cider_d": 1e308, "r@10": True, "x": "1", "y": None, "z": 10**400}
    write(logs / "wild", {**GOOD, "metrics": {**wild, "bleu_4": 0.1}})
    with serving(logs, request.param) as found:
        found.wait(9)
        yield found


def test_what_is_good_is_drawn_and_the_rest_is_named(server):
    state = server.json("state")
    others = {r["run"] for r in state["runs"] if "=" not in r["run"]}
    assert others == {"markup", "wild"}
    said = " ".join(state["notices"])
    assert "is left out: it" in said and "other runs" in said
    view = server.json("figure")
    assert len(view["rows"]) == 5


def test_each_record_says_what_is_wrong_with_it(server, monkeypatch):
    monkeypatch.setattr("tensorboard_plugin_tfcap.notices._MOST", 100)
    # Another question, so that it is read again.
    notices = server.json("figure", at="best", by="bleu_4")["notices"]
    for name, (_, reason) in RECORDS.items():
        (text,) = [text for text in notices if f"'{name}'" in text]
        assert reason in text, text


def test_markup_is_text_in_json_and_tables(server):
    view = server.json("figure")
    assert any(row["method"].startswith("<script>") for row in view["rows"])
    reply = server.get("figure")
    assert reply.content_type == "application/json"
    assert reply.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    [
        *("../metadata.py", "..%2fmetadata.py", "..\\metadata.py"),
        *("/etc/passwd", "//etc/passwd", "static/../../setup.cfg"),
        *("index.js%00.py", "", ".", "nothing.js"),
    ],
)
def test_no_other_file_is_served(server, path):
    reply = server.get(f"static/{path}")
    assert reply.status_code in (400, 404), path
    assert b"import" not in reply.data


def test_the_page_and_the_library_are_served(server):
    page = server.get("static/index.js")
    assert page.status_code == 200
    assert "javascript" in page.content_type
    library = server.get("plotly.js", v="7")
    assert library.status_code == 200 and len(library.data) > 1_000_000
    assert "max-age" in library.headers["Cache-Control"]


def test_only_get_is_answered(server):
    reply = server.client.post("/data/plugin/tfcap_tradeoff/state")
    assert reply.status_code == 405
