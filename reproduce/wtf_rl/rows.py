"""Distinctive Image Captioning with ground truth captions, a function a row.

Each takes a `Task` and returns a `Plan`. `tf` is where all of them start.
"""

from reproduce.captioning.plan import Plan
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import ScoreFunction


def wtf(task):
    """Weighted teacher forcing: human captions, by how they stand out."""
    reward, discriminator = _contrastive(task)
    return task.beside(_human(task, reward), discriminator)


def rl(task):
    """What beam search finds, by how it stands out."""
    reward, discriminator = _contrastive(task)
    return task.beside(_said(task, reward), discriminator)


def wtf_rl(task):
    """Both: the paper's method (equation 3)."""
    reward, discriminator = _contrastive(task)
    objective = _said(task, reward) + _human(task, reward)
    return task.beside(objective, discriminator)


def rl_unidirectional(task):
    """As `rl`, among other captions alone, not images."""
    reward, discriminator = _contrastive(task, directions=("text",))
    return task.beside(_said(task, reward), discriminator)


def scst_discriminator(task):
    """Similarity and discriminator, above the greedy caption."""
    discriminator = task.discriminator()
    reward = task.judged(task.similarity(), discriminator)
    return task.beside(_self_critical(task, reward, task.beam), discriminator)


def scst_grammar(task):
    """Similarity and a judge of grammar that stays as it is."""
    return Plan(_self_critical(task, task.grammatical(), task.sample))


def wtf_rl_code(task):
    """As the released code runs: the beam twice, and no human caption."""
    reward, discriminator = _contrastive(task)
    return task.beside(2.0 * _said(task, reward), discriminator)


def _contrastive(task, **options):
    discriminator = task.discriminator()
    return task.judged(task.contrast(**options), discriminator), discriminator


def _said(task, reward):
    return ScoreFunction(reward, task.beam, normalize="token", name="said")


def _human(task, reward):
    return ScoreFunction(reward, task.human, normalize="token", name="human")


def _self_critical(task, reward, decoder):
    baseline = DecoderBaseline(reward, task.greedy)
    return ScoreFunction(
        reward, decoder, baseline, normalize="token", name="said"
    )


#: Rows of Table 1 that are trained for a reward, by their names in records.
ROWS = {
    "wtf": wtf,
    "wtf_rl": wtf_rl,
    "rl": rl,
    "rl_unidirectional": rl_unidirectional,
    "scst_discriminator": scst_discriminator,
    "scst_grammar": scst_grammar,
    "wtf_rl_code": wtf_rl_code,
}
