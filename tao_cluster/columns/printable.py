"""Any name as one line of text that every target can hold."""

import re

# Control characters, separators of lines and paragraphs, marks that turn the direction of what
# follows, halves of surrogate pairs (no encoding has them) and what XML forbids.
_HIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufeff\ufdd0-\ufdef"
    "\ufffe\uffff]"
)


def printable(text):
    r"""A name as one line that can be printed, encoded and put into XML.

    Characters that break lines, steer terminals or cannot be encoded are written as Python
    escapes: a line break is ``\n``. A blank name stands in quotes. Everything else stays as it is,
    backslashes too, so that the result is its own printable form; two names may become one text.

    Parameters
    ----------
    text : str

    Returns
    -------
    str

    Examples
    --------
    >>> print(printable("petal\nwidth"), printable(""), printable("größe $"))
    petal\nwidth '' größe $
    """
    text = _HIDDEN.sub(_escape, text)
    return text if text.strip() else f"'{text}'"


def printable_lines(text):
    """A title, whose line breaks stay, with every line as :func:`printable` has it."""
    return "\n".join(printable(line) if line else "" for line in text.split("\n"))


def brief(text, longest=48):
    """A text of at most so many characters, for a picture: of a longer one both ends."""
    half = longest // 2
    return text if len(text) <= longest else f"{text[: half - 1]}…{text[-half:]}"


def _escape(found):
    return found[0].encode("unicode_escape", "surrogatepass").decode("ascii")
