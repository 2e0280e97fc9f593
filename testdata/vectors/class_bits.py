"""The writing half of codec 3, classes, from wdelta-format(5): bits, Rice codes, events and coded blocks.

A writer has choices (classes, runs, what is listed, each k); encode_classes() takes them as arguments, so that cases
can ask for any of them. Its own choices are simple ones, not those of the library.
"""

from checkpoints import elements, width

# dtype -> (lowest bit, number of bits) of the exponent
EXPONENTS = {"BF16": (7, 8), "F32": (23, 8), "F16": (10, 5), "F64": (52, 11), "F8_E4M3": (3, 4), "F8_E4M3FNUZ": (3, 4),
             "F8_E5M2": (2, 5), "F8_E5M2FNUZ": (2, 5)}


class BitWriter:
    def __init__(self):
        self.bits = []

    def put(self, value, count):
        assert value >> count == 0, (value, count)
        self.bits += [value >> at & 1 for at in range(count)]
        return self

    def rice(self, value, k):
        if value >> k > 31:
            return self.put(0, 32).put(value, 64)
        return self.put(0, value >> k).put(1, 1).put(value & (1 << k) - 1, k)

    def gaps(self, positions, k):
        following = 0
        for position in positions:
            self.rice(position - following, k)
            following = position + 1
        return self

    def events(self, special, n):
        """special: the numbers of the special things, rising."""
        if n == 0:
            return self
        self.put(len(special), n.bit_length())
        if len(special) > n // 2:
            special = [at for at in range(n) if at not in set(special)]
        count = len(special)
        if count:
            x = (50 * (n - count) + 19 * count) // (50 * count)
            self.gaps(special, min(23, max(x.bit_length() - 1, 0)))
        return self

    def bytes(self):
        filled = self.bits + [0] * (-len(self.bits) % 8)
        return bytes(sum(bit << at for at, bit in enumerate(filled[begin:begin + 8]))
                     for begin in range(0, len(filled), 8))


def exponent(value, dtype):
    low, count = EXPONENTS.get(dtype, (0, 0))
    return value >> low & (1 << count) - 1


def signed_step(old, new, w):
    step = (new - old) % (1 << 8 * w)
    return step - (1 << 8 * w) if step >> 8 * w - 1 else step


def put_listed(out, members, changed, complement, k):
    """Part 4 of one class. complement: None for whichever list is shorter."""
    if complement is None:
        complement = 2 * len(changed) > len(members)
    listed = [at for at, member in enumerate(members) if (member in changed) != complement]
    count = len(listed)
    out.put(int(complement), 1).put(count.bit_length(), 5)
    if not count:
        return
    out.put(count - (1 << count.bit_length() - 1), count.bit_length() - 1)
    if k is None:
        k = max((len(members) // count).bit_length() - 1, 0)
    out.put(k, 5).gaps(listed, k)


def put_steps(out, steps, k):
    """Part 5 of one class: the steps of its changed members."""
    large = [step for step in steps if abs(step) > 1]
    larger = [abs(step) for step in large if abs(step) > 2]
    out.events([at for at, step in enumerate(steps) if abs(step) > 1], len(steps))
    out.events([at for at, step in enumerate(large) if abs(step) > 2], len(large))
    if larger:
        out.put(k, 4)
        for value in larger:
            out.rice(value - 3, k)
    for step in steps:
        out.put(int(step < 0), 1)


def encode_classes(old, new, dtype, count=1, first=0, r=0, complement=None, k=None, step_k=2):
    w = width(dtype)
    before, after = elements(old, w), elements(new, w)
    changed = {at for at, (one, two) in enumerate(zip(before, after)) if one != two}
    out = BitWriter().put(count - 1, 4)
    if count > 1:
        out.put(first, 11)
    out.put(r, 3)
    active = range(len(before))
    if r:
        runs = sorted({at >> r + 5 for at in changed})
        out.events(runs, (len(before) - 1 >> r + 5) + 1)
        active = [at for at in active if at >> r + 5 in set(runs)]
    members = [[] for _ in range(count)]
    for at in active:
        members[min(max(exponent(before[at], dtype) - first, 0), count - 1)].append(at)
    for group in members:
        put_listed(out, group, changed, complement, k)
    for group in members:
        put_steps(out, [signed_step(before[at], after[at], w) for at in group if at in changed], step_k)
    return out.bytes()
