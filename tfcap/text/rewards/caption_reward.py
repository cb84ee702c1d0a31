"""A caption score as a reward function of TRL."""

import functools
from collections.abc import Callable
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tfcap._io.file_limits import limit
from tfcap._printed import printed
from tfcap.text.caption_tokenization import caption_tokenize
from tfcap.text.worker_processes import called
from tfcap.text.worker_processes import process_pool

_SEVERAL = (list, tuple, np.ndarray)


class CaptionReward:
    """A score of captions as a reward function with TRL's signature.

    ```
    reward(completions, **columns) -> list of floats
    ```

    `completions` are strings or conversations (lists of messages, of which the
    last one of the assistant counts). `columns` are the other columns of the
    data set, one of which holds the references: for each completion, a list of
    strings or one string. Identical completions of one prompt are scored once.
    A completion without references gets None, which TRL and ms-swift leave out;
    one without words, or with more than `TFCAP_MAX_WORDS` words, gets 0.

    It can be pickled, so that a trainer may send it to other processes.

    Args:
        score: Callable from a list of tokenized captions and a list, as long,
            of lists of tokenized captions to `Scores`, such as
            `tfcap.text.rouge_l`.
        name: String, the name in logs of trainers.
        references: String, the column of the references. Defaults to
            `"references"`.
        extract: Callable, optional, from the text of a completion to its
            caption, for instance the text after `"</think>"`.
        num_workers: Integer, number of processes for slow scores (METEOR);
            `score` must then be a function of a module, or a partial of one.
            Defaults to `0`: the process of the caller.

    Attributes:
        __name__: String, `name`.

    Raises:
        ValueError: When called, if the column of the references is missing or
            not as long as `completions`.
        TypeError: When called, if completions or references are not text.

    Example:

    >>> reward = tfcap.text.rewards.CaptionReward(tfcap.text.rouge_l, "rouge")
    >>> said = [{"role": "assistant", "content": "A red bus."}]
    >>> reward(["A cat.", said], references=[["a cat"], ["the red bus"]])
    [1.0, 0.6666666666666666]

    Reference:

    - TRL's GRPOTrainer, https://huggingface.co/docs/trl/grpo_trainer, section
      Using a custom reward function
    """

    __repr__ = printed

    def __init__(
        self,
        score: Callable,
        name: str,
        references: str = "references",
        extract: Callable | None = None,
        num_workers: int = 0,
    ):
        self.score = score
        self.references = references
        self.extract = extract
        self.num_workers = num_workers
        self.__name__ = name
        self._pool = None

    def __call__(self, completions: list, **columns: Any) -> list:
        """Scores completions.

        Args:
            completions: List of n strings or conversations.
            **columns: For each column, a list of n entries; other arguments
                of a trainer are ignored.

        Returns:
            List of n floats, None for a completion without references.
        """
        several = columns.get(self.references)
        if several is None or len(several) != len(completions):
            entries = "none" if several is None else f"{len(several)} entries"
            raise ValueError(
                f"`{self.references}` must be a column of the data set, with "
                f"an entry for each of {len(completions)} completions. "
                f"Received: {entries}, and the columns {sorted(columns)}. Name "
                'the column of the references: references="...".'
            )
        rows = [
            (self._caption(completion), _references(texts, self.references))
            for completion, texts in zip(completions, several)
        ]
        asked = [row for row in dict.fromkeys(rows) if row[1]]
        known = dict(zip(asked, self._scores(asked))) if asked else {}
        return [known.get(row) for row in rows]

    def _caption(self, completion):
        text = _text(completion)
        return text if self.extract is None else self.extract(text)

    def _scores(self, rows):
        captions, references = map(list, zip(*rows))
        if not self.num_workers:
            return score_texts(self.score, captions, references).tolist()
        size = -(-len(rows) // self.num_workers)
        starts = range(0, len(rows), size)
        parts = [
            [texts[i : i + size] for i in starts]
            for texts in (captions, references)
        ]
        if self._pool is None:
            function = functools.partial(score_texts, self.score)
            self._pool = process_pool(function, self.num_workers)
        return np.concatenate([*self._pool.map(called, *parts)]).tolist()

    def __getstate__(self):
        return {**vars(self), "_pool": None}


def _text(completion):
    """The text of a completion, which may be a conversation."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, _SEVERAL) and all(
        isinstance(message, dict) for message in completion
    ):
        said = [x for x in completion if x.get("role") in (None, "assistant")]
        return _content(said[-1].get("content")) if len(said) else ""
    raise TypeError(
        "`completions` must be strings, or lists of messages with `role` and "
        f"`content`. Received: {completion!r:.80} among them."
    )


def _content(content):
    """The text of a message, whose content may be a list of parts."""
    if isinstance(content, str):
        return content
    parts = [] if content is None else content
    return " ".join(x["text"] for x in parts if x.get("text"))


def _references(texts, column):
    """References of a completion as a tuple; empty if there are none."""
    if texts is None:
        return ()
    found = (texts,) if isinstance(texts, str) else texts
    if isinstance(found, _SEVERAL) and all(
        isinstance(text, str) for text in found
    ):
        return tuple(found)
    raise TypeError(
        f"`{column}` must hold a list of strings, or one string, for each "
        f"completion. Received: {texts!r:.80} among them."
    )


def score_texts(
    score: Callable, captions: Sequence[str], references: Sequence
) -> NDArray:
    """Scores captions against their references.

    Captions and references are split as in `tfcap.text.evaluate_captions()`. A
    caption without words or references, or with more than `TFCAP_MAX_WORDS`
    words, gets 0 without being scored.

    Args:
        score: Callable from a list of tokenized captions and a list, as long,
            of lists of tokenized captions to `Scores`.
        captions: List of n strings.
        references: List of n sequences of strings.

    Returns:
        Float64 array of shape `(n,)`.

    Example:

    >>> from tfcap.text.rewards.caption_reward import score_texts
    >>> score_texts(tfcap.text.rouge_l, ["A cat.", ""], [["a cat"], ["a dog"]])
    array([1., 0.])
    """
    words = {
        text: caption_tokenize(text) for text in {*captions}.union(*references)
    }
    # Captions of one image share a list of references.
    several = {tuple(texts): [] for texts in references}
    for texts, split in several.items():
        split += [words[text] for text in texts]
    most, each = limit("TFCAP_MAX_WORDS"), np.zeros(len(captions))
    rows = [
        i
        for i, caption in enumerate(captions)
        if 0 < len(words[caption]) <= most and len(references[i])
    ]
    if rows:
        each[rows] = score(
            [words[captions[i]] for i in rows],
            [several[tuple(references[i])] for i in rows],
        ).each
    return each
