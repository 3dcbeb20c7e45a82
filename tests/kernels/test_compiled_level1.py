"""What the compiler makes of level 1: load widths, loops, spills, divisions, for every target."""

from dataclasses import replace

import pytest

triton = pytest.importorskip("triton")
pytestmark = pytest.mark.compile

from sass import ITEMSIZE, SHARED_LIMIT, count, disassembled, spills  # noqa: E402

from tileblas.core.dtypes import DTYPES  # noqa: E402
from tileblas.routines.registry import ROUTINES  # noqa: E402
from tileblas.routines.samples import problems  # noqa: E402
from tileblas.runtime.compile import compile_launch  # noqa: E402
from tileblas.runtime.target import Target  # noqa: E402
from tileblas.tuning.table import table  # noqa: E402

SM_90 = table("sm_90")
LONG = 1 << 20
REDUCTIONS = [
    *((name, dtype) for name in ("dot", "nrm2", "axpydot") for dtype in DTYPES),
    *(("iamax", dtype) for dtype in ("bfloat16", "float32", "float64", "complex64")),
]
# All types of one routine for each kernel; of the others, which are its variants, fewer.
UPDATES = [
    *(("axpby", dtype) for dtype in DTYPES),
    *(("copy", "float16"), ("scal", "float32"), ("axpy", "float64"), ("rot", "float32")),
    *(("rot", "complex64"), ("rot", "complex128"), ("swap", "float32"), ("rotm", "float32")),
]


def launch_of(name, dtype, n=LONG, batch=(), alignment=16, factors="", inc=1, tables=SM_90):
    """A launch of a sample call, or of one with complex factors or increments."""
    spec = ROUTINES[name]
    problem = next(
        problem
        for problem, _ in problems(spec, (dtype,))
        if problem.dims == ((n,) if spec.dims else ()) and problem.batch == batch
        if problem.scalar("beta")[0] != "zero"
    )
    if factors:
        kinds = {scalar: factors for scalar in spec.scalars if scalar not in spec.real_scalars}
        scalars = tuple((key, kinds.get(key, kind), "") for key, kind, _ in problem.scalars)
        problem = replace(problem, scalars=scalars)
    if inc != 1:
        views = [replace(view, strides=(inc,) * len(view.strides)) for view in problem.views]
        problem = replace(problem, inputs=tuple(views[:-1]), output=views[-1])
    (launch,) = spec.plan(problem, tables, alignment)
    return launch


def code(launch, cc=90):
    compiled = compile_launch(launch, Target(cc))
    return disassembled(compiled.cubin, compiled.shared)


def complex_factors(name, dtype):
    """So that complex vectors are not planned as real ones."""
    return "complex" if dtype.startswith("complex") and ROUTINES[name].scalars else ""


def main_loop(found):
    """The loop over whole blocks: the one with the widest loads, and the most of them."""

    def rank(operations):
        return max(bits(operations, "LDG"), default=0), count(operations, "LDG")

    return max(found.loops(), key=rank)


def bits(operations, instruction):
    """The widths of global loads or stores, in bits."""
    widths = set()
    for operation in operations:
        name, *modifiers = operation.split(".")
        if name == instruction:
            named = [WIDTH[modifier] for modifier in modifiers if modifier in WIDTH]
            widths.add(named[0] if named else 32)
    return widths


WIDTH = {"U8": 8, "U16": 16, "64": 64, "128": 128}


@pytest.mark.slow  # together
@pytest.mark.parametrize(("name", "dtype"), REDUCTIONS)
def test_loops_of_reductions_load_wide_and_do_not_spill(name, dtype):
    launch = launch_of(name, dtype, factors=complex_factors(name, dtype))
    assert dict(launch.constants)["SPLIT"]
    found = code(launch)
    loop = main_loop(found)
    assert bits(loop, "LDG") == {WIDTHS.get((name, dtype), 128)}
    assert not spills(found.operations())
    block = dict(launch.constants)["BLOCK"]
    size = ITEMSIZE[dtype] if dict(launch.constants)["COMPLEX"] else ITEMSIZE[real(dtype)]
    vectors = sum(a.name in ("x", "y", "w", "v", "u") for a in launch.arguments)
    per_thread = vectors * block * size // (32 * launch.num_warps)
    assert count(loop, "LDG") * WIDTHS.get((name, dtype), 128) // 8 == per_thread
    if name == "axpydot":
        assert bits(loop, "STG") == {WIDTHS.get((name, dtype), 128)}


def real(dtype):
    return DTYPES[dtype].real


#: Complex64 that stay complex are loaded a pair at a time.
WIDTHS = {(name, "complex64"): 64 for name in ("dot", "iamax", "axpydot")}


@pytest.mark.parametrize(
    ("name", "dtype"), [("asum", "float32"), ("iamin", "float64"), ("dsdot", "float32")]
)
def test_variants_of_the_reduction_load_wide_too(name, dtype):
    found = code(launch_of(name, dtype))
    assert bits(main_loop(found), "LDG") == {128}
    assert not spills(found.operations())


@pytest.mark.slow  # together
@pytest.mark.parametrize(("name", "dtype"), UPDATES)
def test_updates_load_and_store_wide_and_do_not_spill(name, dtype):
    found = code(launch_of(name, dtype, factors=complex_factors(name, dtype)))
    operations = found.operations()
    width = 64 if dtype == "complex64" else 128
    assert width in bits(operations, "LDG")
    assert width in bits(operations, "STG")
    assert not spills(operations)


@pytest.mark.parametrize(("name", "inc"), [("rot", 1), ("copy", 2)])
def test_updates_of_half_types_do_not_spill(name, inc):
    """With increments the code for them even has 32 registers, and thousands of spills."""
    launch = launch_of(name, "bfloat16", inc=inc, alignment=16 if inc == 1 else 1)
    assert not spills(code(launch).operations())


@pytest.mark.parametrize("name", ["copy", "swap"])
def test_what_is_only_moved_is_not_computed_with(name):
    operations = code(launch_of(name, "float32")).operations()
    assert not any(count(operations, o) for o in ("FMUL", "FADD", "FFMA", "DFMA", "F2F"))


def test_norms_and_wide_products_are_summed_in_float64():
    for name in ("nrm2", "dsdot"):
        loop = main_loop(code(launch_of(name, "float32")))
        assert count(loop, "DFMA")
        assert not count(loop, "FFMA")
    assert not count(main_loop(code(launch_of("dot", "float32"))), "DFMA")


def test_the_root_of_a_norm_is_rounded_correctly():
    """Not the approximation of float32, and no scaling of float32 operands by halves."""
    operations = code(launch_of("nrm2", "float32", 1000)).operations()
    assert operations["MUFU.RSQ64H"]
    assert not operations["MUFU.SQRT"] + operations["MUFU.RSQ"]


@pytest.mark.parametrize("name", ["dot", "axpydot", "axpy", "swap"])
def test_a_call_that_is_no_batch_and_not_split_divides_nothing(name):
    """Integers are divided by way of their reciprocals, which takes longer than all else here."""
    alone = code(launch_of(name, "float32", 1000)).operations()
    assert not count(alone, "MUFU.RCP")
    batch = code(launch_of(name, "float32", 1000, (3,))).operations()
    assert count(batch, "MUFU.RCP")


@pytest.mark.parametrize("name", ["dot", "axpy"])
def test_what_is_read_once_is_told_to_leave_l2_first(name):
    plain = replace(SM_90, evict_first_upto=0, evict_first_updates_upto=0)
    for tables, leaves in ((SM_90, True), (plain, False)):
        operations = code(launch_of(name, "float32", tables=tables)).operations()
        assert any(o.startswith("LDG") and ".EF" in o for o in operations) == leaves


@pytest.mark.parametrize("name", ["dot", "axpydot", "axpby", "rot"])
def test_unaligned_vectors_are_loaded_element_by_element(name):
    for alignment, widest in ((8, 64), (1, 32)):
        found = code(launch_of(name, "float32", alignment=alignment))
        # Beside its loop a reduction loads what other programs have left.
        part = main_loop(found) if found.loops() else found.operations()
        assert max(bits(part, "LDG")) == widest


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        *((name, "float32") for name in ("dot", "nrm2", "iamax", "axpydot", "axpby", "rot")),
        *((name, "complex64") for name in ("dot", "axpby")),
    ],
)
def test_vectors_with_increments_compile(name, dtype):
    launch = launch_of(name, dtype, factors=complex_factors(name, dtype), inc=3, alignment=1)
    found = code(launch)
    part = main_loop(found) if found.loops() else found.operations()
    assert max(bits(part, "LDG")) <= (64 if dtype == "complex64" else 32)


@pytest.mark.parametrize("kind", ["real_pointer", "complex_pointer"])
@pytest.mark.parametrize("name", ["axpby", "rot", "axpydot"])
def test_device_scalars_compile(name, kind):
    dtype = "complex64" if kind.startswith("complex") else "float32"
    spec, launch = ROUTINES[name], None
    problem, _ = next(problems(spec, (dtype,)))
    kinds = {s: "real_pointer" if s in spec.real_scalars else kind for s in spec.scalars}
    scalars = tuple((s, kinds[s], dtype if kinds[s] == kind else "float32") for s in spec.scalars)
    (launch,) = spec.plan(replace(problem, scalars=scalars), SM_90, 16)
    assert kind in dict(launch.constants).values()
    assert not spills(code(launch).operations())


# ---- rotations from their numbers ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "dtype"), [*(("rotg", dtype) for dtype in tuple(DTYPES)[2:]), ("rotmg", "float32")]
)
def test_rotations_from_numbers_do_not_spill_and_round_their_roots(name, dtype):
    found = code(launch_of(name, dtype)).operations()
    assert not spills(found)
    assert count(found, "DMUL")
    if name == "rotg":
        assert found["MUFU.RSQ64H"]
    assert not found["MUFU.SQRT"] + found["MUFU.RSQ"] + found["MUFU.RCP"]


def test_no_product_of_a_rotation_is_fused_with_a_sum():
    """Divisions and roots are made of fused ones; beside those there are more if it is allowed."""
    launch = launch_of("rotg", "float64")
    apart, fused = (code(replace(launch, fuse=fuse)).operations() for fuse in (False, True))
    assert count(apart, "DADD") > count(fused, "DADD")


@pytest.mark.parametrize("cc", sorted(set(SHARED_LIMIT) - {90}))
def test_other_targets_fit(cc):
    """One type a kernel: it compiles, and its shared memory fits."""
    tables = table(Target(cc).name)
    cases = [("nrm2", "float64"), ("axpydot", "float16"), ("axpby", "float32"), ("rot", "float64")]
    cases += [("rotg", "complex64"), ("rotmg", "float32")]
    for name, dtype in cases:
        assert code(launch_of(name, dtype, tables=tables), cc).shared <= SHARED_LIMIT[cc]
