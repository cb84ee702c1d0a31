"""Better Captioning with Sequence-Level Exploration, a function a row.

Each takes a `Task` and returns a `Plan`. `xe` is where all of them start.
"""

from keras import ops

from reproduce.captioning.plan import Plan
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import LeaveOneOutBaseline
from tfcap.objectives import SampleMeanBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import PairwiseDiversity
from tfcap.rewards import Surprisal


def sll(task):
    """Sequence-level learning: CIDEr-D above that of the greedy caption."""
    samples = task.sample(task.settings.num_samples)
    return Plan(_precision(task, samples))


def sll_me(task):
    """With an entropy bonus: exploration word by word."""
    samples = task.sample(task.settings.num_samples)
    surprisal = Surprisal(per_word=True)
    bonus = ScoreFunction(surprisal, samples, LeaveOneOutBaseline())
    weight = task.settings.entropy_weight
    return Plan(_precision(task, samples) + weight * bonus)


def sll_sle(task):
    """With the distance of captions: exploration of whole captions."""
    count = task.settings.num_samples
    samples = task.sample(count)
    bonus = ScoreFunction(PairwiseDiversity(), samples, SampleMeanBaseline())
    # Equation 16 sums over all samples, its own included, and divides by S.
    alpha = task.settings.alpha
    weight = 2.0 * (1.0 - alpha) * (count - 1) / count
    return Plan(alpha * _precision(task, samples) + weight * bonus)


def sll_sle_loo(task):
    """As code of the first author: far from all other samples at once.

    Its diversity is minus the mean of BLEU-3 and BLEU-4 of a sample against
    all others, above the mean or -0.5, whichever is more: samples that are
    nearly all alike lose by it, every one.
    """
    samples = task.sample(task.settings.num_samples)
    bonus = ScoreFunction(
        PairwiseDiversity("self_bleu"), samples, _mean_or_more
    )
    weight = task.settings.code_alpha
    # The reward is 2 minus the sum: twice the code's distance, and 2 more.
    objective = (1.0 - weight) * _precision(task, samples)
    return Plan(objective + weight / 2.0 * bonus)


def _precision(task, samples):
    reward = task.cider()
    greedy = DecoderBaseline(reward, task.study.greedy)
    return ScoreFunction(reward, samples, greedy)


def _mean_or_more(rewards, episode):
    return ops.maximum(SampleMeanBaseline()(rewards, episode), 1.0)


#: Rows of Tables 1 to 4 that are trained for a reward.
EXPLORATION = {
    "sll": sll,
    "sll_me": sll_me,
    "sll_sle": sll_sle,
    "sll_sle_loo": sll_sle_loo,
}
