"""SipHash is the published function; the mixer and the reduction behave as compiled code needs."""

import numba
import numpy as np
import pytest

from privet.errors import ParameterError
from privet.randomness.hashing import bounded, key_words, mix, siphash_array, siphash_parts, siphash_rows, siphash_words

# SipHash-2-4 of the bytes 0, 1, ..., length - 1 under the key 0, 1, ..., 15 (vectors of the reference code).
KEY = bytes(range(16))
VECTORS = {
    0: "310e0edd47db6f72",
    8: "6224939a79f5f593",
    10: "f3b9dd94c5bb5d7a",
    12: "fbe50e86bc8f1e75",
    14: "eef27a8e90ca23f7",
    16: "db9bc2577fcc2a3f",
}


def vector(length):
    return int.from_bytes(bytes.fromhex(VECTORS[length]), "little")


def message(start, stop, dtype):
    return np.frombuffer(bytes(range(start, stop)), dtype=dtype)


@pytest.mark.parametrize("length", [0, 8, 16])
def test_siphash_of_words_is_the_reference(length):
    assert int(siphash_words(*key_words(KEY), message(0, length, "<u8"))) == vector(length)


def test_siphash_of_ids_is_that_of_each_word():
    ids = message(0, 16, "<u8")
    hashes = siphash_array(KEY, ids)
    assert int(hashes[0]) == vector(8)
    assert int(hashes[1]) == int(siphash_words(*key_words(KEY), ids[1:]))


@pytest.mark.parametrize("length", [8, 10, 12, 14, 16])
def test_siphash_of_rows_is_the_reference_over_the_word_and_the_codes(length):
    codes = message(8, length, "<u2").reshape(-1, 1)
    assert int(siphash_rows(KEY, message(0, 8, "<u8"), codes)[0]) == vector(length)


def test_siphash_of_rows_does_not_depend_on_how_codes_are_stored():
    codes = np.random.default_rng(1).integers(0, 256, (7, 50), dtype=np.uint8)
    words = np.arange(50, dtype=np.uint64)
    narrow, wide = siphash_rows(KEY, words, codes), siphash_rows(KEY, words, codes.astype(np.uint16))
    np.testing.assert_array_equal(narrow, wide)
    assert np.unique(narrow).size == 50


def test_a_short_key_is_refused():
    with pytest.raises(ParameterError):
        siphash_array(b"short", np.arange(3, dtype=np.uint64))


def test_another_key_gives_other_hashes():
    ids = np.arange(1000, dtype=np.uint64)
    assert not np.any(siphash_array(KEY, ids) == siphash_array(bytes(16), ids))


@pytest.mark.parametrize("n_edges", [0, 1, 2, 99, 5000])
def test_parts_are_the_number_of_edges_at_or_below_the_hash(n_edges):
    ids = np.arange(5000, dtype=np.uint64)
    words = siphash_array(KEY, ids)
    rng = np.random.default_rng(n_edges)
    edges = rng.choice([*words, *(words + np.uint64(1)), 0, 1, 2**52 - 1, 2**52, 2**64 - 1], n_edges)
    edges = np.sort(edges.astype(np.uint64))  # many at a hash or right above one, some equal
    np.testing.assert_array_equal(siphash_parts(KEY, ids, edges), np.searchsorted(edges, words, side="right"))


@numba.njit
def mix_many(seeds, trees, paths):
    out = np.empty(seeds.size, np.uint64)
    for i in range(seeds.size):
        out[i] = mix(seeds[i], trees[i], paths[i])
    return out


@pytest.mark.parametrize("part", [0, 1, 2])
@pytest.mark.parametrize("bit", [0, 31, 63])
def test_mix_avalanches_from_every_part(part, bit):
    parts = [np.random.default_rng(5).integers(0, 2**63, 4096).astype(np.uint64) for _ in range(3)]
    before = mix_many(*parts)
    parts[part] = parts[part] ^ np.uint64(1 << bit)
    flipped = np.unpackbits((before ^ mix_many(*parts)).view(np.uint8)).reshape(4096, 64)
    rates = flipped.mean(axis=0)  # each of the 64 output bits flips half the time, to within five deviations
    assert np.all(np.abs(rates - 0.5) < 5 * 0.5 / 64)


def test_mix_tells_parts_apart():
    seeds, trees, paths = (grid.ravel().astype(np.uint64) for grid in np.mgrid[0:20, 0:20, 0:20])
    assert np.unique(mix_many(seeds, trees, paths)).size == 8000


@pytest.mark.parametrize("n", [1, 2, 3, 10**6, 2**32, 2**63 + 11, 2**64 - 1])
@pytest.mark.parametrize("word", [0, 1, 2**32 - 1, 2**63 - 25, 2**64 - 1])
def test_bounded_is_the_upper_half_of_the_product(word, n):
    assert int(bounded(np.uint64(word), np.uint64(n))) == (word * n) >> 64


def test_bounded_spreads_words_evenly():
    words = np.arange(0, 2**64, 2**64 // 7001, dtype=np.uint64)[:7000]
    counts = np.bincount([int(bounded(word, np.uint64(7))) for word in words], minlength=7)
    assert counts.size == 7
    assert np.ptp(counts) <= 2
