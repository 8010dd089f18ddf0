"""Short forms of long names: a beginning that many names share is replaced by "…"."""

import re
from collections import Counter
from dataclasses import dataclass

MARK = "…"
_LONG = 24  # only names with more characters are abbreviated
_LEAST = 10  # least number of characters of a shared beginning
_MOST = 200  # longest beginning that is looked for, in characters
_ENDS = re.compile(r"[\s_.:/-]+")  # a beginning ends behind one of these characters


@dataclass(frozen=True)
class Abbreviation:
    """A beginning of names that displays replace by "…".

    Parameters
    ----------
    prefix : str, default=""
        The beginning; empty if names are shown as they are.

    Examples
    --------
    >>> questions = [f"How satisfied are you with your {part}?" for part in ("home", "work")]
    >>> shorten = Abbreviation.from_names(questions)
    >>> shorten("2*How satisfied are you with your home?"), shorten.note
    ('2*…home?', '… stands for "How satisfied are you with your"')
    """

    prefix: str = ""

    @classmethod
    def from_names(cls, names):
        """Find the beginning that saves the most characters in at least half of the long names.

        Parameters
        ----------
        names : iterable of str
        """
        long = sorted({str(name) for name in names if len(name) > _LONG})
        counts = Counter(
            name[: found.end()]
            for name in long
            for found in _ENDS.finditer(name, 0, _MOST)
            if _LEAST <= found.end() < len(name)
        )
        shared = [p for p, n in counts.items() if n >= 2 and 2 * n >= len(long)]
        return cls(max(shared, key=lambda p: (counts[p] * len(p), p), default=""))

    def __call__(self, text):
        """Return a text that contains names, with the mark in place of the beginning."""
        return text.replace(self.prefix, MARK) if self.prefix else text

    @property
    def note(self):
        """The sentence that explains the mark to a reader; empty if nothing is left out."""
        return f'{MARK} stands for "{self.prefix.strip()}"' if self.prefix else ""


AS_THEY_ARE = Abbreviation()
