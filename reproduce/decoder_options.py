"""Options of a command that say how captions come."""

from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample
from tfcap.layers import Categorical

_OF_BEAMS = ("length_penalty", "groups", "diversity")
_OF_CHANCE = ("temperature", "top_k", "top_p", "seed")


def add_decoder_options(parser):
    """Adds the options that `decoders()` reads to an `ArgumentParser`."""
    group = parser.add_argument_group(
        "how captions come", "Without --beam and --random, greedily."
    )
    add = group.add_argument
    add("--max-length", type=int, default=16, help="words with the end token")
    add("--beam", type=int, metavar="W", help="width of a beam search")
    add(
        "--length-penalty",
        type=float,
        metavar="A",
        help="rank beams by log probability over length to the power of A: "
        "0 for the sum (default), 1 for the mean",
    )
    add(
        "--groups",
        type=int,
        metavar="G",
        help="search in G groups, which avoid what those before them say",
    )
    add(
        "--diversity",
        type=float,
        metavar="D",
        help="what that costs them, in nats (default 0.5)",
    )
    add("--random", action="store_true", help="draw words at random")
    add("--temperature", type=float, help="of words at random (default 1)")
    add("--top-k", type=int, metavar="K", help="draw from the K likeliest")
    add("--top-p", type=float, metavar="P", help="draw from the likeliest of P")
    add("--seed", type=int, help="of words at random (default 0)")
    add(
        "--no-repeat-ngram",
        type=int,
        default=0,
        metavar="N",
        help="say no N words twice in a caption, such as 3",
    )
    add(
        "--guidance",
        type=float,
        default=1.0,
        metavar="GAMMA",
        help="above 1, more of this image and less natural, by a speaker that "
        "was trained with condition_dropout (default 1, none)",
    )
    add("--say-unknown", action="store_true", help="allow the unknown word")
    add(
        "--several",
        type=int,
        metavar="S",
        help="besides, say S captions of every image, the best of --beam or "
        "else random ones, and tell how good and how different they are",
    )


def decoders(options, unknown: int):
    """Decoders of the captions that are asked for.

    Returns:
        Pair of `tfcap.decoding.Decoder`s, of the caption of every image, and
        of several captions of every image or `None`.

    Raises:
        ValueError: If options do not go together.
    """
    _check(options)
    shared = {
        "max_length": options.max_length,
        "suppress": () if options.say_unknown else (unknown,),
        "no_repeat_ngram": options.no_repeat_ngram,
        "guidance": options.guidance,
    }
    if options.beam is not None:
        shared |= {"width": options.beam, **_given(options, _OF_BEAMS)}
        several = options.several
        return BeamSearch(**shared), (
            BeamSearch(num_samples=several, **shared) if several else None
        )

    def random(number):
        chance = {"seed": 0, **_given(options, _OF_CHANCE)}
        likely = {k: chance.pop(k, None) for k in ("top_k", "top_p")}
        return Sample(Categorical(**chance), number, **likely, **shared)

    first = random(1) if options.random else Greedy(**shared)
    return first, random(options.several) if options.several else None


def _given(options, names):
    values = {name: getattr(options, name) for name in names}
    return {name: x for name, x in values.items() if x is not None}


def _check(options):
    """Refuses what would be of no effect, or of two minds."""
    beam, several = options.beam, options.several
    if beam is not None and options.random:
        raise ValueError(
            "`--beam` must come without --random. Received: both. A beam "
            "search leaves nothing to chance."
        )
    if beam is None:
        refuse(options, _OF_BEAMS, "come with --beam")
    if options.groups is None:
        refuse(options, ["diversity"], "come with --groups")
    if not options.random and (beam is not None or several is None):
        refuse(
            options,
            _OF_CHANCE,
            "come with --random, or --several without --beam",
        )
    if several is not None and several < 2:
        raise ValueError(
            f"`--several` must be at least 2. Received: --several {several}."
        )
    if None not in (several, beam) and several > beam:
        raise ValueError(
            "`--several` must not exceed --beam. Received: --several "
            f"{several} --beam {beam}. Search wider, or leave --beam out for "
            "random captions."
        )


def refuse(options, names, constraint: str):
    """Refuses options that are given without another one.

    Args:
        constraint: String, what they must come with.

    Raises:
        ValueError: If one is not None.
    """
    for name, value in _given(options, names).items():
        flag = f"--{name.replace('_', '-')}"
        raise ValueError(
            f"`{flag}` must {constraint}. Received: {flag} {value} and no "
            "such option. Add it, or leave this one out."
        )
