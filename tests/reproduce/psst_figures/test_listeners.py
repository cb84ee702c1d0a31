from reproduce.psst_figures.methods import listeners


def test_others_are_told_from_what_else_has_a_recall():
    record = dict.fromkeys(
        (
            *("r@10", "image_to_text_r@10", "human_r@10", "human_first_r@10"),
            *("zoo_r@10", "unseen_r@10", "fixed_r@10", "fixed_r@1"),
            *("fixed_image_to_text_r@10", "beam_fixed_r@10", "beam_r@10"),
        ),
        50.0,
    )
    assert listeners([record]) == ["fixed_", "unseen_", "zoo_", ""]
    assert listeners([record], "r@1") == ["fixed_"]
    assert listeners([record], decoding="beam_") == ["fixed_", ""]
    assert listeners([{"fixed_r@10": None, "r@10": 1.0}]) == [""]
