"""Joint Optimization for Cooperative Image Captioning, a function a method.

Each takes a `Task` and returns the game to be played, and callbacks.
"""

from typing import Any
from typing import NamedTuple

from keras import ops

from reproduce.captioning.phases import naturalness
from reproduce.psst.adversary import pretrained_evaluator
from reproduce.psst.adversary import pretrained_generator
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.layers import GumbelSoftmaxST
from tfcap.layers import PartialSamplingST
from tfcap.objectives import DecoderBaseline
from tfcap.objectives import DiscriminatorLoss
from tfcap.objectives import ListenerLoss
from tfcap.objectives import MonteCarlo
from tfcap.objectives import Pathwise
from tfcap.objectives import PrefixBaseline
from tfcap.objectives import ScoreFunction
from tfcap.rewards import MatchProbability
from tfcap.rewards import Retrieval
from tfcap.training import ExponentialTemperature
from tfcap.training import Game


class Task(NamedTuple):
    """What a method has to work with: a point of a curve to be.

    Args:
        study: `CaptioningStudy`.
        speaker: `tfcap.decoding.Speaker`, as it is before joint training.
        listener: `tfcap.models.RetrievalListener`, as it is before.
        trade: Float, the paper's lambda: weight of the hinge loss, summed over
            a batch, against one minus that of naturalness.
        rho: Float, probability of passing the whole distribution.
        temperature: Float, of the Gumbel-softmax.
        credit: `"batch"` or `"own"`, what REINFORCE weighs a caption with;
            see `tfcap.rewards.Retrieval`.
    """

    study: Any
    speaker: Any
    listener: Any
    trade: float
    rho: float
    temperature: float
    credit: str = "batch"

    @property
    def settings(self):
        return self.study.settings

    def sample(self, channel, feedback="index"):
        """Captions that the listener reads."""
        return Sample(
            channel,
            max_length=self.settings.max_length,
            feedback=feedback,
            suppress=self.study.unsaid,
        )

    def retrieval(self, **options):
        """What the listener thinks of them."""
        settings = self.settings
        return Retrieval(
            self.listener,
            settings.margin,
            settings.joint_negatives,
            credit=self.credit,
            **options,
        )

    def objective(self, discriminability):
        """The paper's equation 1."""
        # Estimators take the mean over a batch where the paper has the sum.
        weight = self.trade * self.settings.batch_size
        natural = (1.0 - self.trade) * naturalness(self.study)
        return weight * discriminability + natural

    def speaks(self, objective, **turns):
        return self.study.player(self.speaker, objective, **turns)

    def listens(self, objective, **turns):
        return self.study.player(self.listener, objective, **turns)


def psst_multinomial(task):
    """Partial sampling, straight-through: the paper's method (section 5)."""
    channel = PartialSamplingST(task.rho, seed=task.study.seed)
    return _together(task, channel, "relaxed")


def psst_gumbel(task):
    """Partial sampling of the Gumbel-softmax (section 6.2, method 8)."""
    channel = GumbelSoftmaxST(
        task.temperature, rho=task.rho, seed=task.study.seed
    )
    return _together(task, channel, "relaxed")


def psst_multinomial_code(task):
    """As the released code calls it: its 0.25 is the share of sampled words."""
    return psst_multinomial(task._replace(rho=1.0 - task.rho))


def psst_gumbel_code(task):
    """The same of `psst_gumbel`."""
    return psst_gumbel(task._replace(rho=1.0 - task.rho))


def psst_soft_cooling(task):
    """Partial sampling whose rho falls with every epoch (code only)."""
    steps = task.study.batches().steps_per_epoch

    def rho(step):
        epoch = ops.cast(step // steps, "float32")
        return ops.minimum(1.0, (task.settings.cooling * (1 + epoch)) ** -0.5)

    channel = PartialSamplingST(rho, seed=task.study.seed)
    return _together(task, channel, "relaxed")


def st_multinomial(task):
    """Straight-through multinomial: always a word (method 2)."""
    return _together(task, PartialSamplingST(0.0, seed=task.study.seed))


def st_gumbel(task):
    """Straight-through Gumbel-softmax (method 5)."""
    channel = GumbelSoftmaxST(task.temperature, seed=task.study.seed)
    return _together(task, channel)


def st_gumbel_annealed(task):
    """Straight-through Gumbel-softmax that cools (method 6)."""
    cool = ExponentialTemperature(1.0, rate=task.settings.annealing)
    return _together(task, GumbelSoftmaxST(cool, seed=task.study.seed))


def dense(task):
    """The whole distribution, always: rho is 1 (Figure 3f)."""
    return _together(task, PartialSamplingST(1.0), "relaxed")


def reinforce_joint(task):
    """REINFORCE, speaker and listener in turns (method 4).

    The baseline is what the listener makes of the human captions. A caption
    has the credit for what it does to the others as their negative, which the
    expected loss of the paper's equation 2 asks for, and `Pathwise` gives.
    """
    samples = task.sample(Categorical(seed=task.study.seed))
    judged = task.retrieval(learning=False)
    term = ScoreFunction(
        judged,
        samples,
        DecoderBaseline(judged, GroundTruth()),
        normalize="token",
    )
    learns = ListenerLoss(task.retrieval(), samples)
    return _game(
        task,
        speaker=task.speaks(task.objective(term), every=2),
        listener=task.listens(learns, every=2, offset=1),
    )


def reinforce_joint_code(task):
    """As the released code: a caption has its own reward alone."""
    return reinforce_joint(task._replace(credit="own"))


def luo2018(task):
    """REINFORCE with a listener that only ever read people (method 3)."""
    task.listener.trainable = False
    return _reinforce_alone(task, task.retrieval(learning=False))


def luo2018_code(task):
    """The same of `luo2018`."""
    return luo2018(task._replace(credit="own"))


def multinomial_speaker(task):
    """Straight-through, with a listener that stays as it is (code only)."""
    channel = PartialSamplingST(0.0, seed=task.study.seed)
    return _speaker_alone(task, channel)


def gumbel_speaker(task):
    """The same of `st_gumbel` (code only)."""
    channel = GumbelSoftmaxST(task.temperature, seed=task.study.seed)
    return _speaker_alone(task, channel)


def psst_speaker(task):
    """The same of `psst_multinomial`: what its listener's learning is worth.

    Neither in the paper nor in its code.
    """
    channel = PartialSamplingST(task.rho, seed=task.study.seed)
    return _speaker_alone(task, channel, "relaxed")


def sr_pl(task):
    """As `luo2018`, with unlabeled images to tell apart, too (method 7)."""
    task.listener.trainable = False
    judged = task.retrieval(learning=False, distractors="distractor_image")
    return _reinforce_alone(task, judged)


def sr_pl_code(task):
    """The same of `sr_pl`, whose published code is another's."""
    return sr_pl(task._replace(credit="own"))


def g_gan(task):
    """A speaker that is to pass for a human, and who is not to be fooled.

    Method 9: REINFORCE with early feedback, from maximum likelihood, against
    an evaluator. It knows no lambda, and nobody listens: the listener stays as
    it is. There is no noise vector; what differs is drawn word by word.
    """
    task = task._replace(speaker=pretrained_generator(task.study))
    evaluator = pretrained_evaluator(task.study)
    samples = task.sample(Categorical(seed=task.study.seed))
    reward = MatchProbability(evaluator)
    # The authors' code has no baseline. This one keeps the expectation.
    term = ScoreFunction(
        reward,
        samples,
        PrefixBaseline(DecoderBaseline(reward, task.study.greedy)),
        normalize="token",
        credit=MonteCarlo(task.settings.gan_continuations),
    )
    judges = task.study.player(evaluator, DiscriminatorLoss(evaluator, samples))
    return _game(task, speaker=task.speaks(term), evaluator=judges)


def frozen_speaker_luo(task):
    """A listener for the speaker of `luo2018` as it is (Table 3)."""
    networks = task.study.trained("luo2018", lambda_=task.trade)
    return _listener_alone(task._replace(speaker=networks["speaker"]))


def frozen_speaker_mle(task):
    """A listener for the speaker of maximum likelihood (Table 3)."""
    networks = task.study.networks("speaker_mle", fresh=True)
    return _listener_alone(task._replace(speaker=networks["speaker"]))


#: Every method of section 6.2 that is trained, and those of the released code
#: alone, by their names in records.
METHODS = {
    "psst_multinomial": psst_multinomial,
    "psst_gumbel": psst_gumbel,
    "psst_multinomial_code": psst_multinomial_code,
    "psst_gumbel_code": psst_gumbel_code,
    "psst_soft_cooling": psst_soft_cooling,
    "st_multinomial": st_multinomial,
    "st_gumbel": st_gumbel,
    "st_gumbel_annealed": st_gumbel_annealed,
    "dense": dense,
    "reinforce_joint": reinforce_joint,
    "reinforce_joint_code": reinforce_joint_code,
    "luo2018": luo2018,
    "luo2018_code": luo2018_code,
    "multinomial_speaker": multinomial_speaker,
    "gumbel_speaker": gumbel_speaker,
    "psst_speaker": psst_speaker,
    "sr_pl": sr_pl,
    "sr_pl_code": sr_pl_code,
    "g_gan": g_gan,
    "frozen_speaker_luo": frozen_speaker_luo,
    "frozen_speaker_mle": frozen_speaker_mle,
}


def _together(task, channel, feedback="index"):
    """Both learn, through the words, from one loss."""
    samples = task.sample(channel, feedback)
    objective = task.objective(Pathwise(task.retrieval(), samples))
    return _game(
        task,
        speaker=task.speaks(objective),
        listener=task.listens(objective),
    )


def _speaker_alone(task, channel, feedback="index"):
    """The speaker learns, through the words, from a listener that does not."""
    task.listener.trainable = False
    samples = task.sample(channel, feedback)
    term = Pathwise(task.retrieval(learning=False), samples)
    return _game(task, speaker=task.speaks(task.objective(term)))


def _reinforce_alone(task, judged):
    """The speaker learns, by REINFORCE, beside the greedy caption."""
    samples = task.sample(Categorical(seed=task.study.seed))
    baseline = DecoderBaseline(judged, task.study.greedy)
    term = ScoreFunction(judged, samples, baseline, normalize="token")
    return _game(task, speaker=task.speaks(task.objective(term)))


def _listener_alone(task):
    """The listener learns from the captions of a frozen speaker."""
    task.speaker.trainable = False
    samples = task.sample(Categorical(seed=task.study.seed))
    learns = ListenerLoss(task.retrieval(), samples)
    return _game(task, listener=task.listens(learns))


def _game(task, **players):
    return Game(task.speaker, players), []
