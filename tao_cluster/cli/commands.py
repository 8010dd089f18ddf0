"""The command line: its commands, and how faults are told: one sentence, and an exit code."""

import argparse
import sys
import warnings

from .. import __version__
from .demo import run_demo
from .fitting import add_parsers as add_fits
from .folder import check_free
from .using import add_parsers as add_uses
from .using import place


def main(argv=None):
    """Run the command line; returns the exit code (2 for bad input, after one sentence)."""
    options = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            options.run(options)
    except KeyboardInterrupt:
        _tell("interrupted.")
        return 130
    except BrokenPipeError:  # the reader, head say, has seen enough
        sys.stderr.close()
        return 0
    except (ValueError, OSError, ImportError) as error:
        _tell(f"error: {error}")
        return 2
    except MemoryError as error:
        _tell(f"error: there is not enough memory. {error}")
        return 2
    return 0


def _tell(sentence):
    print("tao-cluster:", " ".join(sentence.split()), file=sys.stderr)


def _show_warning(message, *_, **__):
    _tell(f"warning: {message}")


def _parser():
    parser = argparse.ArgumentParser(
        prog="tao-cluster", description="Explainable clustering by decision trees."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    demo = commands.add_parser(
        "demo", help="compare methods on scikit-learn's digits and draw a tree"
    )
    picture = "picture (default %(default)s)"
    demo.add_argument("--out", type=place, default="tao_digits.png", help=picture)
    demo.set_defaults(run=_demo)
    add_fits(commands, _tell)
    add_uses(commands, _tell)
    return parser


def _demo(options):
    out = options.out
    if out.suffix.lower() not in {".png", ".pdf", ".svg"}:
        raise ValueError(f"{out}: expected a picture file, .png, .pdf or .svg.")
    check_free([out], force=True)
    run_demo(out)
