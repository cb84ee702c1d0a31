"""How the tests' logs are presented: titles, figures by name, references."""

from tensorboard_plugin_tfcap.summary import write_comparison

TITLES = {
    "psst_multinomial": "PSST Multinomial",
    "st_multinomial": "ST Multinomial",
    "reinforce_joint": "REINFORCE",
    "luo2018": "Luo et al. 2018",
}
PRESETS = (
    {
        "id": "fig3",
        "title": "Figure 3 (a-f)",
        "y": "r@10",
        "usual": {"rho": 0.25},
        "panels": [
            {"title": "(a) BLEU-4", "x": "bleu_4"},
            {"title": "(b) CIDEr-D", "x": "cider_d"},
            {"title": "(c) METEOR", "x": "meteor"},
            {"title": "(d) ROUGE-L", "x": "rouge_l"},
            {"title": "(e) SPICE", "x": "spice"},
            {
                "title": "(f)",
                "x": "cider_d",
                "parameter": "rho",
                "ends": {"psst_multinomial": {"st_multinomial": 0.0}},
            },
        ],
    },
    {
        "id": "table1",
        "title": "Table 1",
        **{"x": "cider_d", "y": "r@5", "along": "y", "value": 80.0},
    },
    {
        "id": "table2",
        "title": "Table 2",
        **{"x": "cider_d", "y": "r@10", "along": "x", "value": 1.2},
    },
)
REFERENCES = (
    {
        "title": "psst_multinomial",
        "source": "published on other data",
        "metrics": {"cider_d": 1.2, "r@10": 86.3},
    },
)


def present(folder):
    """Writes the comparison into a log of its own below a folder."""
    write_comparison(folder / "comparison", TITLES, PRESETS, REFERENCES)
