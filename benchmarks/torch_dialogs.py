"""G-DIS in PyTorch, written from the equations of the paper: the peer."""

EOS = 2


def _encoder(sizes):
    import torch
    from torch import nn

    units = sizes.units

    class Attention(nn.Module):
        def __init__(self, width):
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

        def __init__(self):
            super().__init__()
            self.ask = nn.LSTM(sizes.embedding, units, batch_first=True)
            self.say = nn.LSTM(sizes.embedding, units, batch_first=True)
            self.see = nn.Linear(sizes.features, units)
            self.history = Attention(units)
            self.image = Attention(2 * units)
            self.project = nn.Linear(3 * units, sizes.embedding)

        def forward(self, question, history, image, embed):
            asked, state = last_state(self.ask, question, embed)
            said, _ = last_state(self.say, history, embed)
            later = torch.ones(sizes.rounds, sizes.rounds, dtype=torch.bool)
            seen = torch.tanh(self.see(image))
            said = self.history(asked, said, later.triu(1))
            query = torch.cat([asked, said], -1)
            fused = torch.cat([query, self.image(query, seen)], -1)
            return torch.tanh(self.project(fused)), state

    return HCIAE()


def last_state(lstm, words, embed):
    """Outputs after the last word `(B, R, D)`, and the states there."""
    import torch

    lead = words.shape[:2]
    words = words.flatten(0, 1)
    lengths = (words > 0).sum(1)
    packed = torch.nn.utils.rnn.pack_padded_sequence(
        embed(words), lengths, batch_first=True, enforce_sorted=False
    )
    state = lstm(packed)[1]
    return state[0][0].unflatten(0, lead), state


def g_dis(sizes, batch, step):
    """A step: Gumbel answers before a frozen critic, and the human ones.

    Args:
        sizes: `dialog_steps.DialogSizes`.
        batch: Dict of arrays.
        step: Function from networks to a function from a loss to a step, such
            as `torch_steps.stepper_of`.
    """
    import torch
    from torch import nn
    from torch.nn import functional

    units, width = sizes.units, sizes.embedding
    batch = {key: torch.from_numpy(value) for key, value in batch.items()}
    batch = {k: v if k == "image" else v.long() for k, v in batch.items()}

    class Generator(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(sizes.vocabulary, width)
            self.encoder = _encoder(sizes)
            self.cell = nn.LSTM(width, units, batch_first=True)
            self.head = nn.Linear(units, sizes.vocabulary)
            with torch.no_grad():
                self.head.bias[: EOS + 1] = -1e4

        def begin(self):
            keys = "question", "history", "image"
            encoded, state = self.encoder(*(batch[k] for k in keys), self.embed)
            return self.cell(encoded.flatten(0, 1)[:, None], state)[1]

    class Critic(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(sizes.vocabulary, width)
            self.encoder = _encoder(sizes)
            self.read = nn.LSTM(width, units, batch_first=True)
            self.hidden = nn.Linear(units, units)
            self.score = nn.Linear(units, 1, bias=False)
            self.project = nn.Linear(units, width)

        def answer(self, embedded, there):
            states = self.read(embedded)[0]
            scores = self.score(torch.tanh(self.hidden(states)))[..., 0]
            weights = torch.softmax(scores.masked_fill(~there, -1e9), -1)
            pooled = (weights[:, None] @ states)[:, 0]
            return torch.tanh(self.project(pooled))

    generator, critic = Generator(), Critic().requires_grad_(False)
    truth = batch["answer"].flatten(0, 1)
    there = truth > 0

    def judged():
        keys = "question", "history", "image"
        anchor, _ = critic.encoder(*(batch[k] for k in keys), critic.embed)
        human = critic.answer(critic.embed(truth), there)
        return anchor.flatten(0, 1), human

    def sampled(state):
        words = torch.full((len(truth),), 1)
        heard = []
        for _ in range(sizes.length):
            hidden, state = generator.cell(
                generator.embed(words)[:, None], state
            )
            said = functional.gumbel_softmax(
                generator.head(hidden[:, 0]), tau=0.5, hard=True
            )
            words = said.detach().argmax(-1)
            heard.append(said @ critic.embed.weight)
        return torch.stack(heard, 1)

    def loss():
        with torch.no_grad():
            anchor, human = judged()
        state = generator.begin()
        fake = critic.answer(sampled(state), torch.ones_like(there))
        margin = (anchor * (fake - human)).sum(-1)
        start = torch.ones_like(truth[:, :1])
        read = generator.embed(torch.cat([start, truth[:, :-1]], 1))
        logits = generator.head(generator.cell(read, state)[0])
        likelihood = functional.cross_entropy(
            logits.flatten(0, 1),
            truth.flatten(),
            ignore_index=0,
            reduction="sum",
        )
        return functional.softplus(-margin).mean() + 0.5 * likelihood / len(
            truth
        )

    return step(generator)(loss)
