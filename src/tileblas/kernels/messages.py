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
def receive(words, DTYPE: tl.constexpr, COMPLEX: tl.constexpr, SIDE: tl.constexpr):
    """The vector that another program sends, once it is there, as (re, im)."""
    PLANES: tl.constexpr = word_count(DTYPE, False)
    re = receive_real(words, DTYPE, SIDE)
    if COMPLEX:
        im = receive_real(words + PLANES * SIDE, DTYPE, SIDE)
    else:
        im = re
    return re, im


@triton.jit
def receive_real(words, DTYPE: tl.constexpr, SIDE: tl.constexpr):
    """The real numbers that another program sends, once all of them are there."""
    at = words + tl.arange(0, SIDE)
    low = tl.load(at, volatile=True)
    if tl.float64 == DTYPE:
        high = tl.load(at + SIDE, volatile=True)
        while tl.min(tl.minimum(low, high), 0) == 0:
            low = tl.load(at, volatile=True)
            high = tl.load(at + SIDE, volatile=True)
        bits = (low & 0xFFFFFFFF) | (high << 32)
        return bits.to(tl.float64, bitcast=True)
    else:
        while tl.min(low, 0) == 0:
            low = tl.load(at, volatile=True)
        return low.to(tl.int32).to(tl.float32, bitcast=True)


@triton.jit
def clear(words, count, STEP: tl.constexpr):
    """Make `count` words 0 again."""
    lanes = tl.arange(0, STEP)
    for start in range(0, count, STEP):
        tl.store(words + start + lanes, tl.zeros((STEP,), tl.int64), mask=lanes < count - start)
