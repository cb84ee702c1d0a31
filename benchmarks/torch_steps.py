"""Training steps in PyTorch, as fast as we could write them: the peers.

What makes them fast: sampled and greedy rows are one rollout without gradient,
whose probabilities are kept; `torch.nn.LSTM` reads all words again at once; a
gradient of the vocabulary head or of an embedding is one product over all
words, written by hand; words are drawn with one random number, and looked up
where they are embedded. `torch.compile` of the parts between products gained
nothing. `peers.py --check` compares every gradient with that of tfcap.
"""

import math
from collections.abc import Callable
from typing import Any
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional

BOS, EOS = 1, 2


class Task(NamedTuple):
    """Sizes, batch and reward that a step works on.

    Args:
        sizes: `tasks.Sizes`.
        batch: Dict of tensors: `image` `(B, F)`, `caption` `(B, T)`.
        reward: Function from words, an array `(n, T)`, to rewards `(n,)`: of
            samples, image by image, and greedy captions after them.
        low: Type of products.
        uniform: Function from a shape to random numbers.
    """

    sizes: Any
    batch: dict
    reward: Callable | None = None
    low: torch.dtype = torch.float32
    uniform: Callable = torch.rand


def trained(backward, *networks):
    """A step: gradients by `backward()`, then Adam."""
    weights = [w for x in networks for w in x.parameters() if w.requires_grad]
    optimizer = torch.optim.Adam(weights, 1e-7, fused=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        backward()
        optimizer.step()

    step.networks = networks
    return step


class Speaker(nn.Module):
    """An LSTM that is shown the image before the first word."""

    def __init__(self, sizes):
        super().__init__()
        self.look = nn.Linear(sizes.features, sizes.units)
        self.embed = nn.Embedding(sizes.vocabulary, sizes.units)
        self.lstm = nn.LSTM(sizes.units, sizes.units)
        self.head = nn.Linear(sizes.units, sizes.vocabulary)
        # Random weights, and captions of full length: nobody ends.
        with torch.no_grad():
            self.head.bias[: EOS + 1] = -1e4

    def read(self, image, words, low):
        """States `(T, n, D)` that say words `(T, n)`."""
        read = self.embed(after_start(words))
        read = torch.cat([self.look(image)[None], read])
        half = low != torch.float32
        with torch.autocast("cpu", low, enabled=half):
            return self.lstm(read)[0][1:].float()


def after_start(words):
    """Words `(T, n)` as they are read: one later."""
    return torch.cat([torch.full_like(words[:1], BOS), words[:-1]])


class Cell:
    """The products of an LSTM at one word, with one matrix."""

    def __init__(self, lstm, low):
        joint = torch.cat([lstm.weight_ih_l0, lstm.weight_hh_l0], 1)
        self.joint = joint.detach().to(low)
        self.bias = (lstm.bias_ih_l0 + lstm.bias_hh_l0).detach()

    def __call__(self, x, h, c):
        """The next states, and what `backward()` needs."""
        read = torch.cat([x, h], 1).to(self.joint.dtype)
        gates = (read @ self.joint.T).float().add_(self.bias)
        i, f, g, o = gates.chunk(4, 1)
        i, f, g, o = i.sigmoid_(), f.sigmoid_(), g.tanh_(), o.sigmoid_()
        after = f * c + i * g
        told = torch.tanh(after)
        return o * told, after, (read, gates, c, told)

    def backward(self, slope_h, slope_c, kept):
        """Slopes of the gates, of `x`, of `h` and of `c`."""
        _, gates, c, told = kept
        i, f, g, o = gates.chunk(4, 1)
        slope_c = slope_c + slope_h * o * (1 - told * told)
        slopes = [slope_c * g, slope_c * c, slope_c * i, slope_h * told]
        inner = [i * (1 - i), f * (1 - f), 1 - g * g, o * (1 - o)]
        gates = torch.cat([a * b for a, b in zip(slopes, inner)], 1)
        gates = gates.to(self.joint.dtype)
        x, h = (gates @ self.joint).float().tensor_split(2, 1)
        return gates, x, h, slope_c * f


def draw(soft, uniform):
    """Words by inverse CDF: a block of words, then one of it."""
    blocks = soft.unflatten(1, (-1, math.gcd(soft.shape[1], 16)))
    ends = blocks.sum(-1).cumsum(1)
    aim = uniform[:, None] * ends[:, -1:]
    block = torch.searchsorted(ends, aim, right=True).clamp_(
        max=ends.shape[1] - 1
    )
    inside = blocks[torch.arange(len(soft)), block[:, 0]].cumsum(1)
    aim = aim - ends.gather(1, block) + inside[:, -1:]
    word = torch.searchsorted(inside, aim, right=True)
    width = inside.shape[1]
    return (block * width + word.clamp_(max=width - 1))[:, 0]


def head_backward(head, states, soft, words, weights, low):
    """Backward of `-sum(weights * log p(words))`: one product a factor.

    Args:
        head: `torch.nn.Linear` to the vocabulary.
        states: Its inputs `(T, n, D)`.
        soft: Their probabilities `(T, n, V)`, which are overwritten.
        words: `(T, n)`.
        weights: Broadcasts to `(T, n)`.
        low: Type of products.
    """
    with torch.no_grad():
        words = words[..., None]
        soft.scatter_add_(2, words, torch.full(words.shape, -1.0))
        soft.mul_(weights[..., None])
        slope = through_head(head, states, soft, low)
    states.backward(slope)


def through_head(head, states, slope, low):
    """Slopes of states; those of the head are left in its `.grad`."""
    flat, states = slope.flatten(0, -2), states.detach()
    rows = flat.to(low)
    head.weight.grad = (rows.T @ states.flatten(0, -2).to(low)).float()
    head.bias.grad = flat.sum(0)
    return (rows @ head.weight.to(low)).float().view_as(states)


def logits_of(head, states, low):
    return (states.to(low) @ head.weight.to(low).T).float().add_(head.bias)


def cross_entropy(task):
    """Human words, over all of them at once."""
    speaker, batch = Speaker(task.sizes), task.batch
    words = batch["caption"].T.contiguous()
    weights = torch.full(words.shape, 1 / words.numel())

    def backward():
        states = speaker.read(batch["image"], words, task.low)
        with torch.no_grad():
            soft = torch.softmax(logits_of(speaker.head, states, task.low), -1)
        head_backward(speaker.head, states, soft, words, weights, task.low)

    return trained(backward, speaker)


def scst(task, samples=1, normalize="token"):
    """REINFORCE, with the greedy caption as baseline."""
    sizes, speaker, low = task.sizes, Speaker(task.sizes), task.low
    image = task.batch["image"]
    count, length = len(image) * samples, sizes.length
    soft = torch.empty(length, count, sizes.vocabulary)

    def roll():
        """Words `(T, n)` of samples, and of the greedy captions after them."""
        cell = Cell(speaker.lstm, low)
        kernel = speaker.head.weight.to(low).T
        x = speaker.look(image)
        x = torch.cat([x.repeat_interleave(samples, 0), x])
        h, c, _ = cell(x, torch.zeros_like(x), torch.zeros_like(x))
        words, said = torch.full((len(x),), BOS), []
        for t in range(length):
            h, c, _ = cell(speaker.embed(words), h, c)
            logits = (h.to(low) @ kernel).float().add_(speaker.head.bias)
            torch.softmax(logits[:count], -1, out=soft[t])
            words = draw(soft[t], task.uniform(count))
            words = torch.cat([words, logits[count:].argmax(-1)])
            said.append(words)
        return torch.stack(said)

    def backward():
        with torch.no_grad():
            words = roll()
            reward = torch.as_tensor(task.reward(words.T.numpy())).float()
            base = reward[count:].repeat_interleave(samples)
            terms = count * (length if normalize == "token" else 1)
            weights = (reward[:count] - base)[None] / terms
        said = words[:, :count].contiguous()
        images = image.repeat_interleave(samples, 0)
        states = speaker.read(images, said, low)
        head_backward(speaker.head, states, soft, said, weights, low)

    return trained(backward, speaker)


class Listener(nn.Module):
    """Images and texts in one space; hinge with hardest negatives."""

    def __init__(self, sizes):
        super().__init__()
        self.look = nn.Linear(sizes.features, sizes.listener)
        self.read = nn.GRU(sizes.units, sizes.listener)

    def forward(self, image, embedded):
        images = functional.normalize(self.look(image), dim=-1)
        texts = functional.normalize(self.read(embedded)[1][0], dim=-1)
        scores = images @ texts.T
        own, true = torch.eye(len(scores)).bool(), scores.diagonal()
        total = 0.0
        for matrix in (scores, scores.T):
            cost = (0.2 + matrix - true[:, None]).clamp(min=0)
            total = total + cost.masked_fill(own, 0).max(1)[0].sum()
        return total


def gumbel(logits, uniform, soft, temperature=0.5):
    """Straight-through Gumbel-softmax: words, none of them relaxed."""
    noise = uniform(logits.shape).clamp_(min=1e-20).log_().neg_().log_()
    torch.softmax((logits - noise).div_(temperature), -1, out=soft)
    return soft.argmax(-1), None


def partial(logits, uniform, soft, rho=0.25):
    """Partial sampling: words, and which are whole distributions."""
    torch.softmax(logits, -1, out=soft)
    words = draw(soft, uniform(len(soft)))
    return words, (uniform((len(soft), 1))[:, 0] < rho).nonzero()[:, 0]


def softmax_backward(slope, soft, temperature):
    """Turns probabilities into slopes of logits, in place."""
    made = torch._softmax_backward_data(slope, soft, -1, torch.float32)
    torch.div(made, temperature, out=soft)


def through(task, channel, temperature):
    """Speaker and listener learn through the words, which both are fed.

    Their two tables are one matrix, so that a word is one row.
    """
    sizes, low = task.sizes, task.low
    speaker, listener = Speaker(sizes), Listener(sizes)
    image, units, length = task.batch["image"], sizes.units, sizes.length
    speaker.embed = nn.Embedding(sizes.vocabulary, 2 * units)
    soft = torch.empty(length, len(image), sizes.vocabulary)

    def roll(cell, x, table, kernel):
        """Words, their vectors, which are relaxed, and what cells kept."""
        h, c, kept = cell(x, torch.zeros_like(x), torch.zeros_like(x))
        words, vectors = [], [table[BOS].float().expand(len(x), -1)]
        relaxed, cells, states = [], [kept], []
        for t in range(length):
            h, c, kept = cell(vectors[-1][:, :units], h, c)
            logits = (h.to(low) @ kernel.T).float().add_(speaker.head.bias)
            said, whole = channel(logits, task.uniform, soft[t])
            rows = table[said].float()
            if whole is not None:
                mixed = soft[t, whole]
                rows[whole] = (mixed.to(low) @ table).float()
                relaxed.append((whole + t * len(x), mixed))
            words.append(said), vectors.append(rows)
            cells.append(kept), states.append(h)
        return words, vectors[1:], relaxed, cells, torch.stack(states)

    @torch.no_grad()
    def backward():
        with torch.enable_grad():
            seen = speaker.look(image)
        cell = Cell(speaker.lstm, low)
        table, kernel = (
            speaker.embed.weight.to(low),
            speaker.head.weight.to(low),
        )
        words, vectors, relaxed, cells, states = roll(
            cell, seen.detach(), table, kernel
        )
        heard = torch.stack([x[:, units:] for x in vectors]).requires_grad_()
        with (
            torch.enable_grad(),
            torch.autocast("cpu", low, low != torch.float32),
        ):
            listener(image, heard).backward()
        x = h = c = torch.zeros(len(image), units)
        slopes, gates = [], []
        for t in reversed(range(length)):
            slope = torch.cat([x, heard.grad[t]], 1)
            wide = (slope.to(low) @ table.T).float()
            softmax_backward(wide, soft[t], temperature)
            h = h + (soft[t].to(low) @ kernel).float()
            gate, x, h, c = cell.backward(h, c, cells[t + 1])
            slopes.append(slope), gates.append(gate)
        start = x
        gate, x, _, _ = cell.backward(h, c, cells[0])
        gates.append(gate)
        seen.backward(x)
        through_head(speaker.head, states, soft, low)
        lstm, gates = speaker.lstm, torch.cat(gates[::-1])
        joint = gates.T @ torch.cat([read for read, *_ in cells])
        lstm.weight_ih_l0.grad, lstm.weight_hh_l0.grad = (
            half.float().contiguous() for half in joint.tensor_split(2, 1)
        )
        lstm.bias_ih_l0.grad = lstm.bias_hh_l0.grad = gates.float().sum(0)
        slopes = torch.cat(slopes[::-1])
        whole = torch.zeros_like(speaker.embed.weight)
        if relaxed:
            rows = torch.cat([rows for rows, _ in relaxed])
            mixed = torch.cat([mixed for _, mixed in relaxed]).to(low)
            whole += mixed.T @ slopes[rows].to(low)
            slopes[rows] = 0
        whole.index_add_(0, torch.cat(words), slopes)
        whole[BOS, :units] += start.sum(0)
        speaker.embed.weight.grad = whole

    return trained(backward, speaker, listener)


STEPS = {
    "XE": cross_entropy,
    "SCST": scst,
    "SLL": lambda task: scst(task, task.sizes.samples, "sequence"),
    "ST-Gumbel": lambda task: through(task, gumbel, 0.5),
    "PSST": lambda task: through(task, partial, 1.0),
}
