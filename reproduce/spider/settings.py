"""Policy gradient of SPIDEr, and MIXER: rows and rewards.

Settings are those of `reproduce.sle.settings.SLESettings`: both papers train
the same speaker on the same data.
"""

from reproduce.captioning.rewarded import cider
from tfcap.methods import mixer
from tfcap.methods import policy_gradient
from tfcap.rewards import BCMR
from tfcap.rewards import BLEU
from tfcap.rewards import METEOR
from tfcap.rewards import ROUGEL
from tfcap.rewards import SPICE
from tfcap.rewards import SPICESpaCy
from tfcap.rewards import SPIDEr


def _corpus(data):
    return data.train.document_frequencies(), data.vocabulary


#: Rewards of an experiment, by the name of a metric. METEOR, SPICE and their
#: mixtures raise `tfcap.text.MissingScoreError` without their programs or
#: tables.
METRICS = {
    # Few samples share a 4-gram with a human caption; MIXER's code adds 1.
    "bleu4": lambda made: BLEU(4, smoothing="add_one"),
    "cider": cider,
    "rouge": lambda made: ROUGEL(),
    "meteor": lambda made: METEOR(made.data.vocabulary),
    "spice": lambda made: SPICE(made.data.vocabulary),
    "spice_spacy": lambda made: SPICESpaCy(made.data.vocabulary),
    "bcmr": lambda made: BCMR(*_corpus(made.data)),
    "spider": lambda made: SPIDEr(*_corpus(made.data)),
    "spider_spacy": lambda made: SPIDEr(
        *_corpus(made.data),
        spice=SPICESpaCy(made.data.vocabulary),
        name="spider_spacy",
    ),
}
#: Rows that are trained for a reward, by their names in records: a metric, or
#: a mixture of metrics.
ROWS = {
    "reinforce": {
        "method": policy_gradient,
        "num_continuations": 0,
        "unread": ("rollout_every",),
    },
    **{f"pg_{metric}": {"method": policy_gradient} for metric in METRICS},
    **{
        f"mixer_{metric}": {"method": mixer, "baseline_units": ()}
        for metric in ("bleu4", "cider", "bcmr")
    },
}


def metric_of(row):
    """The metric that a row is trained for, key of `METRICS`."""
    return "cider" if row == "reinforce" else row.partition("_")[2]
