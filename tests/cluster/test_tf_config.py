import json
import socket

import pytest

from tfcap.cluster.tf_config import check_tf_config
from tfcap.cluster.tf_config import tf_config
from tfcap.training import MultiWorkerStrategy
from tfcap.training import open_strategy

HOSTS = ["a:71", "b:72"]


def changed(cluster=None, **task):
    found = json.loads(tf_config(HOSTS, 1))
    if cluster is not None:
        found["cluster"] = cluster
    found["task"].update(task)
    return json.dumps(found)


def test_what_the_launcher_makes_is_right():
    assert check_tf_config(tf_config(HOSTS, 1)) == 72
    chief = changed({"chief": ["c:73"], "worker": HOSTS}, type="chief", index=0)
    assert check_tf_config(chief) == 73
    # Others who set it know of more, or of less.
    assert check_tf_config('{"environment": "cloud"}') is None
    assert check_tf_config(changed(type="evaluator", index=0)) is None
    assert check_tf_config(changed({"ps": [], "worker": HOSTS})) == 72


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "must be JSON"),
        ("[" * 100000, "must be JSON"),
        ("a:71,b:72", "must be JSON"),
        ("[1]", "must be a JSON object"),
        ('{"cluster": {}, "task": {"type": "worker"}}', "name hosts by task"),
        ('{"cluster": {"worker": ["a:71"]}}', "say which task this is"),
        (changed(["a:71"]), "name hosts by task"),
        (changed({"worker": "a:71"}), "name hosts by task"),
        (changed({"worker": []}), "name hosts by task"),
        (changed({"worker": ["a:71", ""]}), "number 1 is ''"),
        (changed({"worker": ["a", "b"]}), "number 0 is 'a'"),
        (changed({"worker": ["a:0", "b:1"]}), "number 0 is 'a:0'"),
        (changed({"worker": ["a:71", "a:71"]}), "name every worker once"),
        (changed(type="chief"), "type is 'chief'"),
        (changed(type=["worker"]), "type is .'worker'."),
        (changed(index=2), "`index` in 0..1, a number.*index is 2"),
        (changed(index=-1), "index is -1"),
        (changed(index="1"), "index is '1'"),
        (changed(index=True), "index is True"),
    ],
)
def test_one_that_is_malformed_is_refused_before_tensorflow(
    text, words, monkeypatch
):
    with pytest.raises(ValueError, match=words) as error:
        check_tf_config(text)
    assert "`TF_CONFIG` must" in str(error.value)
    assert len(str(error.value)) < 1000
    monkeypatch.setenv("TF_CONFIG", text)
    for make in (open_strategy, MultiWorkerStrategy):
        with pytest.raises(ValueError, match=words):
            make()


def test_a_port_that_is_taken_is_told_before_tensorflow(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        monkeypatch.setenv("TF_CONFIG", tf_config([f"a:{port}", "b:72"], 0))
        with pytest.raises(ValueError, match=f"port={port}, where another"):
            open_strategy()
