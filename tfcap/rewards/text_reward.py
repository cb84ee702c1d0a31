"""Rewards that a Python function of strings gives."""

import functools
import inspect
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from keras import ops

from tfcap._ops import call_on_host
from tfcap._ops import check_shape
from tfcap._ops import words_only
from tfcap._ops.arguments import batch_entry
from tfcap.rewards.function_scores import ScoreMemory
from tfcap.rewards.function_scores import awaited
from tfcap.rewards.function_scores import checked_scores
from tfcap.rewards.reference_reward import human_captions
from tfcap.rewards.reward import Reward
from tfcap.text import as_vocabulary

FORMS = (
    "`reward(captions, references)` or `reward(captions)`, from a list of "
    "strings, and a list as long of lists of strings, to as many numbers; or "
    "`reward(completions, **columns)`, as TRL's, with entries of the batch by "
    "their names"
)


class TextReward(Reward):
    """A Python function of strings as a reward.

    For scores that no tensor can compute: a parser, a server, a metric in
    Java. The words leave the graph, and the function is called on the host
    with strings, in one of these forms, which its signature decides:

    ```
    reward(captions) -> scores
    reward(captions, references) -> scores
    reward(completions, **columns) -> scores
    ```

    `captions`, or `completions` as TRL has it, is a list of n strings,
    `references` a list of n lists of strings, `scores` are n numbers. With
    the first two forms, identical captions of one image are scored once;
    samples of one image are often the same, and late in training most are.
    With the third all samples are scored; it is given a list of n entries for
    each parameter that names an entry of the batch, and for all that have one
    of every row if it takes any (`**columns`); the references are strings.

    `None` in the place of a score abstains from a caption, as to TRL: the
    reward is then minus infinity, which estimators leave out, see
    `tfcap.rewards.Reward`. In a sum, the other rewards count. A score that is
    not finite is an error of the step, for `nonfinite` of the training model.

    The function may be `async`: it runs in an event loop of all rewards, and
    several in a sum wait together.

    Absent captions, such as those of rounds that a dialog lacks, are not
    scored and get 0.

    Args:
        function: Callable of one of the forms.
        vocabulary: `tfcap.text.Vocabulary`, a tokenizer that
            `tfcap.text.as_vocabulary()` reads, or another object with
            `decode(ids)` from a list of ids to a string; ids come without the
            end token, which is its `eos`, or the speaker's. Defaults to the
            attribute `vocabulary` of the speaker.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. Defaults to `"references"`.
        num_threads: Integer. The captions are shared out to that many calls
            of `function` at a time, which must bear it; never to more, not
            even by two replicas. Defaults to `1`: it is never called while it
            still runs.
        remember: Integer, number of scores kept from step to step, for
            functions that always answer alike. Defaults to `0`.
        name: String. Defaults to the name of the function.

    Raises:
        TypeError: If `function` has none of the forms.
        ValueError: While training, if `function` does not return a number or
            `None` for every caption, or no vocabulary is known.

    Example:

    >>> def brevity(captions):
    ...     return [-len(caption.split()) for caption in captions]
    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> reward = tfcap.rewards.TextReward(brevity, vocabulary)
    >>> tokens = np.array([[[4, 5, 2], [5, 2, 0], [5, 2, 0]]])
    >>> said = tfcap.decoding.Rollout(tokens, (tokens > 0).astype("float32"))
    >>> print(reward(said, None).numpy())
    [[-2. -1. -1.]]
    """

    abstains = True

    def __init__(
        self,
        function: Callable,
        vocabulary: Any = None,
        references: str = "references",
        num_threads: int = 1,
        remember: int = 0,
        name: str | None = None,
    ):
        for option, value, least in (
            ("num_threads", num_threads, 1),
            ("remember", remember, 0),
        ):
            if value < least:
                raise ValueError(
                    f"`{option}` must be at least {least}. Received: "
                    f"{option}={value}."
                )
        self.form, self.columns, self.needed = _form(function)
        if remember and self.form == "columns":
            raise ValueError(
                "`remember` must be 0 for a function of columns, whose score "
                f"may depend on any of them. Received: remember={remember}."
            )
        if vocabulary is not None:
            vocabulary = as_vocabulary(vocabulary)
        self.function = function
        calls = function, getattr(function, "__call__", None)  # noqa: B004
        self.waits = any(map(inspect.iscoroutinefunction, calls))
        self.vocabulary = vocabulary
        self.references = references
        self.num_threads = num_threads
        self.remember = remember
        self.name = name or function_name(function)
        self._lock = threading.Lock()
        self._memory = ScoreMemory(remember)

    def call(self, rollout, episode):
        score, arrays = self.host_call(rollout, episode)
        return call_on_host(score, arrays, rollout.tokens.shape[:2])

    def host_call(self, rollout, episode):
        """The function of arrays that scores on the host, and the arrays."""
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        columns = self._columns(episode)
        reader = self._reader(episode)
        score = functools.partial(self._score, reader, tuple(columns))
        words = words_only(rollout.tokens, rollout.mask)
        return score, (words, *columns.values())

    def _reader(self, episode):
        """The vocabulary, and the ids of end and padding."""
        speaker = getattr(episode, "speaker", None)
        vocabulary = self.vocabulary
        if vocabulary is None:
            vocabulary = getattr(speaker, "vocabulary", None)
        if vocabulary is None:
            raise ValueError(
                f"`vocabulary` must be known to the reward {self.name!r}, "
                "which reads strings. Received: None, and a speaker without "
                "the attribute `vocabulary`. Pass "
                "`tfcap.rewards.TextReward(function, vocabulary)`, or set "
                "`speaker.vocabulary`."
            )
        vocabulary = as_vocabulary(vocabulary)
        own = getattr(vocabulary, "eos", None)
        eos = getattr(speaker, "eos", own)
        return vocabulary, eos, getattr(speaker, "pad", 0)

    def _columns(self, episode):
        """Entries of the batch that the function takes, by name."""
        if self.form == "captions":
            return {}
        human = functools.partial(
            human_captions, episode, self.references, self.name
        )
        if self.form == "references":
            return {"references": ops.cast(human(), "int32")}
        inputs = episode.inputs if isinstance(episode.inputs, dict) else {}
        known = {**inputs}
        if self.references in inputs:
            known["references"] = ops.cast(human(), "int32")
        wanted = [*known] if self.columns is None else self.columns
        for name in self.needed:
            batch_entry(known, name, f"which the reward {self.name!r} takes")
        return {
            name: known[name]
            for name in wanted
            if name in known and hasattr(known[name], "shape")
        }

    def _score(self, reader, names, words, *arrays):
        """Scores captions on the host.

        Args:
            words: Integer array of shape `(B, S, T)`, below 0 for no word.

        Returns:
            Float32 array of shape `(B, S)`.
        """
        samples, length = words.shape[1:]
        rows = words.reshape(-1, length)
        columns = dict(zip(names, map(np.asarray, arrays)))
        columns = {
            name: _human(*reader, values)
            if name == "references"
            else list(values)
            for name, values in columns.items()
            if self._of_rows(name, values, len(words))
        }
        # By what a caption is known to be the same as another.
        keys = {}
        spoken = np.flatnonzero((rows >= 0).any(axis=-1))
        for row, caption in zip(
            spoken.tolist(), _decoded(*reader, rows[spoken])
        ):
            image = row // samples
            key = {
                "captions": (caption,),
                "references": (caption, image),
                "columns": (row,),
            }[self.form]
            keys.setdefault(key, (caption, image, []))[2].append(row)
        with self._lock:
            scores = self._known([key[:2] for key in keys.values()], columns)
        values = np.zeros(len(rows), "float32")
        for (_, _, same), score in zip(keys.values(), scores):
            values[same] = score
        return values.reshape(-1, samples)

    def _of_rows(self, name, values, rows):
        """Whether a column has an entry of every row; one asked for must."""
        fits = values.shape[:1] == (rows,)
        if not fits and (self.columns is not None or name in self.needed):
            raise ValueError(
                f"`{name}` must hold an entry for each of {rows} rows of "
                f"captions, for the reward {self.name!r}. Received: an array "
                f"of shape {values.shape}. Give every round of a dialog its "
                "own, or take the parameter out of the function."
            )
        return fits

    def _known(self, asked, columns):
        """Scores of captions with their images, remembered ones unasked."""
        if not self.remember:
            return self._shared(asked, columns)
        human = columns.get("references")
        pairs = [(x, human[image] if human else []) for x, image in asked]
        return self._memory.scores(
            pairs, lambda new: self._shared([asked[i] for i in new], columns)
        )

    def _shared(self, asked, columns):
        """Scores of captions with their images, by one call a thread."""
        parts = np.array_split(np.arange(len(asked)), self.num_threads)
        parts = [[asked[i] for i in part] for part in parts if len(part)]
        if len(parts) < 2:
            return [x for part in parts for x in self._call(part, columns)]
        with ThreadPoolExecutor(self.num_threads) as pool:
            scores = pool.map(lambda part: self._call(part, columns), parts)
            return [x for part in scores for x in part]

    def _call(self, asked, columns):
        captions = [caption for caption, _ in asked]
        columns = {
            name: [_python(values[image]) for _, image in asked]
            for name, values in columns.items()
        }
        if self.form == "columns":
            scores = self.function(completions=captions, **columns)
        else:
            scores = self.function(captions, *columns.values())
        if inspect.isawaitable(scores):
            scores = awaited(scores)
        return checked_scores(scores, captions, self.name)


def function_name(function: Callable) -> str:
    """Returns a name that a function can be logged by."""
    function = getattr(function, "func", function)
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() else "reward"


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """Returns the parameters of a callable; none where Python cannot tell."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _form(function):
    """The form of a function, and the columns that it takes and needs.

    It takes any where the second is `None`.
    """
    by_kind = {}
    for name, parameter in parameters_of(function).items():
        by_kind.setdefault(parameter.kind, {})[name] = parameter
    kinds = inspect.Parameter
    ordered = {
        **by_kind.get(kinds.POSITIONAL_ONLY, {}),
        **by_kind.get(kinds.POSITIONAL_OR_KEYWORD, {}),
    }
    named = {
        name: parameter
        for name, parameter in {
            **by_kind.get(kinds.POSITIONAL_OR_KEYWORD, {}),
            **by_kind.get(kinds.KEYWORD_ONLY, {}),
        }.items()
        if name != "completions"
    }
    empty = kinds.empty
    if "completions" in {**ordered, **by_kind.get(kinds.KEYWORD_ONLY, {})}:
        needed = [k for k, p in named.items() if p.default is empty]
        every = kinds.VAR_KEYWORD in by_kind
        return "columns", None if every else [*named], needed
    only_named = by_kind.get(kinds.KEYWORD_ONLY, {}).values()
    needed = [p for p in ordered.values() if p.default is empty]
    fits = all(p.default is not empty for p in only_named)
    if fits and ordered and len(needed) <= 2:
        two = len(needed) == 2 or [*ordered][1:2] == ["references"]
        return "references" if two else "captions", [], []
    raise TypeError(
        f"`reward` must be a `tfcap.rewards.Reward` or a function, {FORMS}. "
        f"Received: {function!r}."
    )


def _human(vocabulary, eos, pad, ids):
    """Sentences of each image, from ids of shape `(B, N, T)`.

    As `reference_mask()` has it, one ends at its first end token or padding,
    and a row that begins with padding is none.
    """
    stops = (ids == pad) | np.isin(ids, eos)
    words = (ids >= 0) & ~np.logical_or.accumulate(stops, axis=-1)
    there = (ids[..., 0] >= 0) & (ids[..., 0] != pad)
    read = iter(_sentences(vocabulary, ids[there], words[there]))
    return [[next(read) for _ in range(n)] for n in there.sum(axis=-1)]


def _decoded(vocabulary, eos, pad, ids):
    """Sentences of rows of ids, without padding, ends and ids below 0."""
    words = (ids >= 0) & (ids != pad) & ~np.isin(ids, eos)
    return _sentences(vocabulary, ids, words)


def _sentences(vocabulary, ids, words):
    return [
        vocabulary.decode(row[kept].tolist()) for row, kept in zip(ids, words)
    ]


def _python(value):
    """An entry of a column: strings and numbers as Python's."""
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value
