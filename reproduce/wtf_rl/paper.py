"""Distinctive captions under a fixed retriever: training of rows."""

from reproduce.captioning.ensemble import retrievers
from reproduce.captioning.judges import pretrained_discriminator
from reproduce.captioning.judges import pretrained_grammar
from reproduce.captioning.phases import SPEAKER_PHASES
from reproduce.captioning.rewarded import reward_speaker
from reproduce.captioning.rewarded import reward_training
from reproduce.paper import Paper
from reproduce.paper import build
from reproduce.wtf_rl.retrievers import neighbors
from reproduce.wtf_rl.retrievers import retriever
from reproduce.wtf_rl.settings import ROWS
from reproduce.wtf_rl.settings import SETTINGS
from reproduce.wtf_rl.tables import distinctive_tables
from tfcap.decoding import BeamSearch
from tfcap.methods import wtf_rl
from tfcap.rewards import CLIPScore
from tfcap.rewards import Grammar

#: Rows that weigh similarity against a discriminator.
_WEIGHED = tuple(row for row in ROWS if row != "scst_grammar")


def train(experiment, row, point):
    """The training of a row for a reward."""
    about, method = experiment.about_point(point), ROWS[row]
    settings = about.settings
    networks = [reward_speaker(experiment), retriever(experiment)]
    rivals = bool(settings.neighbors)
    if row == "wtf_rl_ensemble":
        networks[1] = [networks[1], *retrievers(experiment)]
    if method["method"] is wtf_rl:
        networks.append(discriminator(experiment, settings))
    else:
        networks[1] = grammatical(experiment, settings)
    numbers = {
        **experiment.words(),
        "alpha": settings.alpha,
        "reward_shift": settings.reward_shift,
        "temperature": settings.temperature,
        "combine": settings.combine,
        "neighbors": "neighbor_image" if rivals else None,
        "same": "row" if rivals else None,
        "neighbor_same": "neighbor_row" if rivals else None,
        "beam_width": settings.beam_width,
        "no_repeat_ngram": settings.no_repeat_ngram,
    }
    model = build(method, networks, numbers, about)
    rates = {"discriminator": settings.discriminator_rate}
    return reward_training(about, model, rates, **neighbors(experiment))


def discriminator(experiment, settings):
    """A discriminator of human captions and beams, pretrained."""
    return pretrained_discriminator(
        experiment,
        reward_speaker(experiment),
        retriever(experiment),
        experiment.decodings[""],
        settings.discriminator_epochs,
        settings.discriminator_rate,
        settings.discriminator_units,
    )


def grammatical(experiment, settings):
    """The reward of the grammar baseline: similarity and a classifier."""
    classifier = pretrained_grammar(
        experiment,
        settings.grammar_epochs,
        settings.grammar_rate,
        settings.grammar_units,
        settings.grammar_units,
    )
    # CLIPScore as its authors scale it, 2.5 times the cosine.
    score = CLIPScore(retriever(experiment))
    return settings.grammar_similarity * score + Grammar(classifier)


def heard(experiment, row, point):
    """The speaker of a point, the retriever of rewards and the unseen one."""
    speaker = experiment.trained(row, **point)["speaker"]
    others = {"unseen": retriever(experiment, "unseen")}
    return speaker, retriever(experiment), others


def beam_search(experiment):
    """The decoder of training and evaluation."""
    settings = experiment.settings
    return BeamSearch(
        settings.beam_width,
        settings.max_length,
        suppress=experiment.unsaid,
        no_repeat_ngram=settings.no_repeat_ngram,
        num_samples=1,
    )


def decodings(experiment):
    """A beam search, as published, and greedy."""
    return {"": beam_search(experiment), "greedy": experiment.greedy}


WTF_RL = Paper(
    "wtf_rl",
    SETTINGS,
    ROWS,
    {"tf": "speaker_mle"},
    SPEAKER_PHASES,
    train,
    heard,
    axes={"alpha": _WEIGHED, "rate": tuple(ROWS), "reward_shift": _WEIGHED},
    results={
        "results/distinctive_world": {},
        "results/distinctive_flickr8k": {},
    },
    decodings=decodings,
    default=("tf", "wtf", "wtf_rl", "rl"),
    tables=distinctive_tables,
)
