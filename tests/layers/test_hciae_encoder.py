import numpy as np

from tfcap.layers import HCIAEEncoder

RNG = np.random.default_rng(0)


def attend(layer, query, memory):
    """One query over one memory: equations 1 and 2."""
    wq, b = layer.project_query.get_weights()
    (wm,), (wa,) = layer.project_memory.get_weights(), layer.score.get_weights()
    z = np.array([np.tanh(m @ wm + query @ wq + b) @ wa[:, 0] for m in memory])
    weights = np.exp(z) / np.exp(z).sum()
    return sum(w * m for w, m in zip(weights, memory)), weights


def test_equations_one_to_three():
    question = RNG.normal(size=(2, 3, 4, 5)).astype("float32")
    history = RNG.normal(size=(2, 3, 6, 5)).astype("float32")
    image = RNG.normal(size=(2, 7, 8)).astype("float32")
    encode = HCIAEEncoder(4, output_units=3, return_attention=True)
    encoding, attention = encode(question, history, image)
    asked = encode.read_question(question)[0].numpy()
    said = encode.read_history(history).numpy()
    wv, bv = encode.project_image.get_weights()
    we, be = encode.project.get_weights()
    for b in range(2):
        seen = np.tanh(image[b] @ wv + bv)
        for r in range(3):
            mq = asked[b, r]
            mh, rows = attend(encode.attend_history, mq, said[b, : r + 1])
            query = np.concatenate([mq, mh])
            v, positions = attend(encode.attend_image, query, seen)
            e = np.tanh(np.concatenate([mq, mh, v]) @ we + be)
            np.testing.assert_allclose(encoding[b, r], e, atol=1e-5)
            np.testing.assert_allclose(
                attention["history"][b, r, : r + 1], rows, atol=1e-5
            )
            np.testing.assert_allclose(
                attention["image"][b, r], positions, atol=1e-5
            )


def test_dropout_falls_on_the_image_the_query_and_what_is_fused():
    encode, seen = HCIAEEncoder(units=5, dropout=0.5), []

    def drop(inputs, training):
        seen.append((tuple(inputs.shape), training))
        return inputs

    encode.drop = drop
    words = np.ones((2, 3, 5, 4), "float32")
    encode(words, words, np.ones((2, 9, 6), "float32"), training=True)
    shapes = [(2, 9, 5), (2, 3, 10), (2, 3, 15)]
    assert seen == [(shape, True) for shape in shapes]
