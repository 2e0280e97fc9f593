"""The reading half of codec 3, classes, from wdelta-format(5). It shares nothing with class_bits.py."""

from streams import need


class Bits:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, count):
        need(self.at + count <= 8 * len(self.data), "the bits end early")
        piece = int.from_bytes(self.data[self.at >> 3:self.at + count + 7 >> 3], "little") >> (self.at & 7)
        self.at += count
        return piece & (1 << count) - 1

    def rice(self, k):
        zeros = 0
        while not self.take(1):
            zeros += 1
            if zeros == 32:
                return self.take(64)
        return zeros << k | self.take(k)

    def listed(self, count, k, n):
        """The positions of `count` listed things among n."""
        out, following = [], 0
        for _ in range(count):
            following += self.rice(k)
            need(following < n, "a listed thing is outside")
            out.append(following)
            following += 1
        return out

    def events(self, n):
        """For each of n things, whether it is special."""
        if not n:
            return []
        special = self.take(n.bit_length())
        need(special <= n, "more special things than things")
        others = special > n // 2
        count = n - special if others else special
        k = 0
        if count:
            x = (50 * (n - count) + 19 * count) // (50 * count)
            k = min(x.bit_length() - 1, 23) if x else 0
        flags = [others] * n
        for at in self.listed(count, k, n):
            flags[at] = not others
        return flags

    def end(self):
        need(len(self.data) == self.at + 7 >> 3, "bytes behind the last bit")
        need(not self.take(-self.at % 8), "the last byte is not filled up with zeros")


def exponent_field(dtype):
    """(shift, bits)."""
    if dtype in ("BF16", "F32"):
        return (7 if dtype == "BF16" else 23), 8
    if dtype in ("F16", "F64"):
        return (10, 5) if dtype == "F16" else (52, 11)
    if dtype.startswith("F8_E4M3"):
        return 3, 4
    return (2, 5) if dtype.startswith("F8_E5M2") else (0, 0)


def changed_members(bits, members):
    unchanged_listed, size = bits.take(1), bits.take(5)
    count = 1 << size - 1 | bits.take(size - 1) if size else 0
    k = bits.take(5) if size else 0
    need(k <= 23, "k is larger than 23")
    need(count <= len(members), "more listed members than members")
    listed = bits.listed(count, k, len(members))
    if not unchanged_listed:
        return [members[at] for at in listed]
    listed = set(listed)
    return [member for at, member in enumerate(members) if at not in listed]


def steps_of(bits, count):
    sizes = [1] * count
    large = [at for at, flag in enumerate(bits.events(count)) if flag]
    larger = [at for at, flag in zip(large, bits.events(len(large))) if flag]
    for at in large:
        sizes[at] = 2
    if larger:
        k = bits.take(4)
        for at in larger:
            sizes[at] = 3 + bits.rice(k)
    return [-size if bits.take(1) else size for size in sizes]


def decode_class_bits(coded, before, dtype, w):
    """The new elements."""
    bits, (shift, field) = Bits(coded), exponent_field(dtype)
    classes, first = bits.take(4) + 1, 0
    if classes > 1:
        first = bits.take(11)
        need(first + classes - 1 < 1 << field, "a class of an exponent that cannot be")
    r = bits.take(3)
    run = 1 << r + 5 if r else max(len(before), 1)
    active = bits.events(-(-len(before) // run)) if r else [True]
    members, mask = [[] for _ in range(classes)], (1 << field) - 1
    for at, value in enumerate(before):
        if active[at // run]:
            number = (value >> shift & mask) - first
            members[0 if number < 0 else min(number, classes - 1)].append(at)
    changed = [changed_members(bits, group) for group in members]
    out = list(before)
    for group in changed:
        for at, step in zip(group, steps_of(bits, len(group))):
            out[at] = (before[at] + step) % (1 << 8 * w)
    bits.end()
    return out
