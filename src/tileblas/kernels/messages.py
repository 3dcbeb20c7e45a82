"""Vectors handed from one running program to others, without fences: number and notice in one word.

A word has 64 bits, which are stored and loaded at once: 32 of the number, and a 1 above them that
says that it is there. FP64 numbers take two words, complex ones twice as many. Words are 0 before.
"""

import triton
import triton.language as tl


@triton.constexpr_function
def word_count(dtype, COMPLEX):
    """The words of one number."""
    return (2 if dtype == tl.float64 else 1) * (2 if COMPLEX else 1)


@triton.jit
def send(words, re, im, COMPLEX: tl.constexpr):
    """Announce a vector: its words lie one plane after the other."""
    SIDE: tl.constexpr = re.shape[0]
    PLANES: tl.constexpr = word_count(re.dtype, False)
    send_real(words, re)
    if COMPLEX:
        send_real(words + PLANES * SIDE, im)


@triton.jit
def send_real(words, value):
    """Announce real numbers, of FP64 the low halves of all before the high ones."""
    at = words + tl.arange(0, value.shape[0])
    NOTICE: tl.constexpr = 1 << 32
    if value.dtype == tl.float64:
        bits = value.to(tl.int64, bitcast=True)
        tl.store(at, (bits & 0xFFFFFFFF) | NOTICE)
        tl.store(at + value.shape[0], ((bits >> 32) & 0xFFFFFFFF) | NOTICE)
    else:
        bits = value.to(tl.int32, bitcast=True).to(tl.int64)
        tl.store(at, (bits & 0xFFFFFFFF) | NOTICE)


@triton.jit
def receive(
    words, own, is_next,
    DTYPE: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr, PATIENT: tl.constexpr,
):  # fmt: skip
    """The vector that another program sends, once it is there, as (re, im).

    A PATIENT program whose turn is not next looks at one word alone until that has come: programs
    that all look at the same words, by many warps or for numbers of many words, are in each other's
    way in L2. PATIENT more than once, it looks at words of its `own`, which are 0, in between.
    """
    PLANES: tl.constexpr = word_count(DTYPE, COMPLEX)
    if PATIENT:  # noqa: SIM102 - a compile-time condition around one of run time
        if is_next == 0:
            last = words + PLANES * SIDE - 1
            found = tl.load(last, volatile=True)
            while found == 0:
                for _ in tl.static_range(1, PATIENT):
                    found += tl.load(own + found, volatile=True)
                found = tl.load(last + found, volatile=True)
    # Of 32 words each warp gets all: none has to hear from the others what they have found.
    PIECES: tl.constexpr = 1 if SIDE <= 32 else SIDE // 32
    found = load_pieces(words, PLANES * PIECES, SIDE // PIECES)
    while is_incomplete(found, PLANES * PIECES):
        found = load_pieces(words, PLANES * PIECES, SIDE // PIECES)
    re = numbers(found, 0, DTYPE, PIECES)
    if COMPLEX:
        im = numbers(found, PLANES // 2 * PIECES, DTYPE, PIECES)
    else:
        im = re
    return re, im


@triton.jit
def numbers(found, first: tl.constexpr, DTYPE: tl.constexpr, PIECES: tl.constexpr):
    """The real numbers whose words are in `found` from the `first` piece on."""
    tl.static_assert(PIECES <= 2)
    value = number(found, first, DTYPE, PIECES)
    if PIECES == 2:
        value = tl.trans(tl.join(value, number(found, first + 1, DTYPE, PIECES)))
        value = tl.reshape(value, (2 * value.shape[1],))
    return value


@triton.jit
def number(found, index: tl.constexpr, DTYPE: tl.constexpr, PIECES: tl.constexpr):
    """The real numbers of which this piece has the words, or of FP64 the low halves."""
    if tl.float64 == DTYPE:
        low = found[index] & 0xFFFFFFFF
        return (low | (found[index + PIECES] << 32)).to(tl.float64, bitcast=True)
    else:
        return found[index].to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def load_pieces(words, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """Pieces of SIZE words, which follow each other, as they are now."""
    at = words + tl.arange(0, SIZE)
    found = ()
    for piece in tl.static_range(COUNT):
        found = found + (tl.load(at + piece * SIZE, volatile=True),)
    return found


@triton.jit
def is_incomplete(found, PIECES: tl.constexpr):
    """Whether a word has not come yet.

    Of all words the notices alone are compared: one instruction does so for the 32 bits of all
    threads of a warp.
    """
    notice = (found[0] >> 32).to(tl.int32)
    for piece in tl.static_range(1, PIECES):
        notice &= (found[piece] >> 32).to(tl.int32)
    return tl.min(notice, 0) == 0


@triton.jit
def clear(words, count, STEP: tl.constexpr):
    """Make `count` words 0 again."""
    lanes = tl.arange(0, STEP)
    for start in range(0, count, STEP):
        tl.store(words + start + lanes, tl.zeros((STEP,), tl.int64), mask=lanes < count - start)
