"""Real compilations for sm_90, and what the adapter refuses."""

import dataclasses
import subprocess
import sys

import pytest

from tileblas.runtime import compile as compiler
from tileblas.runtime.compile import CompileError, compile_launch, usage
from tileblas.runtime.target import TARGETS, Target
from tileblas.runtime.variant import variant_of

pytest.importorskip("triton")
pytestmark = pytest.mark.compile

SM90 = Target(90)
PTX = """
.visible .entry scale_kernel(
	.param .u64 .ptr .global .align 1 scale_kernel_param_0,
	.param .u64 .ptr .global .align 1 scale_kernel_param_1,
	.param .u64 scale_kernel_param_2,
	.param .u64 scale_kernel_param_3,
	.param .f32 scale_kernel_param_4,
	.param .u64 .ptr .global .align 1 scale_kernel_param_5,
	.param .u64 .ptr .global .align 1 scale_kernel_param_6
)
.reqntid 128
{
	.param .b32 not_of_the_entry;
"""


def test_compiles_for_sm_90(scale, kernels):
    compiled = compile_launch(scale, SM90, kernels)
    assert compiled.entry == "scale_kernel"
    assert compiled.threads == 128
    assert compiled.shared == 0
    assert compiled.parameters == ("*fp32", "*fp32", "i64", "i64", "fp32")
    assert compiled.cubin.startswith(b"\x7fELF")


@pytest.mark.parametrize("target", TARGETS, ids=str)
def test_compiles_for_every_target(scale, kernels, target):
    assert compile_launch(scale, target, kernels).target == str(target)


def test_warps_decide_the_threads(scale, kernels):
    launch = dataclasses.replace(scale, num_warps=8)
    assert compile_launch(launch, SM90, kernels).threads == 256


def test_alignment_widens_loads(scale, kernels):
    copy = dataclasses.replace(scale, kernel="scale.copy_kernel", arguments=scale.arguments[:2])
    narrow = dataclasses.replace(copy, alignment=1)
    assert "LDG.E.128" in compiler.sass(compile_launch(copy, SM90, kernels))
    assert "LDG.E.128" not in compiler.sass(compile_launch(narrow, SM90, kernels))


def test_global_scratch_is_refused(scale, kernels):
    launch = dataclasses.replace(
        scale, kernel="scale.scratch_kernel", arguments=scale.arguments[:1]
    )
    with pytest.raises(CompileError, match="bytes of global scratch"):
        compile_launch(launch, SM90, kernels)


def test_usage(scale, kernels):
    found = usage(compile_launch(scale, SM90, kernels))
    assert 0 < found.registers <= 255
    assert found.stack == found.local == 0


def test_registers_are_limited_where_a_launch_says_so(scale, kernels):
    limited = dataclasses.replace(scale, max_registers=24)
    assert "maxnreg" not in variant_of(scale, SM90).options
    assert variant_of(limited, SM90).options["maxnreg"] == 24
    free, few = (usage(compile_launch(launch, SM90, kernels)) for launch in (scale, limited))
    assert few.registers <= 24 < free.registers


def test_promises_are_pointers_and_strides(scale):
    assert variant_of(scale, SM90).divisors == (("x", 16), ("y", 16), ("x_inc", 4))
    assert variant_of(dataclasses.replace(scale, alignment=8), SM90).divisors == (
        ("x", 8),
        ("y", 8),
        ("x_inc", 2),
    )
    assert variant_of(dataclasses.replace(scale, alignment=1), SM90).divisors == ()


def test_sizes_offsets_and_grid_share_a_variant(scale):
    arguments = list(scale.arguments)
    arguments[0] = dataclasses.replace(arguments[0], value=("x", 17))
    arguments[2] = dataclasses.replace(arguments[2], value=7)
    other = dataclasses.replace(scale, arguments=tuple(arguments), grid=5, counters=3)
    assert variant_of(other, SM90) == variant_of(scale, SM90)


@pytest.mark.parametrize(
    "change",
    [
        {"constants": ()},
        {"constants": (("BLOCK", 1024), ("BLOCKS", 2))},
    ],
    ids=["missing", "unknown"],
)
def test_wrong_constants_are_named(scale, kernels, change):
    with pytest.raises(CompileError, match="scale_kernel takes"):
        compile_launch(dataclasses.replace(scale, **change), SM90, kernels)


def test_arguments_out_of_order_are_refused(scale, kernels):
    swapped = dataclasses.replace(scale, arguments=scale.arguments[::-1])
    with pytest.raises(CompileError, match="scale_kernel takes"):
        compile_launch(swapped, SM90, kernels)


def test_unknown_kernel(scale, kernels):
    with pytest.raises(LookupError, match=r"no kernel 'scale\.sqale_kernel'"):
        compile_launch(dataclasses.replace(scale, kernel="scale.sqale_kernel"), SM90, kernels)


@pytest.mark.parametrize("version", ["3.5.1", "3.10.0", "4.0"])
def test_other_tritons_are_refused(scale, kernels, monkeypatch, version):
    import triton

    monkeypatch.setattr(triton, "__version__", version)
    with pytest.raises(CompileError, match=r"have 3\.6 to 3\.9"):
        compile_launch(scale, SM90, kernels)


def test_interface_guard_accepts_what_is_bound(scale):
    compiler._check_interface(PTX, "scale_kernel", variant_of(scale, SM90))


@pytest.mark.parametrize(
    "changed",
    [
        PTX.replace(",\n\t.param .u64 .ptr .global .align 1 scale_kernel_param_6", ""),
        PTX.replace(".param .f32 scale_kernel_param_4", ".param .f64 scale_kernel_param_4"),
        PTX.replace("param_6\n", "param_6,\n\t.param .u64 scale_kernel_param_7\n"),
    ],
    ids=["fewer", "wider", "more"],
)
def test_interface_guard_refuses_another_interface(scale, changed):
    with pytest.raises(CompileError, match="passes arguments in another way"):
        compiler._check_interface(changed, "scale_kernel", variant_of(scale, SM90))


def test_an_interpreting_process_cannot_compile(scale, kernels, tmp_path):
    program = f"""
import sys; sys.path.insert(0, {str(tmp_path)!r})
from tileblas.runtime.compile import CompileError, compile_variant
from tileblas.runtime.sources import Kernels
from tileblas.runtime.target import Target
from tileblas.runtime.variant import Variant
from pathlib import Path
variant = Variant("scale.scale_kernel", (), (), (), 4, 2, 0, True, Target(90))
try:
    compile_variant(variant, Kernels({kernels.package!r}, Path({str(kernels.folder)!r})))
except CompileError as error:
    print(error)
"""
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={"PATH": "", "TRITON_INTERPRET": "1", "PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert "a process either interprets or compiles" in done.stdout
