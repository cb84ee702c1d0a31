import numpy as np

from tfcap.layers import HREAEncoder

RNG = np.random.default_rng(0)


def test_a_round_remembers_earlier_questions():
    question = RNG.normal(size=(1, 3, 4, 5)).astype("float32")
    history = RNG.normal(size=(1, 3, 6, 5)).astype("float32")
    image = RNG.normal(size=(1, 7, 8)).astype("float32")
    encode = HREAEncoder(4)
    before = encode(question, history, image).numpy()
    question[:, 0] += 1
    after = encode(question, history, image).numpy()
    assert np.abs(before - after)[0, 2].max() > 1e-4


def test_the_image_is_read_with_every_word():
    question = RNG.normal(size=(1, 3, 4, 5)).astype("float32")
    history = RNG.normal(size=(1, 3, 6, 5)).astype("float32")
    image = RNG.normal(size=(1, 7, 8)).astype("float32")
    encode = HREAEncoder(4, return_state=True)
    _, (h, _) = encode(question, history, image)
    wv, bv = encode.project_image.get_weights()
    seen = np.tanh(image[0] @ wv + bv).mean(0)
    words = np.concatenate([question, np.tile(seen, (1, 3, 4, 1))], -1)
    wanted, _ = encode.read_question(words.astype("float32"))
    np.testing.assert_allclose(h, wanted, atol=1e-5)
