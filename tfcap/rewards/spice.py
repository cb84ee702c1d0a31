"""SPICE of what is said, from its authors' program."""

import functools

from tfcap import text
from tfcap.rewards.text_reward import TextReward
from tfcap.rewards.text_score import text_score
from tfcap.text.java.spice import spice_command


class SPICE(TextReward):
    """SPICE: what a caption and its references say of things, parsed.

    The score of `tfcap.text.spice()`, which is a program for Java with models
    of its own: where one is missing the reward is refused where it is made.
    The program is run once a step, and each time reads its models, which alone
    takes seconds; references are parsed once, where it has a cache. The words
    leave the graph; identical captions of one image are scored once.

    Captions are read as text and split as an evaluation splits them, so the
    end token never counts. References are those of the batch, in which a word
    that the vocabulary lacks is the unknown word.

    Args:
        vocabulary: `tfcap.text.Vocabulary` of captions and references.
        references: String, the key of the references in the batch, integers
            of shape `(B, N, T)`. An image without any gives 0. Defaults to
            `"references"`.
        home, cache, java, heap: See `tfcap.text.spice()`.
        timeout: Float, seconds that a step may take. Defaults to `600`.
        remember: Integer, number of scores kept for captions that are said
            again of their image. Defaults to `100000`, 30 MB.
        name: String. Defaults to `"spice"`.

    Raises:
        tfcap.text.JavaError: If Java, the program or its models are missing,
            with what to do about it; while training, if the program dies or
            hangs.

    Example:

    >>> vocabulary = tfcap.text.Vocabulary(["red", "bus"])
    >>> try:
    ...     tfcap.rewards.SPICE(vocabulary, java="/no/java")
    ... except tfcap.text.JavaError as error:
    ...     print(error)
    SPICE is absent: there is no Java at '/no/java'. Install a Java ...

    Reference:

    - Anderson et al., SPICE, ECCV 2016; version 1.0, in `[0, 1]`
    """

    def __init__(
        self,
        vocabulary,
        references="references",
        home=None,
        cache="auto",
        java=None,
        heap="8G",
        timeout=600.0,
        remember=100_000,
        name="spice",
    ):
        options = {"home": home, "cache": cache, "java": java, "heap": heap}
        # Raises here what the first step would.
        spice_command("captions.json", "scores.json", **options)
        score = functools.partial(text.spice, timeout=timeout, **options)
        function = text_score(score)
        super().__init__(
            function, vocabulary, references, remember=remember, name=name
        )
