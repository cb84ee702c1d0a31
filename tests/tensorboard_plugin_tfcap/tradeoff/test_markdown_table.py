from tensorboard_plugin_tfcap.tradeoff.markdown_table import markdown_table


def test_columns_are_aligned():
    text = markdown_table(["a", "bcd"], [["long", "1"], ["b", "22222"]])
    assert len({len(line) for line in text.splitlines()}) == 1
