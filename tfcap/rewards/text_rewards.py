"""Rewards by functions of strings, on the host."""

import asyncio
import functools
import hashlib
import inspect
import threading
import warnings
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np
from keras import ops

from tfcap import text
from tfcap._ops import call_on_host
from tfcap._ops import check_shape
from tfcap._ops import words_only
from tfcap._ops.sequences import batch_entry
from tfcap.rewards.references import BLEU
from tfcap.rewards.references import ROUGEL
from tfcap.rewards.references import CIDErD
from tfcap.rewards.references import human_captions
from tfcap.rewards.reward import ABSTAINED
from tfcap.rewards.reward import Reward
from tfcap.rewards.reward import WeightedSum
from tfcap.text.rewards.caption_reward import score_texts
from tfcap.text.scores.java import check_spice
from tfcap.text.scores.java import spice
from tfcap.text.scores.meteor_resources import meteor_resources
from tfcap.text.scores.scores import BCMR_BLEU_WEIGHTS
from tfcap.text.scores.scores import BCMR_WEIGHTS
from tfcap.text.scores.scores import SPIDER_WEIGHTS
from tfcap.text.scores.spice_spacy import load_parser

FORMS = (
    "`reward(captions, references)` or `reward(captions)`, from a list of n "
    "strings, and a list of n lists of strings, to n numbers; or "
    "`reward(completions, **columns)`, as in TRL, with entries of the batch by "
    "their names"
)


class TextReward(Reward):
    """A Python function of strings as a reward.

    It is for scores that tensors cannot compute, such as those of a parser or
    a server. The function is called on the host with strings, in one of these
    forms, by its signature:

    ```
    reward(captions) -> scores
    reward(captions, references) -> scores
    reward(completions, **columns) -> scores
    ```

    `captions`, or `completions` as in TRL, is a list of n strings,
    `references` a list of n lists of strings, `scores` are n numbers. With
    the first two forms, identical captions of one image, which are frequent
    late in training, are scored once. With the third, all samples are scored;
    it gets a list of n entries for each parameter that names an entry of the
    batch, or with `**columns` for all entries with a value for each row; the
    references are strings.

    A score of `None` abstains from a caption, as in TRL: the reward is then
    minus infinity, which estimators leave out, see `tfcap.rewards.Reward`. In
    a sum, the other rewards count. A score that is not finite ends the run.

    Calls never overlap, not even those of two replicas. The function may be
    `async`: it runs in an event loop of all rewards, concurrently with the
    others of a sum.

    Absent captions, such as those of missing rounds of a dialog, are not
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
        name: String. Defaults to the name of the function.

    Raises:
        TypeError: If `function` has none of the forms.
        ValueError: In training, if `function` does not return a number or
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
        name: str | None = None,
    ):
        self.form, self.columns, self.needed = _form(function)
        if vocabulary is not None:
            vocabulary = text.as_vocabulary(vocabulary)
        self.function = function
        calls = function, getattr(function, "__call__", None)  # noqa: B004
        self.waits = any(map(inspect.iscoroutinefunction, calls))
        self.vocabulary = vocabulary
        self.references = references
        self.name = name or function_name(function)
        self._lock = threading.Lock()

    def call(self, rollout, episode):
        score, arrays = self.host_call(rollout, episode)
        return call_on_host(score, arrays, rollout.tokens.shape[:2])

    def host_call(self, rollout, episode):
        """Returns the function of arrays that scores on the host, and them."""
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        columns = self._columns(episode)
        reader = self._reader(episode)
        score = functools.partial(self._score, reader, tuple(columns))
        words = words_only(rollout.tokens, rollout.mask)
        return score, (words, *columns.values())

    def _reader(self, episode):
        """Returns the vocabulary, and the ids of end and padding."""
        speaker = getattr(episode, "speaker", None)
        vocabulary = self.vocabulary
        if vocabulary is None:
            vocabulary = getattr(speaker, "vocabulary", None)
        if vocabulary is None:
            raise ValueError(
                f"`vocabulary` must be given for the reward {self.name!r}, "
                "which reads strings. Received: None, and a speaker without "
                "the attribute `vocabulary`. Pass "
                "`tfcap.rewards.TextReward(function, vocabulary)`, or set "
                "`speaker.vocabulary`."
            )
        vocabulary = text.as_vocabulary(vocabulary)
        own = getattr(vocabulary, "eos", None)
        eos = getattr(speaker, "eos", own)
        return vocabulary, eos, getattr(speaker, "pad", 0)

    def _columns(self, episode):
        """Returns the entries of the batch that the function takes, by name."""
        inputs = getattr(episode, "inputs", None)
        known = {**inputs} if isinstance(inputs, dict) else {}
        asked = self.columns is None or "references" in self.columns
        if self.form == "references" or (asked and self.references in known):
            human = human_captions(episode, self.references, self.name)
            known["references"] = ops.cast(human, "int32")
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
        asked = [key[:2] for key in keys.values()]
        with self._lock:
            scores = self._call(asked, columns) if asked else []
        values = np.zeros(len(rows), "float32")
        for (_, _, same), score in zip(keys.values(), scores):
            values[same] = score
        return values.reshape(-1, samples)

    def _of_rows(self, name, values, rows):
        """Returns whether a column has all rows; a named one must have them."""
        fits = values.shape[:1] == (rows,)
        if not fits and (self.columns is not None or name in self.needed):
            raise ValueError(
                f"`{name}` must hold an entry for each of {rows} rows of "
                f"captions, for the reward {self.name!r}. Received: an array "
                f"of shape {values.shape}. Add an entry for every round of a "
                "dialog, or remove the parameter from the function."
            )
        return fits

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
            scores = _awaited(scores)
        return _checked_scores(scores, captions, self.name)


def as_reward(
    reward: Reward | Callable | Sequence, vocabulary: Any = None
) -> Reward:
    """Converts a function, or a list of them, to a reward.

    Estimators and baselines call it on their rewards. A function with
    parameters `rollout` and `episode` scores tensors, as
    `tfcap.rewards.Reward.call()` does; any other one scores strings, see
    `tfcap.rewards.TextReward`.

    Args:
        reward: `tfcap.rewards.Reward` or function, or a list of these, which
            is their sum.
        vocabulary: As in `TextReward`. Defaults to `None`, the speaker's.

    Returns:
        `tfcap.rewards.Reward`.

    Raises:
        TypeError: If an entry is neither a reward nor such a function.

    Example:

    >>> def brevity(captions, references):
    ...     return [-len(caption.split()) for caption in captions]
    >>> from tfcap.rewards.text_rewards import as_reward
    >>> as_reward(brevity).name
    'brevity'
    """
    if isinstance(reward, Reward):
        return reward
    if isinstance(reward, list | tuple) and reward:
        return sum(as_reward(each, vocabulary) for each in reward)
    if isinstance(reward, type) or not callable(reward):
        raise TypeError(
            f"`reward` must be a `tfcap.rewards.Reward` or a function, {FORMS}."
            f" Received: reward={reward!r}."
        )
    if {"rollout", "episode"} <= parameters_of(reward).keys():
        return _TensorReward(reward)
    return TextReward(reward, vocabulary)


class _TensorReward(Reward):
    """A function of a rollout and its episode as a reward."""

    def __init__(self, function):
        self.function = function
        self.name = function_name(function)

    def call(self, rollout, episode):
        return self.function(rollout=rollout, episode=episode)


def function_name(function: Callable) -> str:
    """Returns a name for the logs of a function."""
    function = getattr(function, "func", function)
    name = getattr(function, "__name__", type(function).__name__)
    return name if name.isidentifier() else "reward"


def parameters_of(function: Any) -> dict[str, inspect.Parameter]:
    """Returns the parameters of a callable, none if Python does not know."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def _form(function):
    """Returns a function's form, and the columns that it takes and needs.

    The second is `None` if it takes any.
    """
    parameters = parameters_of(function)
    kind = inspect.Parameter
    several = kind.VAR_POSITIONAL, kind.VAR_KEYWORD
    needed = [
        name
        for name, parameter in parameters.items()
        if parameter.default is kind.empty and parameter.kind not in several
    ]
    if "completions" in parameters:
        by_name = kind.POSITIONAL_OR_KEYWORD, kind.KEYWORD_ONLY
        columns = [x for x, p in parameters.items() if p.kind in by_name]
        columns, needed = (
            [name for name in names if name != "completions"]
            for names in (columns, needed)
        )
        every = any(p.kind is kind.VAR_KEYWORD for p in parameters.values())
        return "columns", None if every else columns, needed
    by_place = kind.POSITIONAL_ONLY, kind.POSITIONAL_OR_KEYWORD
    ordered = [x for x, p in parameters.items() if p.kind in by_place]
    if ordered and len(needed) <= 2 and {*needed} <= {*ordered}:
        if len(needed) == 2 or ordered[1:2] == ["references"]:
            return "references", ["references"], []
        return "captions", [], []
    raise TypeError(
        f"`reward` must be a `tfcap.rewards.Reward` or a function, {FORMS}. "
        f"Received: {function!r}."
    )


def _human(vocabulary, eos, pad, ids):
    """Decodes sentences of each image from ids of shape `(B, N, T)`.

    As in `reference_mask()`, a sentence ends at its first end token or
    padding, and a row that begins with padding is absent.
    """
    stops = (ids == pad) | np.isin(ids, eos)
    words = (ids >= 0) & ~np.logical_or.accumulate(stops, axis=-1)
    there = (ids[..., 0] >= 0) & (ids[..., 0] != pad)
    read = iter(_sentences(vocabulary, ids[there], words[there]))
    return [[next(read) for _ in range(n)] for n in there.sum(axis=-1)]


def _decoded(vocabulary, eos, pad, ids):
    """Decodes rows of ids, without padding, ends and ids below 0."""
    words = (ids >= 0) & (ids != pad) & ~np.isin(ids, eos)
    return _sentences(vocabulary, ids, words)


def _sentences(vocabulary, ids, words):
    return [
        vocabulary.decode(row[kept].tolist()) for row, kept in zip(ids, words)
    ]


def _python(value):
    """Converts an entry of a column to Python strings and numbers."""
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if isinstance(value, np.generic) else value


def _checked_scores(scores: Any, captions: list[str], name: str) -> list[float]:
    """Returns a function's scores as floats, minus infinity for `None`.

    A score that is not finite is reported with its caption, and left to the
    training model, which ends the run or skips the step.

    Raises:
        ValueError: If they are not n numbers.
    """
    try:
        given = list(scores)
        known = np.array([score is not None for score in given], bool)
        values = np.array([0 if x is None else float(x) for x in given], float)
    except (TypeError, ValueError, OverflowError):
        values = np.zeros(())
    if values.shape != (len(captions),):
        raise ValueError(
            f"`function` of the reward {name!r} must return a number, or None "
            f"to abstain, for each of {len(captions)} captions. Received: "
            f"{scores!r:.200}."
        )
    for place in np.flatnonzero(~np.isfinite(values))[:1]:
        warnings.warn(
            f"The reward {name!r} is {values[place]} for {captions[place]!r}. "
            "Return None to abstain from a caption.",
            stacklevel=1,
        )
    values[values == ABSTAINED] = np.nan
    return np.where(known, values, ABSTAINED).tolist()


_LOOP_LOCK = threading.Lock()


def _awaited(scores):
    """Waits for scores, in an event loop of all rewards, in its own thread."""

    async def result():
        return await scores

    with _LOOP_LOCK:
        loop = _loop()
    return asyncio.run_coroutine_threadsafe(result(), loop).result()


@functools.cache
def _loop():
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    return loop


class _Remembered:
    """A score of words as a function of strings that keeps its last answers.

    Args:
        score: Callable, see `score_texts()`.
        size: Integer, number of answers after which all are forgotten, 30 MB
            for 100,000.
    """

    def __init__(self, score, size=100_000):
        self.score = score
        self.size = size
        self._known = {}

    def __call__(self, captions, references):
        # What is kept of a long text must be short.
        keys = [
            hashlib.blake2b(repr(pair).encode(), digest_size=16).digest()
            for pair in zip(captions, references)
        ]
        if len(self._known) > self.size:
            self._known.clear()
        new = [i for i, key in enumerate(keys) if key not in self._known]
        if new:
            pairs = [captions[i] for i in new], [references[i] for i in new]
            found = score_texts(self.score, *pairs)
            self._known |= {keys[i]: score for i, score in zip(new, found)}
        return [self._known[key] for key in keys]


class METEOR(TextReward):
    """METEOR: matches by word, stem and synonym.

    The score of `tfcap.text.meteor`, whose tables are read where the reward
    is made. The words leave the graph; identical captions of one image are
    scored once, and some 100,000 remembered.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        name: String. Defaults to `"meteor"`.

    Raises:
        tfcap.text.MissingScoreError: If its tables are missing, with what to
            do about it.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.METEOR(vocabulary)
    ...     assert reward.name == "meteor"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Denkowski and Lavie, Meteor Universal, WMT 2014; version 1.5, in
      `[0, 1]`, as in the COCO caption evaluation
    """

    def __init__(self, vocabulary, references="references", name="meteor"):
        meteor_resources()
        super().__init__(_Remembered(text.meteor), vocabulary, references, name)


class SPICE(TextReward):
    """SPICE: F-score of scene graphs.

    The score of pycocoevalcap, a program for Java with models of its own:
    where one is missing the reward is rejected where it is made. The program is
    run once a step, and each time reads its models, which alone takes seconds;
    references are parsed once, where it has a cache. Identical captions of one
    image are scored once.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        name: String. Defaults to `"spice"`.

    Raises:
        tfcap.text.MissingScoreError: If Java, the program or its models are
            missing, with what to do about it; while training, if the program
            fails.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.SPICE(vocabulary)
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "SPICE is absent" in str(error)

    Reference:

    - Anderson et al., SPICE, ECCV 2016; version 1.0, in `[0, 1]`
    """

    def __init__(self, vocabulary, references="references", name="spice"):
        check_spice()
        super().__init__(_Remembered(spice), vocabulary, references, name)


class SPICESpaCy(TextReward):
    """SPICE (spaCy): F-score of scene graphs of our own parser.

    The score of `tfcap.text.spice_spacy`, whose parser and synonyms are
    loaded where the reward is made. The words leave the graph; a distinct
    caption is parsed once, some 2 ms, and identical captions of one image are
    scored once, and some 100,000 remembered.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        model: String, optional, see `tfcap.text.SceneGraphParser`.
        name: String. Defaults to `"spice_spacy"`.

    Raises:
        tfcap.text.MissingScoreError: If spaCy, its model or the synonyms are
            missing, with what to do.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     reward = tfcap.rewards.SPICESpaCy(vocabulary)
    ...     assert reward.name == "spice_spacy"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "Install it" in str(error)

    Reference:

    - Anderson et al., SPICE, ECCV 2016, section 3, on another parser, in
      `[0, 1]`
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        model=None,
        name="spice_spacy",
    ):
        load_parser(model)  # raises here what the first step would
        score = functools.partial(text.spice_spacy, model=model)
        super().__init__(_Remembered(score), vocabulary, references, name)


class BCMR(WeightedSum):
    """A weighted sum of BLEU, CIDEr-D, METEOR and ROUGE-L.

    ```
    reward = 0.5 * BLEU-1 + 0.5 * BLEU-2 + BLEU-3 + BLEU-4
             + CIDEr-D + 5 * METEOR + 2 * ROUGE-L
    ```

    The score of `bcmr()`. A speaker trained for one of its parts exploits what
    that part ignores; the sum leaves less to exploit.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus. They determine whether the end token counts, for all parts
            except METEOR, which never counts it.
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        name: String. Defaults to `"bcmr"`.

    Raises:
        tfcap.text.MissingScoreError: If METEOR cannot be had: no other
            score takes its place.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> table = tfcap.text.DocumentFrequencies.from_references(
    ...     corpus, vocabulary
    ... )
    >>> try:
    ...     reward = tfcap.rewards.BCMR(table, vocabulary)
    ...     assert reward.name == "bcmr"
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "tfcap[coco]" in str(error)

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017, who call the sum BCMR
    """

    def __init__(
        self,
        document_frequencies,
        vocabulary,
        references="references",
        name="bcmr",
    ):
        document_frequencies.check_vocabulary(vocabulary)
        shared = {"references": references, "vocabulary": vocabulary}
        eos = {"count_eos": document_frequencies.count_eos}
        parts = (
            BLEU(order_weights=BCMR_BLEU_WEIGHTS, **eos, **shared),
            CIDErD(document_frequencies, **shared),
            METEOR(**shared),
            ROUGEL(**eos, **shared),
        )
        super().__init__(zip((1.0, *BCMR_WEIGHTS.values()), parts), name)


class SPIDEr(WeightedSum):
    """The sum of CIDEr-D and SPICE.

    CIDEr-D rewards fluency, SPICE the content of a caption. The sum is twice
    the score of `spider()`, which is reported as a mean.

    Args:
        document_frequencies: `tfcap.text.DocumentFrequencies` of the training
            corpus. They determine whether the end token counts, except for
            SPICE, which never counts it.
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch. Defaults
            to `"references"`.
        name: String. Defaults to `"spider"`.
        spice: Reward in the place of SPICE, such as
            `tfcap.rewards.SPICESpaCy`: report the sum under another name, such
            as "SPIDEr (spaCy)". Defaults to `tfcap.rewards.SPICE`.

    Raises:
        tfcap.text.MissingScoreError: If SPICE cannot be had: no other score
            takes its place.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["two", "dogs", "play", "cats"])
    >>> corpus = [[["two", "dogs", "play"]], [["two", "cats"]]]
    >>> table = tfcap.text.DocumentFrequencies.from_references(
    ...     corpus, vocabulary
    ... )
    >>> try:
    ...     reward = tfcap.rewards.SPIDEr(table, vocabulary)
    ... except tfcap.text.MissingScoreError as error:
    ...     assert "SPICE is absent" in str(error)

    Reference:

    - Liu et al., Improved Image Captioning via Policy Gradient Optimization
      of SPIDEr, ICCV 2017
    """

    def __init__(
        self,
        document_frequencies,
        vocabulary,
        references="references",
        name="spider",
        spice=None,
    ):
        document_frequencies.check_vocabulary(vocabulary)
        shared = {"references": references, "vocabulary": vocabulary}
        cider = CIDErD(document_frequencies, **shared)
        parts = cider, spice or SPICE(**shared)
        super().__init__(zip(SPIDER_WEIGHTS.values(), parts), name)
