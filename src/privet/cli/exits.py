"""Exit codes of the command line; docs/command_line.md lists them."""

from enum import IntEnum

from privet.errors import BudgetError, ModelFileError, PrivetError, SchemaError


class Exit(IntEnum):
    """How a command ended."""

    OK = 0
    FAILED = 1  # the work could not be finished
    USAGE = 2  # a mistake in the call: an unknown option, a file that is not there, a parameter out of range
    BUDGET = 3  # the privacy budget does not suffice; nothing was drawn
    SCHEMA = 4  # a schema is absent, unfinished or not valid, or the data's columns do not fit it
    MODEL_FILE = 5  # a model file is damaged, of another version, or not a model file
    REFUTED = 6  # a check was made and says no: an audit refutes the claim, a frame breaks the schema
    STOPPED = 130  # interrupted by the user, as shells count it
    TERMINATED = 143  # ended by another program (SIGTERM), as shells count it


_OF_ERROR: dict[type[PrivetError], Exit] = {
    BudgetError: Exit.BUDGET,
    SchemaError: Exit.SCHEMA,
    ModelFileError: Exit.MODEL_FILE,
}


def exit_of(error: PrivetError) -> Exit:
    """Return the exit code of a command that ends with an error of the library."""
    return next((code for kind, code in _OF_ERROR.items() if isinstance(error, kind)), Exit.USAGE)
