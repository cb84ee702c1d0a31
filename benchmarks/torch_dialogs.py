"""G-DIS in PyTorch, as fast as we could write it: the peer.

A sampled answer is fed back as ids: it is drawn without gradient, and what was
drawn is read again, beside the human answers, by one `torch.nn.LSTM`.
"""

import torch
import torch_steps
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    def __init__(self, width, units):
        super().__init__()
        self.query = nn.Linear(width, units)
        self.memory = nn.Linear(units, units, bias=False)
        self.score = nn.Linear(units, 1, bias=False)

    def forward(self, query, memory, hidden=None):
        joint = self.memory(memory)[:, None] + self.query(query)[:, :, None]
        scores = self.score(torch.tanh(joint))[..., 0]
        if hidden is not None:
            scores = scores.masked_fill(hidden, -1e9)
        return torch.softmax(scores, -1) @ memory


class HCIAE(nn.Module):
    """Question, then history, then image."""

    def __init__(self, sizes):
        super().__init__()
        units = sizes.units
        self.ask = nn.LSTM(sizes.embedding, units, batch_first=True)
        self.say = nn.LSTM(sizes.embedding, units, batch_first=True)
        self.see = nn.Linear(sizes.features, units)
        self.history = Attention(units, units)
        self.image = Attention(2 * units, units)
        self.project = nn.Linear(3 * units, sizes.embedding)

    def forward(self, batch, embed):
        asked, state = last_state(self.ask, batch["question"], embed)
        said = last_output(self.say, batch["history"], embed)
        rounds = said.shape[1]
        later = torch.ones(rounds, rounds, dtype=torch.bool).triu(1)
        seen = torch.tanh(self.see(batch["image"]))
        said = self.history(asked, said, later)
        query = torch.cat([asked, said], -1)
        fused = torch.cat([query, self.image(query, seen)], -1)
        return torch.tanh(self.project(fused)), state


def last_state(lstm, words, embed):
    """Outputs after the last word `(B, R, D)`, and the states there."""
    lead = words.shape[:2]
    words = words.flatten(0, 1)
    lengths = (words > 0).sum(1)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        embed(words), lengths, batch_first=True, enforce_sorted=False
    )
    state = lstm(packed)[1]
    return state[0][0].unflatten(0, lead), state


def last_output(lstm, words, embed):
    """Outputs after the last word `(B, R, D)`, of all that is padded."""
    flat = words.flatten(0, 1)
    states = lstm(embed(flat))[0]
    last = states[torch.arange(len(flat)), (flat > 0).sum(1) - 1]
    return last.unflatten(0, words.shape[:2])


class Generator(nn.Module):
    def __init__(self, sizes):
        super().__init__()
        self.embed = nn.Embedding(sizes.vocabulary, sizes.embedding)
        self.encoder = HCIAE(sizes)
        self.lstm = nn.LSTM(sizes.embedding, sizes.units)
        self.head = nn.Linear(sizes.units, sizes.vocabulary)
        with torch.no_grad():
            self.head.bias[: torch_steps.EOS + 1] = -1e4


class Critic(nn.Module):
    """Scores of answers; its self-attentive encoder reads embedded words."""

    def __init__(self, sizes):
        super().__init__()
        units, width = sizes.units, sizes.embedding
        self.embed = nn.Embedding(sizes.vocabulary, width)
        self.encoder = HCIAE(sizes)
        self.read = nn.LSTM(width, units)
        self.hidden = nn.Linear(units, units)
        self.score = nn.Linear(units, 1, bias=False)
        self.project = nn.Linear(units, width)

    def answer(self, embedded, there):
        states = self.read(embedded)[0]
        scores = self.score(torch.tanh(self.hidden(states)))[..., 0]
        weights = torch.softmax(scores.masked_fill(~there, -1e9), 0)
        return torch.tanh(self.project((weights[..., None] * states).sum(0)))


def g_dis(task):
    """A step: Gumbel answers before a frozen critic, and the human ones."""
    batch, low, temperature = task.batch, task.low, 0.5
    generator = Generator(task.sizes)
    critic = Critic(task.sizes).requires_grad_(False)
    truth = batch["answer"].flatten(0, 1).T.contiguous()
    there, count = truth > 0, truth.shape[1]
    weights = torch.full((int(there.sum()),), 0.5 / count)
    soft = torch.empty(*truth.shape, task.sizes.vocabulary)

    def roll(state):
        """Sampled words `(T, n)`; their relaxations are left in `soft`."""
        cell = torch_steps.Cell(generator.lstm, low)
        kernel, said = generator.head.weight.T, []
        h, c = (x[0] for x in state)
        words = torch.full((count,), torch_steps.BOS)
        for t in range(len(truth)):
            h, c, _ = cell(generator.embed(words), h, c)
            logits = torch.addmm(generator.head.bias, h, kernel)
            words, _ = torch_steps.gumbel(
                logits, task.uniform, soft[t], temperature
            )
            said.append(words)
        return torch.stack(said)

    def backward():
        encoded, state = generator.encoder(batch, generator.embed)
        state = generator.lstm(encoded.flatten(0, 1)[None], state)[1]
        with torch.no_grad():
            said = roll(state)
            anchor, _ = critic.encoder(batch, critic.embed)
            human = critic.answer(critic.embed(truth), there)
        heard = critic.embed(said).requires_grad_()
        fake = critic.answer(heard, torch.ones_like(there))
        margin = (anchor.flatten(0, 1) * (fake - human)).sum(-1)
        functional.softplus(-margin).mean().backward()
        read = torch.cat([torch_steps.after_start(x) for x in (said, truth)], 1)
        twice = [torch.cat([x, x], 1) for x in state]
        states, _ = generator.lstm(generator.embed(read), twice)
        states = torch.cat(
            [states[:, :count].flatten(0, 1), states[:, count:][there]]
        )
        with torch.no_grad():
            drawn = soft.flatten(0, 1)
            wide = heard.grad.flatten(0, 1) @ critic.embed.weight.T
            torch_steps.softmax_backward(wide, drawn, temperature)
            logits = torch_steps.logits_of(
                generator.head, states[len(drawn) :], low
            )
            given = torch.softmax(logits, -1)
            rows = torch.arange(len(given))
            given[rows, truth[there]] -= 1
            given *= weights[:, None]
            slope = torch.cat([drawn, given])
            slope = torch_steps.through_head(generator.head, states, slope, low)
        states.backward(slope)

    return torch_steps.trained(backward, generator, critic)
