import argparse

import pytest

from reproduce.decoder_options import add_decoder_options
from reproduce.decoder_options import decoders
from tfcap.decoding import BeamSearch
from tfcap.decoding import Greedy
from tfcap.decoding import Sample


def chosen(*arguments):
    parser = argparse.ArgumentParser()
    add_decoder_options(parser)
    return decoders(parser.parse_args(arguments), unknown=3)


def test_without_options_captions_are_greedy():
    decoder, several = chosen()
    assert type(decoder) is Greedy and several is None
    assert decoder.max_length == 16 and decoder.logits_processors == (
        (3,),
        0,
    ) + (
        None,
        None,
    )


def test_all_captions_are_guided_alike():
    for decoder in chosen("--guidance", "2", "--beam", "4", "--several", "3"):
        assert decoder.guidance == 2.0


def test_beams_are_searched_as_told():
    decoder, several = chosen(
        *"--beam 6 --length-penalty 0.7 --groups 3 --diversity 0.2".split(),
        *"--max-length 9 --no-repeat-ngram 3 --say-unknown".split(),
    )
    assert type(decoder) is BeamSearch and several is None
    assert (decoder.width, decoder.groups, decoder.max_length) == (6, 3, 9)
    assert (decoder.length_penalty, decoder.diversity) == (0.7, 0.2)
    assert decoder.logits_processors == ((), 3, None, None)
    plain, again = BeamSearch(4), chosen("--beam=4")[0]
    for name in ("length_penalty", "groups", "diversity", "max_length"):
        assert getattr(plain, name) == getattr(again, name)


def test_words_are_drawn_as_told():
    decoder, several = chosen(
        *"--random --temperature 0.5 --top-k 20 --top-p 0.9 --seed 4".split()
    )
    assert type(decoder) is Sample and several is None
    assert decoder.num_samples == 1 and decoder.channel.temperature == 0.5
    assert decoder.channel.get_config()["seed"] == 4
    assert decoder.logits_processors == ((3,), 0, 20, 0.9)


def test_several_captions_are_random_unless_there_are_beams():
    decoder, several = chosen("--several=5", "--top-k=7")
    assert type(decoder) is Greedy and type(several) is Sample
    assert several.num_samples == 5 and several.logits_processors.top_k == 7
    assert several.channel.get_config()["seed"] == 0
    decoder, several = chosen("--several=5", "--random")
    assert (decoder.num_samples, several.num_samples) == (1, 5)
    decoder, several = chosen("--several=5", "--beam=8", "--groups=4")
    assert (decoder.width, decoder.num_samples) == (8, 8)
    assert (several.width, several.num_samples, several.groups) == (8, 5, 4)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ("--beam=5 --random", "`--beam` must come without --random"),
        ("--length-penalty=1", "`--length-penalty` must come with --beam"),
        ("--groups=2", "`--groups` must come with --beam"),
        ("--beam=4 --diversity=1", "`--diversity` must come with --groups"),
        ("--top-k=5", "`--top-k` must come with --random, or --several"),
        ("--seed=0 --beam=3", "`--seed` must come with --random"),
        ("--top-p=1 --beam=3 --several=3", "`--top-p` must come with --random"),
        ("--several=1", "`--several` must be at least 2"),
        ("--several=7 --beam=6", "`--several` must not exceed --beam"),
        ("--beam=0", "`width` must be a positive integer"),
        ("--beam=5 --groups=2", "`groups` must be a positive integer"),
        ("--random --top-p=1.5", "`top_p` must be in"),
        ("--random --temperature=0", "`temperature` must be positive"),
    ],
)
def test_what_does_not_go_together_is_refused(arguments, told):
    with pytest.raises(ValueError, match=told):
        chosen(*arguments.split())
