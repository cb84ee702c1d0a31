"""Rows of the figure: methods, their families and their papers."""

from reproduce.comparisons.all.estimators import relax
from reproduce.comparisons.all.estimators import sum_and_sample
from reproduce.psst.paper import PSST
from reproduce.sle.paper import SLE
from reproduce.spider.paper import SPIDER
from reproduce.wtf_rl.paper import WTF_RL
from tfcap.methods import actor_critic
from tfcap.methods import dapo
from tfcap.methods import dpo
from tfcap.methods import dr_grpo
from tfcap.methods import gdpo
from tfcap.methods import grpo
from tfcap.methods import gspo
from tfcap.methods import ipo
from tfcap.methods import ppo
from tfcap.methods import rloo
from tfcap.methods import scst
from tfcap.methods import simpo
from tfcap.methods import structured


def _reference(about):
    """A frozen speaker of maximum likelihood."""
    return about.experiment.starting("speaker_mle", "speaker", dropout=False)


#: Rows that are in none of the five papers, trained for the reward of equation
#: 1 of PSST with a frozen listener.
ROWS = {
    "scst": {"method": scst, "num_samples": 1},
    "rloo": {"method": rloo},
    "ppo": {"method": ppo},
    "grpo": {"method": grpo},
    "dr_grpo": {"method": dr_grpo},
    "grpo_4": {"method": grpo, "updates_per_rollout": 4},
    # The ratio of a single update is 1: nothing is clipped.
    "dapo": {"method": dapo, "updates_per_rollout": 1},
    "dapo_4": {"method": dapo, "updates_per_rollout": 4},
    "gspo": {"method": gspo},
    "gdpo": {"method": gdpo},
    "actor_critic": {"method": actor_critic},
    "relax": {"method": relax},
    "sum_and_sample": {"method": sum_and_sample},
    "dpo": {"method": dpo, "reference": _reference},
    "ipo": {"method": ipo, "reference": _reference},
    "simpo": {"method": simpo},
    **{
        loss: {"method": structured, "loss": loss}
        for loss in (
            *("risk", "sequence_likelihood", "softmax_margin"),
            *("max_margin", "multi_margin"),
        )
    },
}
#: The paper of each other row.
ORIGINS = {
    row: paper for paper in (PSST, SLE, SPIDER, WTF_RL) for row in paper.rows
}
#: Rows that are evaluated after a phase of pretraining.
STARTS = {"speaker_mle": "speaker_mle", "guided": "speaker_guided"}
#: Rows by family, in the order in which they are trained and drawn.
FAMILIES = {
    "likelihood, guidance": ("speaker_mle", "frozen_speaker_mle", "guided"),
    "joint, through words": (
        *("psst_multinomial", "st_multinomial", "psst_gumbel", "st_gumbel"),
        *("psst_reinmax", "st_reinmax", "psst_gumbel_rao"),
        *("psst_expected", "dense", "st_gumbel_annealed"),
    ),
    "joint, score function": ("reinforce_joint", "g_gan"),
    "listener frozen, through words": (
        *("psst_speaker", "multinomial_speaker", "gumbel_speaker"),
    ),
    "listener frozen, score function": (
        *("luo2018", "scst", "rloo", "grpo", "dr_grpo", "dapo", "gdpo"),
        *("grpo_4", "dapo_4", "ppo", "gspo", "actor_critic", "relax"),
        *("sum_and_sample", "sr_pl"),
    ),
    "ensemble of retrievers": (
        *("retriever_ensemble", "retriever_alone", "ensemble_weighted"),
        *("ensemble_pathwise", "ensemble_without_cider"),
    ),
    "preferences, structure": (
        *("dpo", "ipo", "simpo"),
        *("risk", "sequence_likelihood", "softmax_margin"),
        *("max_margin", "multi_margin"),
    ),
    "CIDEr-D alone": (
        *("sll", "sll_me", "sll_sle", "reinforce"),
        *("pg_cider", "mixer_cider"),
    ),
    "contrast among images": (
        *("wtf", "wtf_rl", "rl", "rl_unidirectional"),
        *("scst_discriminator", "scst_grammar"),
        *("wtf_rl_cider", "wtf_rl_ensemble"),
    ),
}
FAMILY = {row: family for family, rows in FAMILIES.items() for row in rows}
DEFAULT = tuple(FAMILY)
TITLES = {
    **{
        row: row.upper().replace("_", "-")
        for row in (
            *("scst", "rloo", "ppo", "grpo", "gspo", "gdpo", "relax"),
            *("dpo", "ipo", "sll", "sll_me", "sll_sle", "wtf", "wtf_rl", "rl"),
        )
    },
    **{
        row: row.replace("_", " ")
        for row in (
            *("sum_and_sample", "sequence_likelihood", "softmax_margin"),
            *("max_margin", "multi_margin"),
        )
    },
    "psst_reinmax": "PSST ReinMax",
    "psst_gumbel_rao": "PSST Gumbel-Rao",
    "st_reinmax": "ReinMax",
    "reinforce_joint": "REINFORCE, joint",
    "dr_grpo": "Dr. GRPO",
    "grpo_4": "GRPO, four updates",
    "dapo": "DAPO, one update",
    "dapo_4": "DAPO",
    "actor_critic": "A2C, GAE",
    "simpo": "SimPO",
    "risk": "minimum risk",
    "reinforce": "REINFORCE, learned baseline",
    "pg_cider": "PG-CIDEr",
    "mixer_cider": "MIXER-CIDEr",
    "wtf_rl_cider": "WTF-RL and CIDEr-D",
    "wtf_rl_ensemble": "WTF-RL and CIDEr-D, ensemble",
    "rl_unidirectional": "RL, one direction",
    "scst_discriminator": "SCST, discriminator",
    "scst_grammar": "SCST, grammar",
}
