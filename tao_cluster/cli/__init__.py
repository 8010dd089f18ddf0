"""The command line `tao-cluster`: its parser, one error message and an exit code per failure."""

import argparse
import sys
import time
import warnings

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_matrix
from sklearn.datasets import load_digits, make_blobs

import greedy

from .. import __version__
from ..columns.schema import OpenQuestionsError
from ..comparison import compare
from ..estimator import TAOClustering
from .arguments import add_command, place, warn
from .fitting import add_parsers as add_fits
from .folder import check_free
from .using import PICTURES
from .using import add_parsers as add_uses


def main(argv=None):
    """Run the command line; return exit code 0, 2 after an error, or 130 after an interruption."""
    _escape_foreign_characters()
    options = _parser().parse_args(argv)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: warn(f"warning: {message}")
            options.run(options)
    except KeyboardInterrupt:
        warn("interrupted.")
        return 130
    except BrokenPipeError:  # the reader of the output, for example `head`, has stopped
        sys.stderr.close()
        return 0
    except OpenQuestionsError as error:  # its lines are to be pasted
        print(f"tao-cluster: {error}", file=sys.stderr)
        return 2
    except (ValueError, OSError, ImportError, MemoryError) as error:
        reason = "there is not enough memory. " if isinstance(error, MemoryError) else ""
        warn(f"error: {reason}{error}")
        return 2
    return 0


def _escape_foreign_characters():
    """Print characters that the encoding of the output lacks as escapes, instead of failing.

    On Windows, a redirected output has the encoding of the system, which lacks many letters.
    """
    for stream in (sys.stdout, sys.stderr):
        if getattr(stream, "errors", None) == "strict" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _parser():
    parser = argparse.ArgumentParser(
        prog="tao-cluster", description="Explainable clustering by decision trees."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    text = "compare methods on the digits of scikit-learn and draw a tree"
    demo = add_command(commands, "demo", text, _demo)
    picture = "file of the picture (default: %(default)s)"
    demo.add_argument("--out", type=place, default="tao_digits.png", help=picture)
    add_fits(commands)
    add_uses(commands)
    text = "compile the numerical code in advance, so that first fits do not have to"
    command = add_command(commands, "warm-up", text, _warm_up)
    jobs = "number of processes that compile (default: one per core)"
    command.add_argument("--jobs", type=int, default=-1, help=jobs)
    return parser


def _demo(options):
    """Compare methods on digits, print one table and draw the sparsest oblique tree."""
    out = options.out
    if out.suffix.lower() not in PICTURES:
        raise ValueError(f"{out}: expected a picture file, .png, .pdf or .svg.")
    check_free([out], force=True)
    X, n_clusters = load_digits().data / 16, 10
    lambdas = (0.3, 2.0, 8.0)  # the last one is drawn
    methods = {"CART": "cart", "IMM": "imm", "ExGreedy": "exgreedy", "ExShallow": "exshallow"}
    methods |= {"ExKMC": "exkmc", "TAO axis": "tao-axis"}
    published = TAOClustering(lambda_=lambdas[0], algorithm="published")
    methods |= {f"TAO as published, lambda={lambdas[0]:g}": published, "TAO oblique": "tao"}
    print(f"digits: {len(X)} images of 8x8 pixels in [0, 1], {n_clusters} clusters")
    budgets = {"leaves": [n_clusters, 4 * n_clusters]}
    found = compare(X, n_clusters, methods, budgets=budgets, lambdas=lambdas)
    print(found)

    *_, model = found.models.values()
    title = (
        f"digits, lambda={model.lambda_:g}: cost {model.cost_increase_:.2f} % above k-means with "
        f"{model.tree_.n_leaves} leaves and {model.tree_.n_nonzero} weights"
    )
    model.plot(X=X, image_shape=(8, 8), title=title).figure.savefig(out)
    print(f"\nThe last tree is drawn in {out}")


def _warm_up(options):
    """Compile the kernels in advance, for images of machines and clusters."""
    start = time.monotonic()
    n_fits = warm_up(options.jobs)
    seconds = time.monotonic() - start
    print(f"tao-cluster {__version__} is compiled: {n_fits} small fits, {seconds:.0f} seconds.")


def warm_up(n_jobs=1):
    """Fit small data with each estimator in each form of rows; return the number of fits.

    Each form of rows needs kernels of its own. `n_jobs` processes share the forms.
    """
    X, _ = make_blobs(150, 12, centers=4, cluster_std=6.0, random_state=0)
    X = np.round(X)
    forms = [X, X.astype(np.float32), csr_matrix(X), csr_matrix(X.astype(np.float32))]
    return sum(Parallel(n_jobs)(delayed(_n_fits)(rows) for rows in forms))


def _n_fits(rows):
    """Fit these rows with each estimator that takes them; return the number of fits."""
    n_fits = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some methods do not take each form, or do not converge
        for estimator in _estimators():
            try:
                model = estimator.fit(rows)
            except (TypeError, ValueError):
                continue
            model.predict(rows)
            n_fits += 1
    return n_fits


def _estimators():
    """Yield unfitted estimators that use all kernels of usual fits."""
    terms = {"n_clusters": 4, "random_state": 0}
    yield TAOClustering(**terms)
    yield TAOClustering(**terms, lambda_=1.0, objective="spherical")
    yield TAOClustering(**terms, max_parameters=20, min_samples_leaf=3, standardize=True)
    yield TAOClustering(**terms, split="axis")
    yield TAOClustering(**terms, split="axis", max_leaves=4, min_samples_leaf=3)
    for name in greedy.__all__:
        cls = getattr(greedy, name)
        if hasattr(cls, "fit") and "n_clusters" in cls().get_params():
            yield cls(**terms)
