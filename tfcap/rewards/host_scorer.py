"""Rewards that a Python function gives."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from keras import ops

from tfcap.ops import call_on_host
from tfcap.ops import captions_of
from tfcap.ops import check_shape
from tfcap.ops import words_only
from tfcap.rewards.reference_reward import human_captions
from tfcap.rewards.reward import Reward
from tfcap.rewards.score_memory import ScoreMemory


class HostScorer(Reward):
    """Any Python function of captions as a reward.

    For what no tensor can compute: a parser, a server, a metric in Java. The
    words leave the graph and a function of strings is called on the host,
    once for all identical captions of a batch; samples of one image are often
    the same, and late in training most are.

    Args:
        function: Callable from a list of captions, strings, to as many
            numbers. With `references`, from two lists, captions and for each
            the list of the human captions of its image.
        vocabulary: Object with `decode(ids)` from a list of ids to a string,
            such as `tfcap.text.Vocabulary`. Ids end with the last word.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`, where `function` takes them. Identical
            captions of one image are then scored once. Defaults to `None`,
            captions alone.
        num_threads: Integer. The captions are shared out to that many calls
            of `function` at a time, which must bear it; never to more, not
            even by two replicas. Defaults to `1`: it is never called while it
            still runs.
        remember: Integer, number of scores kept from step to step: a caption
            that is said again of the same image, or with no `references` of
            any, is not scored again. For functions that always answer alike.
            Defaults to `0`.
        name: String. Defaults to `"host_scorer"`.

    Raises:
        ValueError: While training, if `function` does not return a finite
            number for every caption.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> reward = tfcap.rewards.HostScorer(
    ...     lambda captions: [len(caption) for caption in captions], vocabulary
    ... )
    >>> tokens = np.array([[[4, 5, 2], [5, 2, 0], [5, 2, 0]]])
    >>> said = tfcap.decoding.Rollout(tokens, (tokens > 0).astype("float32"))
    >>> print(reward(said, None).numpy())
    [[7. 3. 3.]]
    """

    def __init__(
        self,
        function,
        vocabulary,
        references=None,
        num_threads=1,
        remember=0,
        name="host_scorer",
    ):
        if not callable(function):
            raise TypeError(
                "`function` must be a callable from a list of strings to "
                f"numbers. Received: function={function!r}."
            )
        if num_threads < 1:
            raise ValueError(
                "`num_threads` must be at least 1. Received: "
                f"num_threads={num_threads}."
            )
        if remember < 0:
            raise ValueError(
                "`remember` must not be negative. Received: "
                f"remember={remember}."
            )
        self.function = function
        self.vocabulary = vocabulary
        self.references = references
        self.num_threads = num_threads
        self.remember = remember
        self.name = name
        self._lock = threading.Lock()
        self._memory = ScoreMemory(remember)

    def call(self, rollout, episode):
        check_shape(rollout.tokens, "B S T", "rollout.tokens")
        arguments = [words_only(rollout.tokens, rollout.mask)]
        if self.references is not None:
            human = human_captions(episode, self.references, self.name)
            arguments.append(ops.cast(human, "int32"))
        return call_on_host(
            self.score, tuple(arguments), rollout.tokens.shape[:2]
        )

    def score(self, words, references=None):
        """Scores captions on the host.

        Args:
            words: Integer array of shape `(B, S, T)`, below 0 for no word.
            references: Integer array of shape `(B, N, T)`, or `None`.

        Returns:
            Float32 array of shape `(B, S)`.
        """
        words = np.asarray(words)
        captions = captions_of(words, self.vocabulary)
        keys, human = captions, None
        if references is not None:
            human = [self._human(rows) for rows in np.asarray(references)]
            image = np.repeat(np.arange(len(human)), words.shape[1])
            keys = list(zip(captions, image.tolist()))
        distinct = list(dict.fromkeys(keys))
        with self._lock:
            found = dict(zip(distinct, self._found(distinct, human)))
        scores = np.array([found[key] for key in keys], np.float32)
        return scores.reshape(words.shape[:2])

    def _human(self, rows):
        return [
            self.vocabulary.decode(ids.tolist()) for ids in rows if ids.any()
        ]

    def _found(self, keys, human):
        """Scores of distinct captions, those that are known not asked for."""
        if not self.remember:
            return self._call(keys, human)
        pairs = [
            (k, []) if human is None else (k[0], human[k[1]]) for k in keys
        ]
        return self._memory.scores(
            pairs, lambda new: self._call([keys[i] for i in new], human)
        )

    def _call(self, keys, human):
        """Scores of distinct captions, by one call a thread."""
        parts = np.array_split(np.arange(len(keys)), self.num_threads)
        parts = [[keys[i] for i in part] for part in parts if len(part)]
        if self.num_threads == 1:
            return [x for part in parts for x in self._part(part, human)]
        with ThreadPoolExecutor(self.num_threads) as pool:
            scores = pool.map(lambda part: self._part(part, human), parts)
            return [x for part in scores for x in part]

    def _part(self, keys, human):
        if human is None:
            captions, scores = keys, self.function(list(keys))
        else:
            captions = [caption for caption, _ in keys]
            scores = self.function(captions, [human[i] for _, i in keys])
        scores = np.asarray(scores, np.float64)
        if scores.shape != (len(keys),) or not np.isfinite(scores).all():
            wrong = f"an array of shape {scores.shape}"
            if scores.shape == (len(keys),):
                worst = int(np.flatnonzero(~np.isfinite(scores))[0])
                wrong = f"{scores[worst]} for {captions[worst]!r}"
            raise ValueError(
                f"`function` of the reward {self.name!r} must return a finite "
                f"number for each of {len(keys)} captions. Received: {wrong}."
            )
        return scores.tolist()
