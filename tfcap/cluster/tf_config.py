"""`TF_CONFIG`, by which TensorFlow's workers know of each other."""

import json

from tfcap.cluster.hosts import address
from tfcap.cluster.hosts import check_hosts

_FORM = (
    '{"cluster": {"worker": ["a:2222", "b:2222"]}, '
    '"task": {"type": "worker", "index": 0}}'
)


def tf_config(hosts, index: int) -> str:
    """`TF_CONFIG` of a worker.

    Example:

    >>> from tfcap.cluster.tf_config import tf_config
    >>> print(tf_config(["a:77"], 0))
    {"cluster": {"worker": ["a:77"]}, "task": {"type": "worker", "index": 0}}
    """
    return json.dumps(
        {
            "cluster": {"worker": list(hosts)},
            "task": {"type": "worker", "index": index},
        }
    )


def check_tf_config(text: str) -> int | None:
    """Refuses a `TF_CONFIG` with which workers would never find each other.

    Raises:
        ValueError: If it is no JSON, or a part of it is missing, is not of
            its kind, or contradicts another.

    Example:

    >>> from tfcap.cluster.tf_config import check_tf_config
    >>> check_tf_config(
    ...     '{"cluster": {"worker": ["a:77"]},'
    ...     ' "task": {"type": "worker", "index": 0}}'
    ... )
    77
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _refusal("be JSON", text, str(error)) from error
    if not isinstance(found, dict):
        raise _refusal("be a JSON object", text, "it is none")
    cluster, task = found.get("cluster"), found.get("task")
    if not cluster and not task:
        return None
    if isinstance(cluster, dict):
        # Some schedulers name kinds of which there are none.
        cluster = {kind: hosts for kind, hosts in cluster.items() if hosts}
    named = isinstance(cluster, dict) and cluster
    if not named or not all(isinstance(h, list) for h in named.values()):
        raise _refusal("name hosts by task", text, f"cluster is {cluster!r}")
    check_hosts([h for hosts in cluster.values() for h in hosts], "TF_CONFIG")
    if not isinstance(task, dict):
        raise _refusal("say which task this is", text, f"task is {task!r}")
    kind, index = task.get("type"), task.get("index", 0)
    if kind == "evaluator":
        # It is none of those that train.
        return None
    if not isinstance(kind, str) or kind not in cluster:
        raise _refusal(
            f"say a task `type` of its cluster, {', '.join(sorted(cluster))}",
            text,
            f"type is {kind!r}",
        )
    count = len(cluster[kind])
    if type(index) is not int or not 0 <= index < count:
        raise _refusal(
            f"say a task `index` in 0..{count - 1}, a number",
            text,
            f"index is {index!r}",
        )
    return address(cluster[kind][index])[1]


def _refusal(rule, text, what):
    shown = text if len(text) <= 300 else f"{text[:300]}..."
    return ValueError(
        f"`TF_CONFIG` must {rule}. Received: TF_CONFIG={shown!r} ({what}). "
        f"Write it as {_FORM}, or let `python -m tfcap.launch` make it."
    )
