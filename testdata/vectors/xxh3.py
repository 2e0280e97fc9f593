"""XXH3 with 128 bits and seed 0, after the public specification of xxHash, in plain Python.

Slow (a few MB/s) and independent of libxxhash: that is its purpose. xxh3_128 gives (high, low); the canonical form
is high then low, each big-endian.
"""

import functools
import struct

MASK32 = (1 << 32) - 1
MASK64 = (1 << 64) - 1

PRIME32_1 = 0x9E3779B1
PRIME32_2 = 0x85EBCA77
PRIME32_3 = 0xC2B2AE3D
PRIME64_1 = 0x9E3779B185EBCA87
PRIME64_2 = 0xC2B2AE3D27D4EB4F
PRIME64_3 = 0x165667B19E3779F9
PRIME64_4 = 0x85EBCA77C2B2AE63
PRIME64_5 = 0x27D4EB2F165667C5
PRIME_MX1 = 0x165667919E3779F9
PRIME_MX2 = 0x9FB21C651E98DF25

SECRET = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e")


def _read32(data, at):
    return struct.unpack_from("<I", data, at)[0]


def _read64(data, at):
    return struct.unpack_from("<Q", data, at)[0]


def _swap32(value):
    return int.from_bytes(value.to_bytes(4, "little"), "big")


def _swap64(value):
    return int.from_bytes(value.to_bytes(8, "little"), "big")


def _fold(a, b):
    product = a * b
    return (product & MASK64) ^ (product >> 64)


def _avalanche(h):
    h ^= h >> 37
    h = h * PRIME_MX1 & MASK64
    return h ^ h >> 32


def _avalanche_xxh64(h):
    h ^= h >> 33
    h = h * PRIME64_2 & MASK64
    h ^= h >> 29
    h = h * PRIME64_3 & MASK64
    return h ^ h >> 32


def _of_0():
    low = _avalanche_xxh64(_read64(SECRET, 64) ^ _read64(SECRET, 72))
    high = _avalanche_xxh64(_read64(SECRET, 80) ^ _read64(SECRET, 88))
    return high, low


def _of_1_to_3(data):
    size = len(data)
    low = data[0] << 16 | data[size >> 1] << 24 | data[-1] | size << 8
    swapped = _swap32(low)
    high = (swapped << 13 | swapped >> 19) & MASK32
    low ^= _read32(SECRET, 0) ^ _read32(SECRET, 4)
    high ^= _read32(SECRET, 8) ^ _read32(SECRET, 12)
    return _avalanche_xxh64(high), _avalanche_xxh64(low)


def _of_4_to_8(data):
    size = len(data)
    value = _read32(data, 0) | _read32(data, size - 4) << 32
    product = (value ^ _read64(SECRET, 16) ^ _read64(SECRET, 24)) * (PRIME64_1 + (size << 2))
    low, high = product & MASK64, product >> 64 & MASK64
    high = high + (low << 1) & MASK64
    low ^= high >> 3
    low ^= low >> 35
    low = low * PRIME_MX2 & MASK64
    low ^= low >> 28
    return _avalanche(high), low


def _of_9_to_16(data):
    size = len(data)
    first, last = _read64(data, 0), _read64(data, size - 8)
    product = (first ^ last ^ _read64(SECRET, 32) ^ _read64(SECRET, 40)) * PRIME64_1
    low, high = product & MASK64, product >> 64
    low = low + (size - 1 << 54) & MASK64
    last ^= _read64(SECRET, 48) ^ _read64(SECRET, 56)
    high = high + last + (last & MASK32) * (PRIME32_2 - 1) & MASK64
    low ^= _swap64(high)
    product = low * PRIME64_2
    low, high = product & MASK64, (product >> 64) + high * PRIME64_2 & MASK64
    return _avalanche(high), _avalanche(low)


def _mix16(data, at, key):
    return _fold(_read64(data, at) ^ _read64(SECRET, key), _read64(data, at + 8) ^ _read64(SECRET, key + 8))


def _mix32(high, low, data, one, two, key):
    low = low + _mix16(data, one, key) & MASK64
    low ^= _read64(data, two) + _read64(data, two + 8) & MASK64
    high = high + _mix16(data, two, key + 16) & MASK64
    high ^= _read64(data, one) + _read64(data, one + 8) & MASK64
    return high, low


def _finish_middle(high, low, size):
    out_low = low + high & MASK64
    out_high = low * PRIME64_1 + high * PRIME64_4 + size * PRIME64_2 & MASK64
    return -_avalanche(out_high) & MASK64, _avalanche(out_low)


def _of_17_to_128(data):
    size = len(data)
    high, low = 0, size * PRIME64_1 & MASK64
    for step in range((size - 1) // 32, -1, -1):
        high, low = _mix32(high, low, data, 16 * step, size - 16 * (step + 1), 32 * step)
    return _finish_middle(high, low, size)


def _of_129_to_240(data):
    size = len(data)
    high, low = 0, size * PRIME64_1 & MASK64
    for at in range(0, 128, 32):
        high, low = _mix32(high, low, data, at, at + 16, at)
    high, low = _avalanche(high), _avalanche(low)
    for at in range(128, size - 31, 32):
        high, low = _mix32(high, low, data, at, at + 16, at - 128 + 3)
    high, low = _mix32(high, low, data, size - 16, size - 32, 136 - 17 - 16)
    return _finish_middle(high, low, size)


def _accumulate(acc, words, key):
    for lane in range(8):
        word = words[lane]
        keyed = word ^ key[lane]
        acc[lane ^ 1] += word
        acc[lane] += (keyed & MASK32) * (keyed >> 32)


def _merge(acc, at, start):
    for pair in range(4):
        start += _fold(acc[2 * pair] ^ _read64(SECRET, at + 16 * pair),
                       acc[2 * pair + 1] ^ _read64(SECRET, at + 16 * pair + 8))
    return _avalanche(start & MASK64)


def _of_more(data):
    size = len(data)
    acc = [PRIME32_3, PRIME64_1, PRIME64_2, PRIME64_3, PRIME64_4, PRIME32_2, PRIME64_5, PRIME32_1]
    keys = [struct.unpack_from("<8Q", SECRET, 8 * stripe) for stripe in range(17)]
    for number in range((size - 1) // 64):
        _accumulate(acc, struct.unpack_from("<8Q", data, 64 * number), keys[number % 16])
        if number % 16 == 15:
            for lane in range(8):
                value = acc[lane] & MASK64
                value ^= value >> 47 ^ keys[16][lane]
                acc[lane] = value * PRIME32_1 & MASK64
    _accumulate(acc, struct.unpack_from("<8Q", data, size - 64), struct.unpack_from("<8Q", SECRET, 121))
    acc = [value & MASK64 for value in acc]
    return _merge(acc, 117, ~(size * PRIME64_2) & MASK64), _merge(acc, 11, size * PRIME64_1 & MASK64)


@functools.lru_cache(maxsize=64)
def xxh3_128(data):
    """The two halves, (high, low), of the XXH3-128 of bytes."""
    size = len(data)
    if size == 0:
        return _of_0()
    if size <= 3:
        return _of_1_to_3(data)
    if size <= 8:
        return _of_4_to_8(data)
    if size <= 16:
        return _of_9_to_16(data)
    if size <= 128:
        return _of_17_to_128(data)
    if size <= 240:
        return _of_129_to_240(data)
    return _of_more(data)
