"""The one exception that bad BLAS arguments raise."""

from __future__ import annotations


class BlasError(ValueError):
    """A routine was called with an argument that breaks one of its rules.

    Raised before anything is written or launched. `position` is the number that Fortran BLAS
    gives the argument (gemm's trans_a 1, a 7, b 9, c 12), None where Fortran has no such argument.
    """

    def __init__(
        self,
        routine: str,
        argument: str | None,
        message: str,
        position: int | None = None,
    ) -> None:
        self.routine = routine
        self.argument = argument
        self.position = position
        where = f" argument {argument!r}" if argument else ""
        where += f" (position {position})" if position else ""
        super().__init__(f"{routine}:{where} {message}" if where else f"{routine}: {message}")

    def __reduce__(self):
        """Pickle by fields, because the message alone does not rebuild them."""
        return _rebuild, (self.routine, self.argument, str(self), self.position)


def _rebuild(routine, argument, text, position) -> BlasError:
    error = BlasError(routine, argument, "", position)
    error.args = (text,)
    return error
