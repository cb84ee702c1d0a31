"""Distinctive captions on one data set, with one seed."""

import os

from reproduce.captioning.caption_data import check_prepared
from reproduce.captioning.reward_study import RewardStudy
from reproduce.distinctive.mining import mined_neighbors
from reproduce.distinctive.retriever_training import train_retriever
from reproduce.distinctive.rows import ROWS
from reproduce.distinctive.task import Task


class DistinctiveStudy(RewardStudy):
    """Trains retrievers, and a speaker to be found by one of them.

    Scores are those of the best captions of a beam search, as
    `tfcap.training.SpeakerReport.result()` names them; what the retriever
    that nobody trains for makes of them after `"unseen_"`. After `"greedy_"`,
    all of this for greedy captions.

    Args:
        *args: As `reproduce.captioning.RewardStudy`, with
            `DistinctiveSettings`.
        retriever: Object that embeds images and texts and stays as it is,
            such as what `tfcap.models.clip_retriever()` returns. Defaults to
            one that is trained now, on the same data.
        unseen: Another one, that no row is trained for. Defaults to one that
            is trained now.
        retriever_name: String, what tells these two from others. Must be
            given with them: the folder is refused for others.
        retriever_features: Dict of what the retrievers see of the images, by
            split, where that is not what the speaker sees, see
            `tfcap.data.CaptionBatches`. Defaults to `None`.
        **options: As `reproduce.captioning.RewardStudy`.
    """

    rows, pretrained, task = ROWS, ("tf",), Task
    measures = ("lm_log_prob", "greedy_lm_log_prob")

    def __init__(
        self,
        *args,
        retriever=None,
        unseen=None,
        retriever_name=None,
        retriever_features=None,
        **options,
    ):
        given = {"retriever": retriever, "unseen": unseen}
        if retriever_name is None and any(
            x is not None for x in given.values()
        ):
            raise ValueError(
                "`retriever_name` must be given with a retriever of your own. "
                "Received: retriever_name=None. What is kept in the folder is "
                "of that one alone: call it by what it is, such as "
                "'clip_vit_b_32'."
            )
        about = {"retriever": retriever_name} if retriever_name else None
        super().__init__(*args, about=about, **options)
        self.retriever_features = retriever_features or {}
        for name, network in given.items():
            check_prepared(network, self.data, name)
        self._retrievers = given

    @property
    def decodings(self):
        return {"greedy": self.greedy}

    def retriever(self, name="retriever"):
        """A retriever, trained now if it was not.

        Args:
            name: `"retriever"`, or `"unseen"`.
        """
        if self._retrievers[name] is None:
            # Two that begin alike might err alike.
            seed = 2 * self.seed + (name == "unseen")
            self._retrievers[name] = train_retriever(
                self.data,
                getattr(self.settings, name),
                os.path.join(self.directory, name),
                seed,
                self.verbose,
            )
        return self._retrievers[name]

    def batches(self, split="train", batch_size=None, **options):
        seen = self.retriever_features.get(split)
        options["retriever_features"] = seen
        return super().batches(split, batch_size, **options)

    def reward_batches(self):
        """`tfcap.data.CaptionBatches` with neighbors of every image."""
        settings = self.settings
        options = {"batch_size": settings.reward_batch_size}
        if settings.neighbors:
            options["neighbors"] = mined_neighbors(
                self.retriever(),
                self.batches(shuffle=False),
                os.path.join(self.directory, "neighbors.npz"),
                settings.neighbors,
            )
            options["kept_neighbors"] = settings.kept_neighbors
        return self.batches(**options)

    def _evaluator(self, speaker, split, **options):
        task = Task(self, speaker, self.settings)
        others = {"unseen": self.retriever("unseen")}
        return super()._evaluator(
            speaker,
            split,
            listener=task.retriever,
            other_listeners=others,
            **{"decoder": task.beam, **options},
        )
