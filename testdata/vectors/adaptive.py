"""Codec 5, adaptive, from wdelta-format(5). One walk serves both ways: what is said to a Teller or heard from a Hearer.

As the model has to be the same on both sides, the two halves share it here; it is held against the library's.
"""

from checkpoints import elements, varint, width
from class_bits import EXPONENTS, BitWriter, exponent, signed_step
from streams import Reader, need
from unpack_classes import Bits

ONES = (1 << 32) - 1
P = [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793, 47911, 53581,
     57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514]


class Span:
    """low and high, which both sides narrow in the same way."""

    def __init__(self):
        self.low, self.high = 0, ONES

    def narrow(self, chance, choose):
        middle = self.low + ((self.high - self.low) * min(max(chance, 1), 65535) >> 16)
        bit = choose(middle)
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while self.low >> 24 == self.high >> 24:
            self.shift(self.low >> 24)
            self.low, self.high = self.low << 8 & ONES, self.high << 8 & ONES | 255
        return bit


class Teller(Span):
    def __init__(self):
        super().__init__()
        self.out = bytearray()

    def shift(self, byte):
        self.out.append(byte)

    def decide(self, chance, bit):
        return self.narrow(chance, lambda middle: bit)

    def bytes(self):
        return bytes(self.out) + self.low.to_bytes(4, "big")


class Hearer(Span):
    def __init__(self, data):
        super().__init__()
        self.reader = Reader(data)
        self.value = int.from_bytes(self.reader.take(4), "big")

    def shift(self, byte):
        self.value = self.value << 8 & ONES | self.reader.u8()

    def decide(self, chance, bit):
        return self.narrow(chance, lambda middle: self.value <= middle)


class State:
    def __init__(self, chance=1 << 31):
        self.chance, self.count = chance, 0

    def c(self):
        return self.chance >> 16

    def learn(self, bit, limit):
        move, divisor = 2 * ((ONES if bit else 0) - self.chance), 2 * self.count + 3
        self.chance += move // divisor if move >= 0 else -(-move // divisor)
        self.count += self.count < limit


def squash(x):
    i, r = x >> 7, x & 127
    return (P[i + 16] * (128 - r) + P[i + 17] * r + 64) // 128


def clamp(value, bound):
    return min(max(value, -bound), bound)


STRETCH = []  # by c / 16
at_ = -2047
for cell_ in range(4096):
    while at_ < 2047 and squash(at_) // 16 < cell_:
        at_ += 1
    STRETCH.append(at_)


class Model:
    def __init__(self, coder, columns, w):
        self.coder, self.w, self.states = coder, w, {}
        self.follow, self.lean, self.last = ([0] * columns for _ in range(3))
        self.weights = [26214] * 3
        self.start_row()

    def start_row(self):
        self.r = self.l = self.last_in_row = 0
        self.row = []

    def end_row(self):
        g = 1 if self.r >= 0 else -1
        q = 51 + min(256, g * self.r)
        for j, d in self.row:
            self.follow[j] = (230 * self.follow[j] >> 8) + (g * d * q >> 1)
        self.start_row()

    def state(self, *key, chance=1 << 31):
        if key not in self.states:
            self.states[key] = State(chance)
        return self.states[key]

    def changed(self, e, bit):
        both = [self.state(name, e, chance=0x4CCCCCCC) for name in ("slow", "quick")]
        bit = self.coder.decide(sum(state.c() for state in both) // 2, bit)
        both[0].learn(bit, 30000)
        both[1].learn(bit, 1023)
        return bit

    def went_up(self, j, bit):
        a = clamp(4 * self.r * self.follow[j] >> 16, 15) + 16
        b = clamp(3 * ((self.l >> 1) + self.lean[j]) >> 8, 15) + 16
        m = 3 * (self.last_in_row + 1) + self.last[j] + 1
        states = [self.state("A", a), self.state("B", 9 * a + m), self.state("C", b)]
        stretched = [STRETCH[state.c() >> 4] for state in states]
        mixed = sum(weight * s for weight, s in zip(self.weights, stretched)) >> 16
        c = min(max(squash(clamp(mixed, 2047)), 64), 65472)
        bit = self.coder.decide(c, bit)
        error = (65535 if bit else 0) - c
        self.weights = [weight + (s * error + 8192 >> 14) for weight, s in zip(self.weights, stretched)]
        for state in states:
            state.learn(bit, 250)
        d = 1 if bit else -1
        self.r += d * self.follow[j]
        self.l = (205 * self.l >> 8) + 256 * d
        self.lean[j] = (205 * self.lean[j] >> 8) + 128 * d
        self.last_in_row = self.last[j] = d
        self.row.append((j, d))
        return bit

    def size(self, e, z):
        b = 0
        while b < 8 * self.w - 1:
            level, change = self.state("level", b, e), self.state("change", e + b)
            if level.count == 0 and change.count > 2:
                level.chance, level.count = change.chance, 1
            more = self.coder.decide(level.c(), z is not None and z >> b + 1 > 0)
            level.learn(more, 1023)
            change.learn(more, 1023)
            if not more:
                break
            b += 1
        told = 1
        for number in range(b):
            bit = z is not None and z >> b - 1 - number & 1
            if number < 3:
                state = self.state("detail", told, e + b)
                bit = self.coder.decide(state.c(), bit)
                state.learn(bit, 1023)
            else:
                bit = self.coder.decide(32768, bit)
            told = told << 1 | bool(bit)
        return told


def walk(coder, before, after, dtype, highest, columns, column, active, run):
    """The new elements. after is None for a Hearer."""
    w, out = width(dtype), list(before)
    model, top = Model(coder, columns, w), 8 * w - 1
    for at, old in enumerate(before):
        if column == columns:
            model.end_row()
            column = 0
        e = exponent(old, dtype)
        if active[at // run] and e <= highest:
            step = signed_step(old, after[at], w) if after else None
            if model.changed(e, step and step != 0):
                up = model.went_up(column, step is not None and (step < 0) == bool(old >> top))
                z = model.size(e, abs(step) if after else None)
                negative = bool(up) == bool(old >> top)
                out[at] = (old - z if negative else old + z) % (1 << 8 * w)
        column += 1
    return out


def encode_adaptive(old, new, dtype, columns=1, column=0, r=0):
    w = width(dtype)
    before, after = elements(old, w), elements(new, w)
    changed = [at for at, (one, two) in enumerate(zip(before, after)) if one != two]
    highest = max(exponent(before[at], dtype) for at in changed)
    bits, run, active = BitWriter().put(r, 3), len(before), [True]
    if r:
        run = 1 << r + 5
        runs = {at // run for at in changed}
        count = -(-len(before) // run)
        bits.events(sorted(runs), count)
        active = [number in runs for number in range(count)]
    coder = Teller()
    walk(coder, before, after, dtype, highest, columns, column, active, run)
    head = bytes([highest]) + varint(columns) + varint(column) + varint(len(bits.bytes())) + bits.bytes()
    return head + coder.bytes()


def decode_adaptive(coded, old, size, dtype):
    need(old is not None, "adaptive without an old block")
    w = width(dtype)
    need(dtype in EXPONENTS and w <= 2, "adaptive for a dtype that it is not for")
    reader = Reader(coded)
    highest, columns, column = reader.u8(), reader.varint(), reader.varint()
    need(1 <= columns <= 65536 and column < columns, "columns that cannot be")
    bits = Bits(reader.take(reader.varint()))
    before, r = elements(old, w), bits.take(3)
    run = 1 << r + 5 if r else max(len(before), 1)
    active = bits.events(-(-len(before) // run)) if r else [True]
    bits.end()
    coder = Hearer(reader.rest())
    new = walk(coder, before, None, dtype, highest, columns, column, active, run)
    coder.reader.end()
    return b"".join(value.to_bytes(w, "little") for value in new)
