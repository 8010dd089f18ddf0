"""A conclusion: a sentence or two to remember, and all that it rests on."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Saying:
    """A conclusion.

    Parameters
    ----------
    text : str, what a reader should remember, in Markdown
    details : str, the same for all settings, for those who ask; may be empty
    """

    text: str
    details: str = ""
