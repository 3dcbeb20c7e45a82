"""BlasError: what it says and carries."""

import pickle

from tileblas import BlasError


def test_message_names_routine_argument_position_and_rule():
    error = BlasError("gemm", "trans_a", "is 'X'; it must be one of 'N', 'T', 'C'", 1)
    assert (
        str(error)
        == "gemm: argument 'trans_a' (position 1) is 'X'; it must be one of 'N', 'T', 'C'"
    )
    assert isinstance(error, ValueError)


def test_an_error_survives_pickling():
    error = pickle.loads(pickle.dumps(BlasError("gemm", "c", "is read-only", 12)))
    assert (error.routine, error.argument, error.position) == ("gemm", "c", 12)
    assert "is read-only" in str(error)
