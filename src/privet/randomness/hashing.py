"""Compiled hashes: SipHash-2-4 under a secret key, and a mixer of public paths.

SipHash (Aumasson and Bernstein, 2012) is a keyed pseudo-random function. Under a fresh, secret key that is discarded
after use, it turns row identities into coins and orders the rows of a unit. The mixer has no key: it only spreads
public seeds and paths, so that random trees need not be stored.

Everything here may be called from compiled code of other files. All arithmetic is modulo 2^64 on unsigned words. Each
constant is a `np.uint64`, since numba turns a mix of signed and unsigned integers into floats.
"""

import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from privet.compiling import compiled, inlined, merged
from privet.errors import ParameterError

# "somepseudorandomlygeneratedbytes", the initial state of SipHash
_V0 = np.uint64(0x736F6D6570736575)
_V1 = np.uint64(0x646F72616E646F6D)
_V2 = np.uint64(0x6C7967656E657261)
_V3 = np.uint64(0x7465646279746573)
_FINAL = np.uint64(0xFF)

# The constants of splitmix64, by Steele, Lea and Flood, 2014
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
_MIX_2 = np.uint64(0x94D049BB133111EB)

_LOW_HALF = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_WORD = np.uint64(64)
_ZERO = np.uint64(0)

_GUIDE_BITS = np.uint64(12)
_IDS_AT_ONCE = 1024


@inlined
def _rotate(word: np.uint64, bits: np.uint64) -> np.uint64:
    return (word << bits) | (word >> (_WORD - bits))


@inlined
def _round(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v0 = v0 + v1
    v1 = _rotate(v1, np.uint64(13)) ^ v0
    v0 = _rotate(v0, np.uint64(32))
    v2 = v2 + v3
    v3 = _rotate(v3, np.uint64(16)) ^ v2
    v0 = v0 + v3
    v3 = _rotate(v3, np.uint64(21)) ^ v0
    v2 = v2 + v1
    v1 = _rotate(v1, np.uint64(17)) ^ v2
    v2 = _rotate(v2, np.uint64(32))
    return v0, v1, v2, v3


@inlined
def _start(key0: np.uint64, key1: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    return _V0 ^ key0, _V1 ^ key1, _V2 ^ key0, _V3 ^ key1


@inlined
def _absorb(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, word: np.uint64
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    v3 = v3 ^ word
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ word, v1, v2, v3


@inlined
def _finish(v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, last: np.uint64) -> np.uint64:
    v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, last)
    v2 = v2 ^ _FINAL
    for _ in range(4):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


@compiled
def siphash_words(key0: np.uint64, key1: np.uint64, words: NDArray[np.uint64]) -> np.uint64:
    """SipHash-2-4 of an array of words, each taken as its eight bytes in little-endian order."""
    v0, v1, v2, v3 = _start(np.uint64(key0), np.uint64(key1))
    for word in words:
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, word)
    length = np.uint64(8 * words.size)
    return _finish(v0, v1, v2, v3, length << np.uint64(56))


@compiled
def _hash_each(key0: np.uint64, key1: np.uint64, ids: NDArray[np.uint64]) -> NDArray[np.uint64]:
    out = np.empty(ids.size, np.uint64)
    for i in range(ids.size):
        v0, v1, v2, v3 = _start(key0, key1)
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, ids[i])
        out[i] = _finish(v0, v1, v2, v3, np.uint64(8) << np.uint64(56))
    return out


@compiled
def _count_edges(
    key0: np.uint64, key1: np.uint64, ids: NDArray[np.uint64], edges: NDArray[np.uint64], guide: NDArray[np.int64]
) -> NDArray[np.int32]:
    out = np.empty(ids.size, np.int32)
    for start in range(0, ids.size, _IDS_AT_ONCE):
        words = _hash_each(key0, key1, ids[start : start + _IDS_AT_ONCE])
        for i in range(words.size):
            part = guide[words[i] >> (_WORD - _GUIDE_BITS)]
            while part < edges.size and edges[part] <= words[i]:
                part += 1
            out[start + i] = part
    return out


@compiled
def _hash_rows(key0: np.uint64, key1: np.uint64, words: NDArray[np.uint64], codes: NDArray[Any]) -> NDArray[np.uint64]:
    n_features, n_rows = codes.shape
    length = np.uint64(8 + 2 * n_features)
    out = np.empty(n_rows, np.uint64)
    for row in range(n_rows):
        v0, v1, v2, v3 = _start(key0, key1)
        v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, words[row])
        word = _ZERO
        for feature in range(n_features):
            place = np.uint64(16 * (feature % 4))
            word = word | (np.uint64(codes[feature, row]) << place)
            if feature % 4 == 3:
                v0, v1, v2, v3 = _absorb(v0, v1, v2, v3, word)
                word = _ZERO
        out[row] = _finish(v0, v1, v2, v3, word | (length << np.uint64(56)))
    return out


def key_words(key: bytes) -> tuple[np.uint64, np.uint64]:
    """Split a key of 16 bytes into the two words that `siphash_words` takes."""
    if len(key) != 16:
        raise ParameterError(f"a SipHash key has 16 bytes; got {len(key)}")
    key0, key1 = struct.unpack("<QQ", key)
    return np.uint64(key0), np.uint64(key1)


def siphash_array(key: bytes, ids: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """SipHash-2-4 of each id by itself.

    *Privacy*: under a fresh, secret key the hashes of distinct ids are independent uniform words to anyone without
    the key, so they serve as secret coins that are the same in every pass over the data.
    """
    key0, key1 = key_words(key)
    return _hash_each(key0, key1, np.ascontiguousarray(ids, dtype=np.uint64))


def siphash_parts(key: bytes, ids: NDArray[np.uint64], edges: NDArray[np.uint64]) -> NDArray[np.int32]:
    """Return how many of the edges are at or below SipHash-2-4 of each id: the part of a partition that it falls into.

    Parameters
    ----------
    key : bytes
        16 bytes.
    ids : uint64 array
        What is hashed.
    edges : uint64 array
        In ascending order; equal edges are allowed.

    Notes
    -----
    A table indexed by the leading bits of the hash says how many edges are at or below all words with these bits; the
    few other edges are compared one by one. The result is exactly that of a binary search, in a fraction of its time.
    """
    key0, key1 = key_words(key)
    edges = np.ascontiguousarray(edges, dtype=np.uint64)
    lowest = np.arange(1 << int(_GUIDE_BITS), dtype=np.uint64) << (_WORD - _GUIDE_BITS)
    guide = np.searchsorted(edges, lowest, side="right").astype(np.int64)
    return _count_edges(key0, key1, np.ascontiguousarray(ids, dtype=np.uint64), edges, guide)


def siphash_rows(key: bytes, words: NDArray[np.uint64], codes: NDArray[Any]) -> NDArray[np.uint64]:
    """SipHash-2-4 of a word and the codes of a row, for each row.

    Parameters
    ----------
    key : bytes
        16 bytes.
    words : uint64 array of shape (n_rows,)
        For instance the hash of the row's unit.
    codes : unsigned integer array of shape (n_features, n_rows)
        Each code enters as two bytes, so that the hash does not depend on whether codes are stored in 8 or 16 bits.

    Returns
    -------
    uint64 array of shape (n_rows,)
    """
    key0, key1 = key_words(key)
    return _hash_rows(key0, key1, np.ascontiguousarray(words, dtype=np.uint64), codes)


@inlined
def _avalanche(word: np.uint64) -> np.uint64:
    word = (word ^ (word >> np.uint64(30))) * _MIX_1
    word = (word ^ (word >> np.uint64(27))) * _MIX_2
    return word ^ (word >> np.uint64(31))


@merged
def first_round(word: np.uint64) -> np.uint64:
    """Return the part of `mix` that depends on its first argument alone: a node's draws have it in common."""
    return _avalanche(word + _GOLDEN)


@merged
def further_rounds(begun: np.uint64, tree: np.uint64, path: np.uint64) -> np.uint64:
    """Return ``mix(word, tree, path)``, where `begun` is ``first_round(word)``."""
    word = _avalanche((begun ^ tree) + _GOLDEN)
    return _avalanche((word ^ path) + _GOLDEN)


@merged
def splitmix(word: np.uint64, number: np.uint64) -> np.uint64:
    """Return the first output of splitmix64 started at ``word + number``."""
    return _avalanche(word + number + _GOLDEN)


@merged
def bounded_by_few(word: np.uint64, n: np.uint64) -> np.uint64:
    """Return ``bounded(word, n)`` for n below 2^32, where half of its products are zero."""
    return ((word >> _HALF) * n + (((word & _LOW_HALF) * n) >> _HALF)) >> _HALF


@compiled
def mix(seed: int | np.uint64, tree: int | np.uint64, path: int | np.uint64) -> np.uint64:
    """Mix a public seed, a tree's number and a path in it into a word; changing any bit changes about half of its bits.

    Three rounds of splitmix64, one for each part, so that equal sums of different parts do not collide.
    """
    word = _avalanche(np.uint64(seed) + _GOLDEN)
    word = _avalanche((word ^ np.uint64(tree)) + _GOLDEN)
    return _avalanche((word ^ np.uint64(path)) + _GOLDEN)


@compiled
def bounded(word: np.uint64, n: int | np.uint64) -> np.uint64:
    """Reduce a word to 0..n-1: the upper half of the 128-bit product word * n.

    The bias is at most n / 2^64, which is negligible for public shapes and coins; secret noise uses exact rejection.
    """
    word, n = np.uint64(word), np.uint64(n)
    word_high, word_low = word >> _HALF, word & _LOW_HALF
    n_high, n_low = n >> _HALF, n & _LOW_HALF
    # Schoolbook product in halves of 32 bits; `middle` cannot overflow: (2^32-1)^2 + 2 (2^32-1) < 2^64.
    low = word_low * n_low
    middle = word_high * n_low + (low >> _HALF)
    other = word_low * n_high + (middle & _LOW_HALF)
    return word_high * n_high + (middle >> _HALF) + (other >> _HALF)
