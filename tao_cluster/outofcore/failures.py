"""What goes wrong while rows are read: which block it was, or that no more can be read."""

import contextlib


class BlockError(ValueError):
    """A block could not be made or worked on; the cause is its ``__cause__``.

    Parameters
    ----------
    number : int, of the block, from 0
    cause : Exception
    """

    def __init__(self, number, cause):
        super().__init__(f"Block {number}: {_sentence(cause)}")
        self.number = number

    def __reduce__(self):
        return type(self), (self.number, self.__cause__)


class LostRowsError(RuntimeError):
    """There is nobody left who could read the rows, such as a scheduler or its workers."""


@contextlib.contextmanager
def naming(number):
    """Context in which an exception becomes one that names the block."""
    try:
        yield
    except (BlockError, LostRowsError):
        raise
    except Exception as error:
        raise BlockError(number, error) from error


def _sentence(error):
    """What an exception says, with its class where that is not a ValueError."""
    text = str(error) or "no reason given"
    return text if isinstance(error, ValueError) else f"{type(error).__name__}: {text}"
