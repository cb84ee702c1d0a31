"""The plugin answers whatever a log holds and whatever is asked.

See test_mutated_files.py for how to try more.
"""

import json
import random

import pytest

from tensorboard_plugin_tfcap.comparison import read_comparison
from tensorboard_plugin_tfcap.comparison import read_reference
from tensorboard_plugin_tfcap.metadata import RecordError
from tensorboard_plugin_tfcap.metadata import decode_content
from tensorboard_plugin_tfcap.records import read_point
from tensorboard_plugin_tfcap.records import read_samples
from tests.faults.mutations import ODD
from tests.faults.mutations import mutated_bytes
from tests.faults.mutations import mutated_json
from tests.faults.test_mutated_files import TOTAL
from tests.faults.test_mutated_files import patience
from tests.tensorboard_plugin_tfcap.comparison import PRESETS
from tests.tensorboard_plugin_tfcap.comparison import REFERENCES
from tests.tensorboard_plugin_tfcap.comparison import TITLES
from tests.tensorboard_plugin_tfcap.serving import no_constant
from tests.tensorboard_plugin_tfcap.serving import serving
from tests.tensorboard_plugin_tfcap.serving import write_curves
from tests.tensorboard_plugin_tfcap.test_bad_logs import write

POINT = {
    "version": 1,
    "method": "psst_multinomial",
    "params": {"lambda": 0.001, "kind": "a"},
    "seed": 0,
    "split": "val",
    "metrics": {"cider_d": 1.2, "r@10": 60.0},
    "best": {"by": "cider_d", "step": 1, "metrics": {"cider_d": 1.3}},
}
METRIC = {"title": "CIDEr-D", "better": "higher", "role": "naturalness"}
SAMPLE = {
    **{"id": "1", "caption": "a dog", "rank": 3.0, "human": ["dogs"]},
    **{"human_rank": 1.0, "scores": {"cider_d": 1.0}, "image": 0},
}
RECORDS = {
    "point": (POINT, lambda data: read_point(data, "run", 1, 1.0)),
    "reference": (
        {"version": 1, "title": "SR-PL", "source": "x", "metrics": {"a": 1.0}},
        read_reference,
    ),
    "comparison": (
        {
            "version": 1,
            "titles": TITLES,
            "presets": list(PRESETS),
            "references": list(REFERENCES),
        },
        read_comparison,
    ),
    "samples": ({"version": 1, "items": [SAMPLE, SAMPLE]}, read_samples),
    "content": (
        {"version": 1, "kind": "point", "metrics": {"cider_d": METRIC}},
        decode_content,
    ),
}
ROUTES = ("state", "figure", "tables", "table", "samples", "blob")
ASKED = {
    **{"x": "cider_d", "y": "r@10", "order": "lambda", "at": "best"},
    **{"by": "bleu_4", "value": "1.1", "along": "x", "runs": "luo"},
    **{"usual": "1"},
    **{"level": "0.9", "preset": "fig3", "run": "luo2018/lambda=0.001,seed=0"},
    **{"step": "2", "page": "0", "number": "0", "format": "csv", "refs": "1"},
    **{"baseline": "Luo et al. 2018", "source": "scalars", "group": "(?P<a>.)"},
    **{"table": "level", "seeds": "band", "pareto": "1"},
}


@pytest.mark.parametrize("kind", RECORDS)
def test_a_record_with_something_wrong_is_read_or_said_to_be(kind):
    good, read = RECORDS[kind]
    read(json.dumps(good).encode())
    for seed in range(TOTAL // 20):
        draw = random.Random(f"{kind} {seed}")
        data = mutated_json(good, draw)
        if seed % 3 == 0:
            data = mutated_bytes(json.dumps(good).encode(), draw)
        try:
            with patience():
                # What is read can be sent to a page.
                json.dumps(read(data), default=vars, allow_nan=False).encode()
        except RecordError as error:
            assert len(str(error)) < 500
        except BaseException as error:
            error.add_note(f"{kind} {seed}: {data[:500]!r}")
            raise


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """TensorBoard's answers on a log, a third of which is as it should be."""
    logs = write_curves(tmp_path_factory.mktemp("logs"))
    files = list(logs.rglob("events*"))
    for seed in range(10):
        draw = random.Random(seed)
        write(
            logs / f"json{seed}",
            mutated_json(POINT, draw).decode("utf-8", "replace"),
        )
        (logs / f"bytes{seed}").mkdir()
        file = files[seed % len(files)]
        data = mutated_bytes(file.read_bytes(), draw)
        (logs / f"bytes{seed}" / file.name).write_bytes(data)
    with serving(logs, False) as found:
        found.wait(8, presets=2)
        yield found


def test_whatever_is_asked_is_answered_or_refused(server):
    odd = [*map(str, ODD), "(", "(?P<a>", "(a+)+$", "-1", "nan", "1e400", "%00"]
    odd = [text.encode("utf-8", "replace").decode() for text in odd]
    for seed in range(TOTAL // 10):
        draw = random.Random(seed)
        names = draw.sample(sorted(ASKED), draw.randint(0, 6))
        asked = {
            name: draw.choice(odd) if draw.random() < 0.4 else ASKED[name]
            for name in names
        }
        route = draw.choice(ROUTES)
        with patience():
            reply = server.get(route, **asked)
        assert reply.status_code in (200, 400, 404), (route, asked, reply.data)
        if reply.content_type == "application/json":
            found = json.loads(reply.data, parse_constant=no_constant)
            assert reply.status_code == 200 or found["error"]
