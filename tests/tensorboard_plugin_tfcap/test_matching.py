"""Regular expressions that can hold nobody."""

import importlib.metadata
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest

from tensorboard_plugin_tfcap.matching import search
from tensorboard_plugin_tfcap.query_error import QueryError
from tests.tensorboard_plugin_tfcap.browser import servers

#: What froze all of TensorBoard, and what people may well write.
HOSTILE = r"([a-z0-9=.,_/]+)+!"
INNOCENT = r"(\w+_?)+/lr="
RUN = "resnet50_bs256_lr0p1_wd1e4_momentum0p9/seed=0"


def test_names_are_searched_as_python_does():
    names = ["a.b", "axb", "b\u00e9"]
    assert list(search("runs", "a", names)) == ["a.b", "axb"]
    assert list(search("runs", r"a\.b", names)) == ["a.b"]
    match = search("group", r"(?P<k>\u00e9)|x(?P<m>b)", names)["axb"]
    assert (match.end, match.text) == (3, "xb")
    assert match.groups == {"k": None, "m": "b"}
    with pytest.raises(QueryError, match=r"`runs` must be a regular.*'\(\('"):
        search("runs", "((", ["a"])


@pytest.mark.parametrize(
    "error, words",
    [
        (subprocess.TimeoutExpired("python", 20), "must be quick to match"),
        (OSError(11, "no more processes"), "no process could be started"),
    ],
)
def test_what_a_busy_machine_refuses_is_tried_again(error, words, monkeypatch):
    def run(*args, **options):
        raise error

    pattern = rf"^{words}$"
    monkeypatch.setattr("subprocess.run", run)
    with pytest.raises(QueryError, match=words):
        search("runs", pattern, [words])
    monkeypatch.undo()
    assert list(search("runs", pattern, [words])) == [words]


@pytest.mark.skipif(
    not importlib.metadata.entry_points(
        group="tensorboard_plugins", name="tfcap_tradeoff"
    ),
    reason="TensorBoard does not know the plugin: pip install -e .",
)
def test_no_expression_keeps_the_server_from_others(tmp_path):
    servers.write_one(tmp_path, RUN.partition("/")[0])
    with servers.serve(tmp_path) as address:
        servers.wait_for_runs(address, 1)
        answers = {}

        def ask(argument, pattern):
            query = urllib.parse.urlencode({argument: pattern})
            url = f"{address}/data/plugin/tfcap_tradeoff/figure?{query}"
            try:
                urllib.request.urlopen(url, timeout=60)
            except urllib.error.HTTPError as error:
                answers[argument] = error.read().decode()

        asked = [("runs", HOSTILE), ("runs", INNOCENT)]
        threads = [
            threading.Thread(target=ask, args=one, daemon=True) for one in asked
        ]
        for thread in threads:
            thread.start()
        longest = 0.0
        while any(thread.is_alive() for thread in threads):
            begin = time.monotonic()
            urllib.request.urlopen(f"{address}/data/environment", timeout=20)
            longest = max(longest, time.monotonic() - begin)
            time.sleep(0.2)
    # Both are given up; meanwhile, others are answered at once.
    assert "must be quick to match" in answers["runs"]
    assert longest < 15
