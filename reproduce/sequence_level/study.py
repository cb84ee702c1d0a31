"""Sequence-level learning on one data set, with one seed."""

import os

from reproduce.captioning.reward_study import RewardStudy
from reproduce.sequence_level.exploration import EXPLORATION
from reproduce.sequence_level.policy_gradient import POLICY_GRADIENT
from reproduce.sequence_level.task import Task
from reproduce.study import read_written
from reproduce.study import write_json
from tfcap.decoding import BeamSearch
from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.text import evaluate_captions
from tfcap.text.evaluation import caption_language
from tfcap.training import Evaluator
from tfcap.training import Game
from tfcap.training.evaluator import NATURALNESS

#: Every row that is trained for a reward, by its name in records.
ROWS = {**EXPLORATION, **POLICY_GRADIENT}


class SequenceLevelStudy(RewardStudy):
    """Trains a speaker for metrics, and for diversity.

    Scores are those of the greedy captions, as
    `tfcap.training.SpeakerReport.result()` names them; after `"beam_"`, of the
    best captions of a beam search; after `"rs_"` and `"bs_"`, of several
    captions of an image, drawn and found by beam search, as
    `tfcap.training.DiversityReport` names them. The several captions are kept
    in `several.json`.

    Args:
        *args, **options: As `reproduce.captioning.RewardStudy`, with
            `SequenceLevelSettings`.
    """

    rows, pretrained, task = ROWS, ("xe", "mle"), Task
    measures = ("lm_log_prob", "beam_lm_log_prob")

    def _prepared(self, row, plan, point):
        if plan.fit_first:
            network = plan.partners["baseline"].network
            network.set_weights(self._fitted_baseline(row, point))
        return plan.partners

    def _fitted_baseline(self, row, point):
        """Weights of the baseline, fitted while the speaker stays."""
        name = os.path.join("baselines", row)

        def fit():
            self.say(f"{name}: what the speaker is worth as it is")
            # Another plan than that of the speaker: a run that finds the
            # baseline on disk draws the same samples as one that fits it.
            task, plan = self.plan(row, **point)
            partner = plan.partners["baseline"]
            player = self.player(partner.network, partner.objective)
            game = Game(task.speaker, {"baseline": player})
            game.compile(self.optimizer(partner.rate))
            return self.fit(
                name,
                game,
                self.reward_batches(),
                self.settings.baseline_epochs,
                baseline=partner.network,
            )

        return self.once(name, fit)["baseline"].get_weights()

    def _evaluate(self, name, speaker):
        found = super()._evaluate(name, speaker)
        settings, several = self.settings, {}
        decoders = {
            "rs": Sample(
                Categorical(seed=self.seed),
                settings.diversity_samples,
                settings.max_length,
                suppress=self.unsaid,
            ),
            "bs": BeamSearch(
                settings.beam_width, settings.max_length, suppress=self.unsaid
            ),
        }
        batches = self.batches(self.split, shuffle=False)
        size = settings.evaluation_batch_size
        evaluate = Evaluator(speaker, batches, batch_size=size)
        for key, decoder in decoders.items():
            told = evaluate.diversity(decoder)
            found |= {f"{key}_{k}": v for k, v in told.scores.items()}
            several[key] = told.captions
        write_json(self.path(name, "several.json"), several)
        return found | self._beam_scores(name, batches.captions, NATURALNESS)

    def _more(self, name, report, metrics):
        captions = getattr(self.data, self.split)
        beam = self._beam_scores(name, captions, metrics)
        return report.result() | beam

    def _beam_scores(self, name, captions, metrics):
        """Scores of the best captions of the beams."""
        beams = read_written(self.path(name, "several.json"))["bs"]
        best = [said[0] for said in beams]
        found = caption_language(best, self.training_captions)
        if metrics:
            found |= evaluate_captions(best, captions.texts, metrics).scores
        return {
            f"beam_{k}": float(getattr(score, "corpus", score))
            for k, score in found.items()
        }
