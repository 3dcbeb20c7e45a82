"""The routines: one Spec each, and the plan functions that turn a Problem into Launches."""
