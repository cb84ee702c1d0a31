"""A log, read through TensorBoard's data provider."""

import functools
import hashlib
import time
from dataclasses import dataclass
from dataclasses import field

from tensorboard.data.provider import RunTagFilter

from tensorboard_plugin_tfcap.event_files import EventFiles
from tensorboard_plugin_tfcap.memo import SeriesMemo
from tensorboard_plugin_tfcap.metadata import PLUGIN_NAME

#: Records to read of a run: a sample, and all of them.
ALL, WHOLE = 1000, 10**7
#: Records of a tag that TensorBoard keeps of scalars unless told otherwise.
_KEPT = 1000
#: Attempts to read, and seconds in between.
_TIMES, _PAUSE = 20, 0.05


@dataclass(frozen=True)
class Log:
    """One experiment, as one request sees it.

    Args:
        kept: Dict of numbers of records of a tag that TensorBoard keeps, by
            plugin; 0 is all. Defaults to none: its own defaults.
        memo: `SeriesMemo`, what earlier requests have read. Defaults to an
            empty one.
        files: `EventFiles`, which tells which of them are damaged. Defaults
            to a check of all.
    """

    provider: object
    context: object
    experiment: str
    kept: dict = field(default_factory=dict)
    memo: SeriesMemo = field(default_factory=SeriesMemo)
    files: EventFiles = field(default_factory=EventFiles)

    def is_sampled(self, count: int, plugin: str = PLUGIN_NAME) -> bool:
        """Check whether so many records may be a sample of what was logged."""
        return 0 < self.kept.get(plugin, _KEPT) <= count

    def results(self, kind, revisions, make):
        """`SeriesMemo.results()` of this experiment."""
        return self.memo.results((self.experiment, *kind), revisions, make)

    def revision(self, *listings) -> str:
        """A text that changes with any time series, or if a file is damaged."""
        digest = hashlib.sha256(repr(self.damage).encode())
        for listing in listings:
            for run in sorted(listing):
                about = (run, run_revision(listing[run]))
                digest.update(repr(about).encode())
            digest.update(b"|")
        return digest.hexdigest()[:16]

    def location(self) -> str:
        """The log directory, or where else TensorBoard reads from."""
        metadata = self.provider.experiment_metadata(
            self.context, experiment_id=self.experiment
        )
        return metadata.data_location

    @functools.cached_property
    def damage(self) -> list[str]:
        """Sentences about damaged event files."""
        return self.files.damage(self.location())

    def tensors(self, plugin=PLUGIN_NAME):
        """Dict of dicts of time series by tag, by run."""
        return self._asked("list_tensors", plugin)

    def blobs(self):
        """The same of blob sequences."""
        return self._asked("list_blob_sequences")

    def scalars(self):
        """The same of scalars, whoever wrote them."""
        return self._asked("list_scalars", "scalars")

    def read_tensors(self, downsample, runs=None, tags=None):
        """Records of the plugin, the last one always among them."""
        return self._asked(
            "read_tensors",
            downsample=downsample,
            run_tag_filter=RunTagFilter(runs=runs, tags=tags),
        )

    def read_blobs(self, run, tag):
        """Blob sequences of one run, a list of data."""
        sequences = self._asked(
            "read_blob_sequences",
            downsample=ALL,
            run_tag_filter=RunTagFilter(runs=[run], tags=[tag]),
        )
        return sequences.get(run, {}).get(tag, [])

    def read_blob(self, key):
        """The bytes of one blob."""
        return self.provider.read_blob(self.context, blob_key=key)

    def read_scalars(self, downsample, runs=None, tags=None):
        """Scalars by tag, by run."""
        return self._asked(
            "read_scalars",
            "scalars",
            downsample=downsample,
            run_tag_filter=RunTagFilter(runs=runs, tags=tags),
        )

    def _asked(self, name, plugin=PLUGIN_NAME, **options):
        """Asks the provider, again while a tag is half read.

        TensorBoard's slower loader lists a tag a moment before it has a record
        of it, and fails in between.
        """
        ask = getattr(self.provider, name)
        options |= {"experiment_id": self.experiment, "plugin_name": plugin}
        for _ in range(_TIMES - 1):
            try:
                return ask(self.context, **options)
            except KeyError:
                time.sleep(_PAUSE)
        return ask(self.context, **options)


def run_revision(tags) -> list:
    """Revision of a run: it changes when any of its time series does."""
    return [
        (tag, series.max_step, series.max_wall_time)
        for tag, series in sorted(tags.items())
    ]
