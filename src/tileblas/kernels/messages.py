"""Numbers handed from one running program to others, without fences: a number is its own notice.

A word is the bits of a number, or of both parts of a complex64 one: it is stored at once and loaded
at once. Words are 0 before; a number that is +0 is sent as -0, so none that was sent is 0.
"""

import triton
import triton.language as tl


@triton.constexpr_function
def word_type(dtype, COMPLEX):
    """The integer that a word is: 64 bits but for single FP32 numbers."""
    return tl.int32 if dtype == tl.float32 and not COMPLEX else tl.int64


@triton.constexpr_function
def word_count(dtype, COMPLEX):
    """The words of one number."""
    return 2 if dtype == tl.float64 and COMPLEX else 1


@triton.jit
def sealed(value):
    """The bits of numbers as integers, which are not 0: those of -0 for +0."""
    if value.dtype == tl.float64:
        bits = value.to(tl.int64, bitcast=True)
        return tl.where(bits == 0, tl.full((), -(2**63), tl.int64), bits)
    else:
        bits = value.to(tl.int32, bitcast=True)
        return tl.where(bits == 0, tl.full((), -(2**31), tl.int32), bits)


@triton.jit
def opened(bits):
    """The numbers of which these are the bits."""
    if bits.dtype == tl.int64:
        return bits.to(tl.float64, bitcast=True)
    else:
        return bits.to(tl.float32, bitcast=True)


@triton.jit
def send(words, re, im, COMPLEX: tl.constexpr):
    """Announce a vector; of complex128 numbers the words of all re lie before those of im."""
    SIDE: tl.constexpr = re.shape[0]
    at = words + tl.arange(0, SIDE)
    if word_count(re.dtype, COMPLEX) == 2:
        tl.store(at, sealed(re))
        tl.store(at + SIDE, sealed(im))
    elif COMPLEX:
        low = sealed(re).to(tl.int64) & 0xFFFFFFFF
        tl.store(at, low | (sealed(im).to(tl.int64) << 32))
    else:
        tl.store(at, sealed(re))


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
    if PLANES == 2:
        re = opened(joined(found, 0, PIECES))
        im = opened(joined(found, PIECES, PIECES))
    elif COMPLEX:
        pair = joined(found, 0, PIECES)
        re = opened(pair.to(tl.int32))
        im = opened((pair >> 32).to(tl.int32))
    else:
        re = opened(joined(found, 0, PIECES))
        im = re
    return re, im


@triton.jit
def load_pieces(words, COUNT: tl.constexpr, SIZE: tl.constexpr):
    """Pieces of SIZE words, which follow each other, as they are now."""
    at = words + tl.arange(0, SIZE)
    found = ()
    for piece in tl.static_range(COUNT):
        found = found + (tl.load(at + piece * SIZE, volatile=True),)
    return found


@triton.jit
def joined(found, first: tl.constexpr, PIECES: tl.constexpr):
    """The words of one or two pieces, from the `first` on, one piece after the other."""
    tl.static_assert(PIECES <= 2)
    words = found[first]
    if PIECES == 2:
        words = tl.trans(tl.join(words, found[first + 1]))
        words = tl.reshape(words, (2 * words.shape[1],))
    return words


@triton.jit
def is_incomplete(found, PIECES: tl.constexpr):
    """Whether a word has not come yet.

    That is asked in 32 bits: one instruction compares those of all threads of a warp.
    """
    come = (found[0] != 0).to(tl.int32)
    for piece in tl.static_range(1, PIECES):
        come &= (found[piece] != 0).to(tl.int32)
    return tl.min(come) == 0


@triton.jit
def clear(words, count, STEP: tl.constexpr):
    """Make `count` words 0 again."""
    lanes = tl.arange(0, STEP)
    nothing = tl.zeros((STEP,), words.dtype.element_ty)
    for start in range(0, count, STEP):
        tl.store(words + start + lanes, nothing, mask=lanes < count - start)
