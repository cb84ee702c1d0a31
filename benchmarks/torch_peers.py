"""The peers of `peers.py` in PyTorch, and the check of their gradients."""

import functools

import numpy as np
import tasks
import torch
import torch_dialogs
import torch_steps
from torch import nn

STEPS = {**torch_steps.STEPS, "G-DIS": torch_dialogs.g_dis}
#: Where our weights are, by modules: of the first network, and of the second.
NAMES = {
    "look": ("0/image_word", "1/image"),
    "embed": ("0/embedding", "1/embedding"),
    "head": ("0/head", None),
    "lstm": ("0/decoder", None),
    "read": (None, "1/text/gru_cell"),
}
ENCODER = {
    "ask": "question/lstm/lstm_cell",
    "say": "history/lstm/lstm_cell",
    "see": "image",
    "project": "encoding",
    **{
        f"{torchs}.{part}": f"{ours}/{part}"
        for torchs, ours in (
            ("history", "attend_history"),
            ("image", "attend_image"),
        )
        for part in ("query", "memory", "score")
    },
}
ANSWER = {
    "read": "answer_encoder/words/lstm/lstm_cell",
    "hidden": "answer_encoder/hidden",
    "score": "answer_encoder/score",
    "project": "answer_encoder/encoding",
}


def versions():
    return {"torch": torch.__version__}


def step(name, dtype="float32", loops=True, check=None):
    """A step of a task; with `check`, the file that ours wrote, compares."""
    low = getattr(torch, dtype)
    if name.startswith("limit of "):
        return limit(name.removeprefix("limit of "), low)
    sizes = tasks.sizes_of(name, small=check)
    batch = tasks.batch_of(sizes)
    task = torch_steps.Task(sizes, tensors(batch), low=low)
    if name in ("SCST", "SLL"):
        task = task._replace(reward=tasks.reward_of(sizes, batch, loops))
    if not check:
        return STEPS[name](task)
    found = np.load(check)
    drawn = iter(found[x] for x in found if x.startswith("drawn"))

    def uniform(shape):
        return torch.from_numpy(next(drawn)).float().reshape(shape)

    call = STEPS[name](task._replace(uniform=uniform))
    return functools.partial(compare, name, call, found)


def limit(name, low):
    """As `limit()` of `our_steps.py`."""
    words, kernel = torch.randn(1024, 512), torch.randn(512, 9488)
    words, kernel = words.to(low), kernel.to(low)
    times = tasks.work(name, tasks.sizes_of(name)) / (2 * 1024 * 512 * 9488)
    rest = words[: round((times % 1) * 1024)]

    def call():
        for _ in range(int(times)):
            words @ kernel
        rest @ kernel

    return call


def tensors(batch):
    """Words as PyTorch indexes by them; one image, and one caption, a row."""
    found = {name: torch.from_numpy(x) for name, x in batch.items()}
    for name, x in found.items():
        found[name] = x if x.dtype == torch.float32 else x.long()
    if "caption" in found:
        found["image"] = found["image"][:, 0]
        found["caption"] = found["caption"][:, 0]
    return found


def compare(name, call, found):
    """Takes a step with our weights and random numbers; compares gradients."""
    for i, network in enumerate(call.networks):
        for weight, ours in shared(network, i, found, "weight"):
            weight.data.copy_(ours)
        if hasattr(network, "head"):
            network.head.bias.data[: torch_steps.EOS + 1] = -1e4
    call()
    pairs = [
        (weight.grad, ours)
        for i, network in enumerate(call.networks)
        for weight, ours in shared(network, i, found, "slope")
        if weight.requires_grad
    ]
    # Of some, all that there is are rounding errors.
    far = max(
        float((x - y).abs().max() / (y.abs().max() + 1e-6)) for x, y in pairs
    )
    print(f"{name}: {len(pairs)} gradients are ours but for {far:.1e}")
    if not far < 1e-3:
        raise SystemExit("The peer's gradients are not ours.")


def shared(network, i, found, kind):
    """Pairs of a parameter and our array, laid out alike."""
    ours = {
        key.removeprefix(f"{kind} "): torch.from_numpy(found[key])
        for key in found
        if key.startswith(kind)
    }
    dialogs = hasattr(network, "encoder")
    names = {k: v[i] for k, v in NAMES.items() if v[i]}
    if dialogs:
        folder = next(
            x.split("/")[1] for x in ours if x.startswith(f"{i}/hciae")
        )
        names |= {
            f"encoder.{k}": f"{i}/{folder}/{v}" for k, v in ENCODER.items()
        }
        names |= {k: f"1/{v}" for k, v in ANSWER.items()} if i else {}
    elif i == 0:
        gates = {
            "word_gates/kernel": "decoder/kernel",
            "word_gates/bias": "decoder/bias",
        }
        gates["state_gates/kernel"] = "decoder/recurrent_kernel"
        ours |= {f"0/{new}": ours[f"0/{old}"] for old, new in gates.items()}
    for name, module in network.named_modules():
        if name in names:
            yield from alike(module, names[name], ours, kind)


def alike(module, path, ours, kind):
    if isinstance(module, nn.Embedding):
        table = ours[f"{path}/embeddings"]
        if module.embedding_dim > table.shape[1]:
            table = torch.cat([table, ours["1/embedding/embeddings"]], 1)
        yield module.weight, table
        return
    kernel = ours[f"{path}/kernel"].T
    bias = ours.get(f"{path}/bias")
    if isinstance(module, nn.Linear):
        yield module.weight, kernel
        if bias is not None:
            yield module.bias, bias
        return
    recurrent = ours[f"{path}/recurrent_kernel"].T
    biases = bias, bias if kind == "slope" else torch.zeros_like(bias)
    if isinstance(module, nn.GRU):
        # Keras has the update gate first.
        order = [1, 0, 2]
        kernel, recurrent, *biases = (
            torch.cat([x.chunk(3)[i] for i in order])
            for x in (kernel, recurrent, *bias)
        )
    yield module.weight_ih_l0, kernel
    yield module.weight_hh_l0, recurrent
    yield module.bias_ih_l0, biases[0]
    yield module.bias_hh_l0, biases[1]
