import numpy as np

from tfcap.layers import MemoryNetworkEncoder

RNG = np.random.default_rng(0)


def test_facts_are_weighed_by_inner_products():
    question = RNG.normal(size=(2, 3, 4, 5)).astype("float32")
    history = RNG.normal(size=(2, 3, 6, 5)).astype("float32")
    image = RNG.normal(size=(2, 7, 8)).astype("float32")
    encode = MemoryNetworkEncoder(4, return_attention=True)
    encoding, attention = encode(question, history, image)
    asked = encode.read_question(question)[0].numpy()
    facts = encode.read_history(history).numpy()
    (wv, bv), (wq, bq), (wf, bf), (we, be) = (
        x.get_weights()
        for x in (
            encode.project_image,
            encode.project_query,
            encode.project_fact,
            encode.project,
        )
    )
    for b in range(2):
        seen = np.tanh(image[b] @ wv + bv).mean(0)
        for r in range(3):
            query = np.tanh(np.concatenate([asked[b, r], seen]) @ wq + bq)
            scores = np.exp(facts[b, : r + 1] @ query)
            weights = scores / scores.sum()
            fact = np.tanh((weights @ facts[b, : r + 1]) @ wf + bf)
            np.testing.assert_allclose(
                encoding[b, r], np.tanh((query + fact) @ we + be), atol=1e-5
            )
            np.testing.assert_allclose(
                attention["history"][b, r, : r + 1], weights, atol=1e-5
            )
