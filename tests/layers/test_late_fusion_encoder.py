import numpy as np

from tfcap.layers import LateFusionEncoder

RNG = np.random.default_rng(0)


def test_the_history_is_read_as_one_text():
    question = RNG.normal(size=(1, 3, 4, 5)).astype("float32")
    history = RNG.normal(size=(1, 3, 6, 5)).astype("float32")
    image = RNG.normal(size=(1, 7, 8)).astype("float32")
    words = np.array([6, 2, 4])
    mask = (np.arange(6) < words[:, None])[None]
    encode = LateFusionEncoder(4)
    encoding = encode(question, history, image, history_mask=mask).numpy()
    wv, bv = encode.project_image.get_weights()
    we, be = encode.project.get_weights()
    seen = np.tanh(image[0] @ wv + bv).mean(0)
    asked = encode.read_question(question)[0].numpy()[0]
    for r in range(3):
        rows = [history[0, i, : words[i]] for i in range(r + 1)]
        said = encode.read_history(np.concatenate(rows)[None])[0, -1]
        fused = np.concatenate([asked[r], said, seen])
        np.testing.assert_allclose(
            encoding[0, r], np.tanh(fused @ we + be), atol=1e-5
        )


def test_there_are_no_attention_weights():
    encode = LateFusionEncoder(4, return_attention=True)
    question, image = np.zeros((1, 2, 3, 5)), np.zeros((1, 1, 6))
    assert encode(question, question, image)[1] == {}
