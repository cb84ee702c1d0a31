"""What a row is given: judges, decoders and rewards."""

from reproduce.captioning.judges import pretrained_discriminator
from reproduce.captioning.judges import pretrained_grammar
from reproduce.captioning.plan import Partner
from reproduce.captioning.plan import Plan
from reproduce.captioning.rewarded import reward_speaker
from reproduce.wtf_rl.retrievers import retriever
from tfcap.decoding import GroundTruth
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.objectives import DiscriminatorLoss
from tfcap.rewards import BidirectionalContrastive
from tfcap.rewards import CLIPScore
from tfcap.rewards import Constant
from tfcap.rewards import Grammar
from tfcap.rewards import MatchProbability


class Task:
    """What a row has to work with, each part made once.

    Args:
        study: `DistinctiveStudy`.
        speaker: `tfcap.decoding.Speaker`, trained by maximum likelihood.
        settings: `DistinctiveSettings`, those of this point.
    """

    def __init__(self, study, speaker, settings):
        self.study = study
        self.settings = settings
        self.speaker = speaker
        self.retriever = retriever(study)
        # Terms that are given one object share what it says.
        self.human = GroundTruth()
        self.greedy = study.greedy
        self.beam = study.decodings[""]
        self.sample = Sample(
            Categorical(seed=study.seed),
            max_length=settings.max_length,
            suppress=study.unsaid,
        )

    def discriminator(self):
        """Who tells people from beam search, as it is before this row."""
        settings = self.settings
        return pretrained_discriminator(
            self.study,
            reward_speaker(self.study),
            self.retriever,
            self.beam,
            settings.discriminator_epochs,
            settings.discriminator_rate,
            settings.discriminator_units,
        )

    def contrast(self, **options):
        """Whether a caption stands out: the reward of section 3.4."""
        settings = self.settings
        return BidirectionalContrastive(
            self.retriever,
            texts=(self.beam, self.greedy, self.human),
            neighbors="neighbor_image" if settings.neighbors else None,
            same="row" if settings.neighbors else None,
            neighbor_same="neighbor_row" if settings.neighbors else None,
            temperature=settings.temperature,
            combine=settings.combine,
            # Equation 3: a caption, searched or human, has its own reward.
            credit="own",
            **options,
        )

    def similarity(self):
        """Cosine of a caption and its image, 0 where it is negative."""
        return CLIPScore(self.retriever, weight=1.0)

    def judged(self, similarity, discriminator):
        """The reward of equation 1, with a discriminator."""
        human = MatchProbability(discriminator, self.retriever)
        alpha, shift = self.settings.alpha, self.settings.reward_shift
        reward = alpha * similarity + (1.0 - alpha) * human
        return reward + shift * Constant() if shift else reward

    def grammatical(self):
        """The reward of the grammar baseline."""
        settings = self.settings
        classifier = pretrained_grammar(
            self.study,
            settings.grammar_epochs,
            settings.grammar_rate,
            settings.grammar_units,
            settings.grammar_units,
        )
        # CLIPScore as its authors scale it, 2.5 times the cosine.
        score = CLIPScore(self.retriever)
        return settings.grammar_similarity * score + Grammar(classifier)

    def beside(self, objective, discriminator):
        """The speaker, and the discriminator that goes with the times."""
        judging = DiscriminatorLoss(
            discriminator,
            self.beam,
            mismatched=0.0,
            retriever=self.retriever,
        )
        rate = self.settings.discriminator_rate
        partner = Partner(discriminator, judging, rate)
        return Plan(objective, {"discriminator": partner})
