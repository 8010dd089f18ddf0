"""Texts of files, perhaps compressed: what unpacks to far more than the file is refused."""

import gzip

_MOST_TIMES = 100  # of the file's length that it may unpack to; tables reach some 20
_SMALL = 2**26  # bytes that may be packed as tight as they like
_PART = 2**20  # bytes that are unpacked at a time


class BurstError(OSError):
    """A compressed file that unpacks to more than it may."""


def is_packed(path):
    """Whether a file's name says that it is compressed."""
    return path.suffix.lower() == ".gz"


def check_packed(path):
    """Unpack a compressed file once, keeping nothing; others are as they are.

    Parameters
    ----------
    path : Path

    Raises
    ------
    BurstError
        If it unpacks to more than tables do.
    OSError, EOFError, zlib.error
        If it is no such file, or is cut or altered.
    """
    if not is_packed(path):
        return
    room = max(_SMALL, _MOST_TIMES * path.stat().st_size)
    with gzip.open(path) as file:
        while part := file.read(_PART):
            room -= len(part)
            if room < 0:
                raise BurstError(
                    f"it unpacks to more than {_MOST_TIMES} times its length; unpack it first, "
                    "if it is what you want"
                )
