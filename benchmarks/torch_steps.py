"""Training steps in PyTorch, written from the equations: the peers.

Each function takes a `Task` and returns a training step, a function without
arguments. "plain" steps say a word at a time and differentiate through all of
it, as released codes do. "strong" ones use what makes PyTorch fast: sampled
and greedy rows in one rollout without gradient, `torch.nn.LSTM` over all words
at once, one product for the vocabulary head.
"""

from typing import Any
from typing import NamedTuple

BOS, EOS = 1, 2


class Task(NamedTuple):
    """Sizes, batch and reward that a step works on.

    Args:
        sizes: `training_step.Sizes`.
        batch: Dict of arrays: `image` `(B, F)`, `caption` `(B, T)`.
        reward: Function from samples, an array `(n, T)`, and how many come
            from an image, to rewards `(n,)`; or `None`.
    """

    sizes: Any
    batch: Any
    reward: Any = None


def _speaker(sizes):
    import torch
    from torch import nn

    class Speaker(nn.Module):
        """An LSTM that is shown the image before the first word."""

        def __init__(self):
            super().__init__()
            self.look = nn.Linear(sizes.features, sizes.units)
            self.embed = nn.Embedding(sizes.vocabulary, sizes.units)
            self.lstm = nn.LSTM(sizes.units, sizes.units, batch_first=True)
            self.head = nn.Linear(sizes.units, sizes.vocabulary)
            # Random weights, and captions of full length: nobody ends.
            with torch.no_grad():
                self.head.bias[: EOS + 1] = -1e4

        def begin(self, image):
            return self.lstm(self.look(image)[:, None])[1]

        def step(self, embedded, state):
            hidden, state = self.lstm(embedded[:, None], state)
            return self.head(hidden[:, 0]), state

        def forward(self, image, words):
            """Logits of words that are given, all at once."""
            start = torch.full_like(words[:, :1], BOS)
            read = self.embed(torch.cat([start, words[:, :-1]], 1))
            read = torch.cat([self.look(image)[:, None], read], 1)
            return self.head(self.lstm(read)[0][:, 1:])

    return Speaker()


def stepper_of(*networks, bf16=False):
    """Turns a function that computes a loss into a training step."""
    import torch

    weights = [w for network in networks for w in network.parameters()]
    optimizer = torch.optim.Adam(weights, 1e-7, fused=True)

    def stepper(loss):
        def step():
            optimizer.zero_grad(set_to_none=True)
            with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
                value = loss()
            value.backward()
            optimizer.step()
            return float(value.detach())

        return step

    return stepper


def _tensors(task):
    import torch

    return {key: torch.from_numpy(x) for key, x in task.batch.items()}


def cross_entropy(task):
    """The head, and the recurrence, over all words at once."""
    from torch.nn import functional

    speaker, batch = _speaker(task.sizes), _tensors(task)
    words = batch["caption"].long()

    def loss():
        logits = speaker(batch["image"], words)
        total = functional.cross_entropy(
            logits.flatten(0, 1), words.flatten(), reduction="sum"
        )
        return total / len(words)

    return stepper_of(speaker)(loss)


def _say(speaker, state, length, draw):
    """Words `(n, T)` and logits, a step at a time."""
    import torch

    words = torch.full(state[0].shape[1:2], BOS)
    said, weighed = [], []
    for _ in range(length):
        logits, state = speaker.step(speaker.embed(words), state)
        words = draw(logits)
        said.append(words)
        weighed.append(logits)
    return torch.stack(said, 1), weighed


def _sampled(logits):
    import torch

    chances = torch.softmax(logits.detach().float(), -1)
    return torch.multinomial(chances, 1)[:, 0]


def plain_scst(task, samples=1):
    """Sampled words and the greedy caption, one after the other."""
    import torch

    sizes, speaker, batch = task.sizes, _speaker(task.sizes), _tensors(task)

    def loss():
        state = speaker.begin(batch["image"])
        several = [x.repeat_interleave(samples, 1) for x in state]
        said, weighed = _say(speaker, several, sizes.length, _sampled)
        scores = [
            torch.log_softmax(logits, -1).gather(1, words[:, None])[:, 0]
            for logits, words in zip(weighed, said.unbind(1))
        ]
        with torch.no_grad():
            greedy, _ = _say(
                speaker, state, sizes.length, lambda x: x.argmax(-1)
            )
        advantage = _advantage(task, said, greedy, samples)
        return -(torch.stack(scores, 1).sum(1) * advantage).mean()

    return stepper_of(speaker)(loss)


def strong_scst(task, samples=1, bf16=False):
    """One rollout without gradient; then all words at once."""
    import torch

    sizes, speaker, batch = task.sizes, _speaker(task.sizes), _tensors(task)
    count = sizes.batch * samples

    def draw(logits):
        return torch.cat([_sampled(logits[:count]), logits[count:].argmax(-1)])

    def loss():
        with torch.no_grad():
            state = speaker.begin(batch["image"])
            state = [
                torch.cat([x.repeat_interleave(samples, 1), x], 1)
                for x in state
            ]
            words, _ = _say(speaker, state, sizes.length, draw)
        said, greedy = words[:count], words[count:]
        image = batch["image"].repeat_interleave(samples, 0)
        logits = speaker(image, said).float()
        scores = torch.log_softmax(logits, -1).gather(2, said[..., None])
        advantage = _advantage(task, said, greedy, samples)
        return -(scores[..., 0].sum(1) * advantage).mean()

    return stepper_of(speaker, bf16=bf16)(loss)


def _advantage(task, said, greedy, samples):
    import torch

    reward = torch.from_numpy(task.reward(said.numpy(), samples))
    base = torch.from_numpy(task.reward(greedy.numpy(), 1))
    return (reward - base.repeat_interleave(samples)).float()


def _listener(sizes):
    import torch
    from torch import nn
    from torch.nn import functional

    class Listener(nn.Module):
        """Images and texts in one space; hinge with hardest negatives."""

        def __init__(self):
            super().__init__()
            self.look = nn.Linear(sizes.features, sizes.listener)
            self.table = nn.Parameter(
                torch.rand(sizes.vocabulary, sizes.units) * 0.2 - 0.1
            )
            self.read = nn.GRU(sizes.units, sizes.listener, batch_first=True)

        def forward(self, image, embedded):
            images = functional.normalize(self.look(image), dim=-1)
            texts = functional.normalize(self.read(embedded)[1][0], dim=-1)
            scores = images @ texts.T
            own = torch.eye(len(scores), dtype=torch.bool)
            true = scores.diagonal()
            total = 0.0
            for matrix in (scores, scores.T):
                cost = (0.2 + matrix - true[:, None]).clamp(min=0)
                total = total + cost.masked_fill(own, 0).max(1)[0].mean()
            return total

    return Listener()


def plain_gumbel(logits):
    """Straight-through Gumbel-softmax, and the table by a product."""
    from torch.nn import functional

    words = functional.gumbel_softmax(logits, tau=0.5, hard=True)
    return lambda table: words @ table


def plain_partial(logits, rho=0.25):
    """Partial sampling: a whole distribution, or a word."""
    import torch
    from torch.nn import functional

    soft = torch.softmax(logits, -1)
    ids = torch.multinomial(soft.detach(), 1)[:, 0]
    hard = functional.one_hot(ids, logits.shape[-1]).to(soft.dtype)
    words = hard + soft - soft.detach()
    coins = torch.rand(len(logits), 1)
    words = torch.where(coins < rho, soft, words)
    return lambda table: words @ table


def strong_gumbel(logits):
    """The same with quick noise, rows gathered, and one product backward."""
    import torch

    noise = -torch.log(-torch.log(torch.rand_like(logits) + 1e-20))
    soft = torch.softmax((logits + noise) / 0.5, -1)
    ids = soft.detach().argmax(-1)
    return lambda table: _gather()(soft, table, ids)


def _gather():
    import torch

    class Gather(torch.autograd.Function):
        @staticmethod
        def forward(ctx, soft, table, ids):
            ctx.save_for_backward(table, ids)
            return table[ids]

        @staticmethod
        def backward(ctx, slope):
            table, ids = ctx.saved_tensors
            to_table = torch.zeros_like(table).index_add_(0, ids, slope)
            return slope @ table.T, to_table, None

    return Gather.apply


def speaker_and_listener(task, channel):
    """Both learn through the words, which the speaker is fed back as well."""
    import torch

    sizes, batch = task.sizes, _tensors(task)
    speaker, listener = _speaker(sizes), _listener(sizes)

    def loss():
        state, heard = speaker.begin(batch["image"]), []
        embedded = speaker.embed(torch.full((sizes.batch,), BOS))
        for _ in range(sizes.length):
            logits, state = speaker.step(embedded, state)
            times = channel(logits)
            embedded = times(speaker.embed.weight)
            heard.append(times(listener.table))
        return listener(batch["image"], torch.stack(heard, 1))

    return stepper_of(speaker, listener)(loss)
