import keras
import numpy as np
import pytest

import tfcap

gguf = pytest.importorskip("gguf")
pytest.importorskip("keras_hub")
pytest.importorskip("sentencepiece")

D, F, LENGTH = 32, 64, 7
SPECIAL = {
    "gemma3": ["<pad>", "<eos>", "<bos>", "<unk>", "<end_of_turn>"],
    "llama": ["<pad>", "</s>", "<s>", "<unk>"],
}
WORDS = (
    "▁a ▁red ▁blue ▁cup ▁boat ▁re ▁cu re ed lu lue ▁b cu up bo at oat".split()
)
LETTERS = sorted({*"".join(WORDS)})
BYTE_PIECES = [f"<0x{i:02X}>" for i in range(256)]
BYTES = [*"abcdefghijklmnopqrstuvwxyzĠ"]
MERGES = ["r e", "re d", "Ġ a", "Ġ red", "c u", "cu p", "Ġ cup", "a t", "o at"]
TEXTS = ["a red cup", "a blue boat"]


def write(path, family, change=(), remove=(), kind="Q8_0", **more):
    """Writes a file of random weights; returns its sizes."""
    rng = np.random.default_rng(0)
    sentencepiece = family not in ("qwen3", "llama3")
    architecture = "llama" if family == "llama3" else family
    heads, groups, blocks = 4, 2, 7 if family == "gemma3" else 2
    head = 16 if family in ("gemma3", "qwen3") else D // heads
    writer = gguf.GGUFWriter(path, architecture)
    writer.add_block_count(blocks)
    writer.add_embedding_length(D)
    writer.add_feed_forward_length(F)
    writer.add_head_count(heads)
    writer.add_head_count_kv(groups)
    writer.add_layer_norm_rms_eps(1e-6)
    if family in ("gemma3", "qwen3"):
        writer.add_key_length(head)
    writer.add_rope_freq_base(1e6 if family == "gemma3" else 5e3)
    if family == "gemma3":
        writer.add_sliding_window(3)
    if sentencepiece:
        size = vocabulary_of_pieces(
            writer, SPECIAL.get(family, SPECIAL["llama"])
        )
    else:
        size = vocabulary_of_bytes(writer, family)
    shapes = {
        "attn_norm": [D],
        "ffn_norm": [D],
        "attn_output": [D, heads * head],
    }
    shapes |= {"attn_q": [heads * head, D]}
    shapes |= {x: [groups * head, D] for x in ("attn_k", "attn_v")}
    shapes |= {"ffn_gate": [F, D], "ffn_up": [F, D], "ffn_down": [D, F]}
    if family in ("gemma3", "qwen3"):
        shapes |= {"attn_q_norm": [head], "attn_k_norm": [head]}
    if family == "gemma3":
        shapes |= {"post_attention_norm": [D], "post_ffw_norm": [D]}
    named = {
        f"blk.{i}.{x}": y for i in range(blocks) for x, y in shapes.items()
    }
    named |= {"token_embd": [size, D], "output_norm": [D]}
    if family == "llama":
        named |= {"output": [size, D]}
    named |= dict(change)
    for name, shape in named.items():
        if name in remove:
            continue
        value = rng.normal(0, 0.3, shape).astype("float32")
        if len(shape) == 1:
            writer.add_tensor(f"{name}.weight", 1 + value)
            continue
        kind_of = getattr(gguf.GGMLQuantizationType, kind)
        value = gguf.quants.quantize(value, kind_of)
        writer.add_tensor(f"{name}.weight", value, raw_dtype=kind_of)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return heads, groups, head, blocks


def vocabulary_of_pieces(writer, special):
    pieces = [*special, *BYTE_PIECES, *dict.fromkeys([*WORDS, *LETTERS])]
    types = gguf.TokenType
    kinds = [types.CONTROL] * len(special) + [types.BYTE] * 256
    kinds += [types.NORMAL] * (len(pieces) - len(kinds))
    # The vocabulary of Gemma's presets has it so.
    if "<end_of_turn>" in special:
        kinds[special.index("<end_of_turn>")] = types.USER_DEFINED
    writer.add_tokenizer_model("llama")
    writer.add_token_list(pieces)
    writer.add_token_scores([-float(i) for i in range(len(pieces))])
    writer.add_token_types(kinds)
    for i, name in enumerate(["pad", "eos", "bos", "unk"]):
        getattr(writer, f"add_{name}_token_id")(i)
    return len(pieces)


def vocabulary_of_bytes(writer, family):
    ends = {
        "qwen3": ["<|endoftext|>", "<|im_end|>"],
        "llama3": [
            *("<|begin_of_text|>", "<|end_of_text|>", "<|eot_id|>"),
            *("<|start_header_id|>", "<|end_header_id|>"),
        ],
    }[family]
    merged = [x.replace(" ", "") for x in MERGES]
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list([*BYTES, *merged, *ends])
    writer.add_token_merges(MERGES)
    writer.add_bos_token_id(len(BYTES + merged))
    writer.add_eos_token_id(len(BYTES + merged) + 1)
    return len(BYTES + merged + ends)


def rms(x, weight):
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-6) * weight


def rotated(x, base, interleaved):
    """Rotates `(T, heads, h)`: neighbors, or the first half by the second."""
    count = x.shape[-1] // 2
    angle = np.arange(len(x))[:, None] * base ** (-np.arange(count) / count)
    turn = np.exp(1j * angle)[:, None]
    if interleaved:
        z = (x[..., ::2] + 1j * x[..., 1::2]) * turn
        return np.stack([z.real, z.imag], -1).reshape(x.shape)
    z = (x[..., :count] + 1j * x[..., count:]) * turn
    return np.concatenate([z.real, z.imag], -1)


def oracle(path, family, sizes, ids):
    """Logits `(T, V)` as llama.cpp defines them, in float64."""
    w = {
        x.name.removesuffix(".weight"): gguf.quants.dequantize(
            x.data, x.tensor_type
        ).astype("float64")
        for x in gguf.GGUFReader(path).tensors
    }
    heads, groups, head, blocks = sizes
    gemma, interleaved = family == "gemma3", family.startswith("llama")
    x = w["token_embd"][ids] * (D**0.5 if gemma else 1)
    ago = np.arange(len(ids))[:, None] - np.arange(len(ids))
    for i in range(blocks):
        b = {
            k[len(f"blk.{i}.") :]: v
            for k, v in w.items()
            if k.startswith(f"blk.{i}.")
        }
        local = gemma and i % 6 < 5
        base = 1e4 if local else 1e6 if gemma else 5e3
        h = rms(x, b["attn_norm"])
        q, k, v = (
            (h @ b[f"attn_{n}"].T).reshape(len(ids), -1, head) for n in "qkv"
        )
        if "attn_q_norm" in b:
            q, k = rms(q, b["attn_q_norm"]), rms(k, b["attn_k_norm"])
        q, k = rotated(q, base, interleaved), rotated(k, base, interleaved)
        k, v = (np.repeat(y, heads // groups, axis=1) for y in (k, v))
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(head)
        seen = (ago >= 0) & ((ago < 3) | (not local))
        scores = np.where(seen, scores, -np.inf)
        share = np.exp(scores - scores.max(-1, keepdims=True))
        share /= share.sum(-1, keepdims=True)
        y = np.einsum("hqk,khd->qhd", share, v).reshape(len(ids), -1)
        y = y @ b["attn_output"].T
        x = x + (rms(y, b["post_attention_norm"]) if gemma else y)
        h = rms(x, b["ffn_norm"])
        gate, up = h @ b["ffn_gate"].T, h @ b["ffn_up"].T
        if gemma:
            inner = np.sqrt(2 / np.pi) * (gate + 0.044715 * gate**3)
            gate = 0.5 * gate * (1 + np.tanh(inner))
        else:
            gate = gate / (1 + np.exp(-gate))
        y = (gate * up) @ b["ffn_down"].T
        x = x + (rms(y, b["post_ffw_norm"]) if gemma else y)
    return rms(x, w["output_norm"]) @ w.get("output", w["token_embd"]).T


FAMILIES = ["gemma3", "llama", "llama3", "qwen3"]


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_are_those_of_the_weights_in_the_file(family, tmp_path):
    path = tmp_path / "model.gguf"
    sizes = write(path, family)
    lm = tfcap.models.from_gguf(path)
    size = lm.backbone.vocabulary_size
    ids = np.random.default_rng(1).integers(5, size, LENGTH)
    found = lm({"token_ids": ids[None], "padding_mask": np.ones((1, LENGTH))})
    wanted = oracle(path, family, sizes, ids)
    np.testing.assert_allclose(found[0], wanted, atol=1e-4 * wanted.std())


@pytest.mark.parametrize("kind", ["F16", "BF16", "Q4_0", "Q5_1"])
def test_every_quantization_is_undone(kind, tmp_path):
    path = tmp_path / "model.gguf"
    sizes = write(path, "llama", kind=kind)
    lm, ids = tfcap.models.from_gguf(path), np.arange(5, 5 + LENGTH)
    found = lm({"token_ids": ids[None], "padding_mask": np.ones((1, LENGTH))})
    wanted = oracle(path, "llama", sizes, ids)
    np.testing.assert_allclose(found[0], wanted, atol=1e-4 * wanted.std())


@pytest.mark.parametrize(
    ("family", "wanted"),
    [
        ("gemma3", ["a", "▁red", "▁cup"]),
        ("llama", ["▁a", "▁red", "▁cup"]),
        ("llama3", ["a", "Ġred", "Ġcup"]),
        ("qwen3", ["a", "Ġred", "Ġcup"]),
    ],
)
def test_tokenizer(family, wanted, tmp_path):
    write(tmp_path / "model.gguf", family)
    lm = tfcap.models.from_gguf(tmp_path / "model.gguf")
    tokenizer = lm.preprocessor.tokenizer
    ids = [int(i) for i in tokenizer(TEXTS[0])]
    assert [tokenizer.id_to_token(i) for i in ids] == wanted
    assert tokenizer.detokenize(ids) == TEXTS[0]


@pytest.mark.parametrize("family", FAMILIES)
def test_is_a_speaker(family, tmp_path):
    write(tmp_path / "model.gguf", family)
    lm = tfcap.models.from_gguf(tmp_path / "model.gguf")
    prefix = keras.layers.Dense(D)
    speaker = tfcap.models.CausalLMSpeaker(lm, prefix=prefix, prompt="a red")
    inputs = {"image": np.ones((2, 1, 3)), "caption": np.full((2, 1, 4), 9)}
    assert speaker(inputs).shape[:3] == (2, 1, 4)


@pytest.mark.parametrize("cut", [0, 3, 100, 4000, -100, -40])
def test_a_file_that_is_cut_off_is_refused(cut, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama")
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(ValueError, match=r"whole GGUF file.*model\.gguf"):
        tfcap.models.from_gguf(path)


def test_changed_bytes_are_refused_or_read(tmp_path):
    path = tmp_path / "model.gguf"
    write(path, "llama")
    data = bytearray(path.read_bytes())
    rng = np.random.default_rng(0)
    for place in [*range(40), *rng.integers(40, 9000, 60)]:
        changed = data.copy()
        changed[place] ^= 0x80
        path.write_bytes(changed)
        try:
            tfcap.models.from_gguf(path)
        except ValueError as error:
            assert "`path` must name" in str(error)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"family": "qwen2"}, "architecture 'qwen2'"),
        ({"change": {"blk.0.attn_q_bias": [32]}}, "blk.0.attn_q_bias.weight"),
        ({"remove": ["blk.1.ffn_up"]}, "no blk.1.ffn_up.weight"),
        ({"change": {"blk.1.ffn_up": [D, D]}}, "blk.1.ffn_up.weight has"),
    ],
)
def test_what_does_not_fit_is_named(options, message, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, **{"family": "llama", **options})
    with pytest.raises(ValueError, match=message):
        tfcap.models.from_gguf(path)


@pytest.mark.parametrize("family", FAMILIES)
def test_pruned_vocabulary(family, tmp_path):
    path = tmp_path / "model.gguf"
    write(path, family)
    lm = tfcap.models.from_gguf(path)
    small, kept = tfcap.models.prune_vocabulary(lm, TEXTS[:1])
    assert len(kept) == small.backbone.vocabulary_size
    assert len(kept) < lm.backbone.vocabulary_size
    ids = [int(i) for i in lm.preprocessor.tokenizer(TEXTS[0])]
    fewer = [int(i) for i in small.preprocessor.tokenizer(TEXTS[0])]
    assert kept[fewer].tolist() == ids
    assert np.searchsorted(kept, ids).tolist() == fewer
    mask = np.ones((1, len(ids)))
    wanted = lm({"token_ids": np.array([ids]), "padding_mask": mask})
    found = small({"token_ids": np.array([fewer]), "padding_mask": mask})
    wanted = keras.ops.convert_to_numpy(wanted)[..., kept]
    np.testing.assert_array_equal(found, wanted)
    ends = [
        np.ravel(tfcap.models.CausalLMSpeaker(x, prompt="a").eos)
        for x in (lm, small)
    ]
    np.testing.assert_array_equal(kept[ends[1]], ends[0])
    small.save(tmp_path / "small.keras")
    again = keras.saving.load_model(tmp_path / "small.keras", compile=False)
    same = again({"token_ids": np.array([fewer]), "padding_mask": mask})
    np.testing.assert_array_equal(same, found)
    assert [int(i) for i in again.preprocessor.tokenizer(TEXTS[0])] == fewer


def test_adapters_are_not_pruned(tmp_path):
    write(tmp_path / "model.gguf", "llama")
    lm = tfcap.models.from_gguf(tmp_path / "model.gguf")
    lm.backbone.enable_lora(2)
    with pytest.raises(ValueError, match="no adapters"):
        tfcap.models.prune_vocabulary(lm, TEXTS)


def test_no_gguf(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "gguf", None)
    with pytest.raises(ImportError, match=r"tfcap\[gguf\]"):
        tfcap.models.from_gguf("model.gguf")
