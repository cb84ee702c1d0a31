import collections

import numpy as np
import pytest

from tests import captions
from tfcap.text import DocumentFrequencies
from tfcap.text import Vocabulary
from tfcap.text import ngram_counting
from tfcap.text.ngrams import pack_ngrams

CORPUS, VOCABULARY = captions.corpus(), captions.VOCABULARY


def counted(corpus, eos=True):
    """Documents of each n-gram of ids, by sets."""
    documents = collections.Counter()
    for sentences in corpus:
        held = set()
        for words in sentences:
            ids = VOCABULARY.encode(words, eos=eos)
            for n in range(1, 5):
                starts = range(len(ids) - n + 1)
                held |= {tuple(ids[i : i + n]) for i in starts}
        documents.update(held)
    return documents


def unpacked(table):
    """The same from a table."""
    fields = table.keys[:, None] >> np.arange(0, 64, 16) & 0xFFFF
    return {
        tuple(int(x) - 1 for x in row if x): count
        for row, count in zip(fields, table.counts.tolist())
    }


@pytest.mark.parametrize("eos", [True, False])
def test_counts_are_those_of_sets(eos, monkeypatch):
    wanted = counted(CORPUS, eos)
    for chunk in (8192, 7):
        monkeypatch.setattr(ngram_counting, "_CHUNK", chunk)
        table = captions.frequencies(count_eos=eos, min_count=1)
        assert unpacked(table) == wanted
        assert table.num_documents == len(CORPUS)


def test_leaving_out_what_one_document_holds_changes_no_weight():
    every = captions.frequencies(min_count=1)
    table = captions.frequencies()
    assert 0 < len(table) < len(every)
    assert (table.counts >= 2).all()
    unseen = pack_ngrams(np.array([9, 9, 9, 9]), np.array([4]))[3, :1]
    keys = np.concatenate([every.keys, unseen])
    np.testing.assert_array_equal(table.weights(keys), every.weights(keys))
    wanted = np.log(30.0) - np.log(np.maximum(every.lookup(keys), 1))
    np.testing.assert_array_equal(table.weights(keys), wanted)
    assert table.weights(unseen) == table.largest_weight
    square = keys[:6].reshape(2, 3)
    wanted = table.lookup(keys)[:6].reshape(2, 3)
    np.testing.assert_array_equal(table.lookup(square), wanted)


def test_words_and_padded_ids_are_counted_alike():
    table = captions.frequencies(min_count=1)
    rows = np.zeros((len(CORPUS), 3, 10), "int32")
    for row, sentences in zip(rows, CORPUS):
        row[: len(sentences)] = VOCABULARY.encode_batch(sentences, 9, eos=True)
    lists = [[VOCABULARY.encode(c) for c in sentences] for sentences in CORPUS]
    for ids in (rows, lists, iter(lists)):
        again = DocumentFrequencies.from_references(
            ids, VOCABULARY, min_count=1
        )
        assert unpacked(again) == unpacked(table)


def test_it_is_saved_and_loaded(tmp_path):
    table = captions.frequencies(count_eos=False)
    table.save(tmp_path / "table")
    again = DocumentFrequencies.load(tmp_path / "table", VOCABULARY)
    assert vars(again).keys() == vars(table).keys()
    for name, value in vars(table).items():
        np.testing.assert_array_equal(getattr(again, name), value)
        assert type(getattr(again, name)) is type(value)
    with np.load(tmp_path / "table", allow_pickle=False) as file:
        assert all(file[name].dtype != object for name in file)


def test_other_files_and_vocabularies_are_refused(tmp_path):
    path = tmp_path / "table.npz"
    captions.frequencies().save(path)
    for words in (captions.WORDS[::-1], (*captions.WORDS, "new")):
        told = "`vocabulary` must be the one that the document frequencies"
        with pytest.raises(ValueError, match=told):
            DocumentFrequencies.load(path, Vocabulary(words))
    captions.frequencies().check_vocabulary(Vocabulary(captions.WORDS))
    whole = path.read_bytes()
    with np.load(path) as file:
        arrays = {**file, "max_order": 3}
    for write in (
        lambda: path.write_bytes(b"no archive"),
        lambda: path.write_bytes(whole[: len(whole) // 2]),
        lambda: np.savez(path, np.arange(3)),
        lambda: np.savez(path, **arrays),
    ):
        write()
        with pytest.raises(ValueError, match="`path` must name a table"):
            DocumentFrequencies.load(path, VOCABULARY)


def test_batches_are_refused_and_a_dict_is_its_values():
    batches = [{"caption": np.ones((2, 1, 3))}] * 2
    for vocabulary in VOCABULARY, None:
        with pytest.raises(TypeError, match="`references` must hold"):
            DocumentFrequencies.from_references(batches, vocabulary)
    by_image = dict(enumerate(CORPUS))
    found = DocumentFrequencies.from_references(by_image, VOCABULARY)
    wanted = DocumentFrequencies.from_references(CORPUS, VOCABULARY)
    assert found.num_documents == wanted.num_documents


@pytest.mark.parametrize(
    ("documents", "error", "told"),
    [
        (CORPUS[:1], ValueError, "must be at least 2"),
        ([CORPUS[0], CORPUS[1], []], ValueError, r"none in references\[2\]"),
        (np.zeros((2, 2, 3), int), ValueError, r"none in references\[0\]"),
        (["a dog", "a cat"], TypeError, "'a dog' as a document"),
        ([["a dog"], ["a cat"]], TypeError, r"\['a dog'\] as a document"),
        ([[1.5], [2.5]], TypeError, "'float' has no len"),
        ([[[-1]]] * 2, ValueError, "must hold ids of `vocabulary`"),
        ([[[VOCABULARY.size]]] * 2, ValueError, "must hold ids of `vocabular"),
    ],
)
def test_what_makes_no_table_is_refused(documents, error, told):
    with pytest.raises(error, match=told):
        DocumentFrequencies.from_references(documents, VOCABULARY)


def test_impossible_tables_are_refused():
    large = Vocabulary(map(str, range(65_531)))
    with pytest.raises(ValueError, match="at most 65534 ids"):
        DocumentFrequencies([5], [2], 3, large)


def test_keys_may_come_in_any_order():
    table = captions.frequencies()
    order = np.random.default_rng(0).permutation(len(table))
    given = table.keys[order], table.counts[order], table.num_documents
    found = DocumentFrequencies(*given, VOCABULARY)
    for name in ("lookup", "weights"):
        one, other = (getattr(t, name)(table.keys) for t in (table, found))
        np.testing.assert_array_equal(one, other)
    assert (found.lookup(table.keys) == table.counts).all()
