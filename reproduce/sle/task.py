"""What a row is given."""

from typing import Any
from typing import NamedTuple

from tfcap.decoding import Sample
from tfcap.layers import Categorical
from tfcap.rewards import CIDErD


class Task(NamedTuple):
    """What a row has to work with.

    Args:
        study: `SequenceLevelStudy`.
        speaker: `tfcap.decoding.Speaker`, trained by maximum likelihood.
        settings: `SequenceLevelSettings`, those of this point.
    """

    study: Any
    speaker: Any
    settings: Any

    def cider(self):
        """CIDEr-D, with document frequencies of the training split."""
        return CIDErD(self.study.data.train.document_frequencies())

    def sample(self, num_samples, **options):
        """Captions that are drawn from the speaker."""
        return Sample(
            Categorical(seed=self.study.seed),
            num_samples,
            max_length=self.settings.max_length,
            suppress=self.study.unsaid,
            **options,
        )
