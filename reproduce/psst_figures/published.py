"""Figures of the paper, Joint Optimization for Cooperative Image Captioning.

Vered et al., ICCV 2019. All on COCO, by the split of Vedantam and of Luo; the
paper's CIDEr is what is CIDEr-D here.
"""

from tensorboard_plugin_tfcap.tradeoff import Reference

#: Where they are from.
DATA = "COCO"
PAPER = f"Vered et al. 2019, on {DATA}"

#: Table 1, naturalness at recall@5 = 80 %.
AT_RECALL = {
    "psst_multinomial": (1.119, 0.322, 0.264, 0.544, 0.206),
    "psst_gumbel": (1.109, 0.320, 0.263, 0.541, 0.205),
    "st_multinomial": (1.106, 0.300, 0.259, 0.542, 0.194),
    "st_gumbel": (1.087, 0.288, 0.253, 0.528, 0.187),
    "reinforce_joint": (0.902, 0.251, 0.247, 0.505, 0.189),
}
#: Its columns.
AT_RECALL_OF = ("cider_d", "bleu_4", "meteor", "rouge_l", "spice")

#: Table 2, recall@1, 5 and 10 in percent at CIDEr = 1.2.
AT_CIDER = {
    "psst_multinomial": (38.1, 74.2, 86.3),
    "psst_gumbel": (37.6, 73.0, 85.7),
    "st_multinomial": (31.9, 67.9, 81.8),
    "st_gumbel": (31.8, 67.3, 80.6),
    "st_gumbel_annealed": (24.2, 56.3, 70.9),
    "reinforce_joint": (31.3, 67.0, 80.5),
    "luo2018": (20.5, 49.1, 64.0),
    "sr_pl": (33.0, 66.4, 80.1),
    "g_gan": (14.3, 40.1, 55.8),
}
AT_CIDER_NOTE = (
    "Published SR-PL is at CIDEr 1.17 on the Karpathy split, published G-GAN "
    "at 0.795 on COCO's validation split."
)

#: Table 3, top: recall@1, 5 and 10 in percent at CIDEr = 1.13.
ABLATION = {
    "psst_multinomial": (45.3, 79.4, 89.9),
    "psst_gumbel": (45.0, 78.8, 89.4),
    "reinforce_joint": (38.9, 74.0, 86.2),
    "luo2018": (27.7, 60.1, 74.6),
    "frozen_speaker_luo": (32.6, 67.8, 81.8),
    "frozen_speaker_mle": (19.3, 46.9, 61.3),
}
#: Table 3, bottom: human captions.
HUMAN_CAPTIONS = {
    "gt_on_psst_listener": (21.3, 46.9, 59.3),
    "listener_gt": (25.4, 53.9, 66.8),
}

#: The paper's claims: a method, and what it is said to be above.
CLAIMS = (
    ("psst_multinomial", "st_multinomial"),
    ("psst_multinomial", "st_gumbel"),
    ("psst_multinomial", "reinforce_joint"),
    ("psst_multinomial", "dense"),
    ("psst_multinomial", "luo2018"),
    ("psst_multinomial", "frozen_speaker_luo"),
    ("psst_multinomial", "frozen_speaker_mle"),
    ("psst_gumbel", "st_gumbel"),
    ("st_gumbel", "st_gumbel_annealed"),
    ("st_multinomial", "luo2018"),
    ("reinforce_joint", "luo2018"),
)


def published_references():
    """The paper's tables as points: each has two operating points at most.

    Example:

    >>> from reproduce import psst_figures
    >>> references = psst_figures.published_references()
    >>> references[0].title, references[0].metrics["r@10"]
    ('psst_multinomial', 86.3)
    """
    recalls, references = ("r@1", "r@5", "r@10"), []
    cider = {"sr_pl": 1.17, "g_gan": 0.795}
    for method, values in AT_CIDER.items():
        metrics = {**dict(zip(recalls, values))}
        metrics["cider_d"] = cider.get(method, 1.2)
        source = f"{PAPER}, Table 2"
        references.append(Reference(method, metrics, source, DATA))
    for method, values in AT_RECALL.items():
        metrics = {**dict(zip(AT_RECALL_OF, values)), "r@5": 80.0}
        source = f"{PAPER}, Table 1"
        references.append(Reference(method, metrics, source, DATA))
    for method, values in ABLATION.items():
        metrics = {**dict(zip(recalls, values)), "cider_d": 1.13}
        source = f"{PAPER}, Table 3"
        references.append(Reference(method, metrics, source, DATA))
    return references
