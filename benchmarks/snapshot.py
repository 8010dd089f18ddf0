"""Exact outputs of both packages: what a refactoring must not change.

    python -m benchmarks.snapshot                     # compare with what is stored
    python -m benchmarks.snapshot --only "fit: axis"  # the cases with this in their name
    python -m benchmarks.snapshot --write             # store what is found, and print the changes

Each case of `benchmarks.snapshot_cases` is written as text with all digits. `snapshot.json` has a
hash of each text, and a few numbers by which a change can be judged. The command prints the
cases that changed, and exits with 1 if there are any. To see what changed within a case, keep the
texts of the code before, and compare those of the code after:

    python -m benchmarks.snapshot --store before      # before the change: a file per case
    python -m benchmarks.snapshot --before before     # after it: the lines that differ

The last digits depend on the code that a processor runs. The command therefore starts itself again
with settings that choose the code of an old processor, which every x86-64 processor runs. Other
versions of the packages can change digits, too. Their versions are stored, and a difference names
those that may explain it.
"""

import difflib
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import warnings
from importlib.metadata import version
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.backend_bases import RendererBase
from scipy import sparse
from tqdm import tqdm

from benchmarks.shared import parser
from benchmarks.snapshot_cases import CASES
from tao_cluster import Tree

STORED = Path(__file__).with_name("snapshot.json")
# Packages whose versions can change cases of a kind. The first line is for all kinds.
PACKAGES = {
    "": ("numpy", "scipy", "scikit-learn", "numba", "liblinear-official", "pandas"),
    "SQL": ("sqlglot",),
    "ONNX": ("onnx",),
    "out of core": ("dask",),
    "picture": ("matplotlib",),
}
# The history has cases of its own, and lambda_ is a parameter.
_LEFT_OUT = ("history_", "n_iter_", "lambda_")
_MOST_LINES, _LONGEST = 40, 300  # lines of a difference that are printed, and their characters


def _pinned():
    """Return environment variables that choose the same code on every x86-64 processor."""
    extensions = np.show_config(mode="dicts")["SIMD Extensions"]
    features = {*extensions.get("found", ()), *extensions.get("not found", ())}
    return {
        "OPENBLAS_CORETYPE": "Nehalem",
        "NUMBA_CPU_NAME": "generic",
        "NPY_DISABLE_CPU_FEATURES": " ".join(sorted(features)),
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4",  # exp and log of the C library
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "MPLBACKEND": "Agg",
    }


# ---------------------------------------------------------------------- values as text


def written(value):
    """Return a value as text with all digits."""
    value = _plain(value)
    if isinstance(value, dict):
        facts = (f"{name}: {written(each)}" for name, each in value.items())
        return "\n".join(fact.replace("\n", "\n  ") for fact in facts)
    if isinstance(value, list | tuple) and not all(isinstance(v, int | float) for v in value):
        return "\n".join(map(written, value))
    return value if isinstance(value, str) else repr(value)


def _plain(value):
    """Return models, trees, frames and arrays as dicts, lists, strings and numbers."""
    value = value.steps[-1][1] if hasattr(value, "steps") else value
    if isinstance(value, Tree):
        return value.to_dict()
    if hasattr(value, "get_params"):
        names = [name for name in sorted(vars(value)) if name.endswith("_") and name[0] != "_"]
        return {name: getattr(value, name) for name in names if name not in _LEFT_OUT}
    if isinstance(value, pd.DataFrame | pd.Series):
        return value.to_csv()
    if sparse.issparse(value):
        return {"sparse": value.shape, "data": value.data, "rows, columns": [*value.nonzero()]}
    if isinstance(value, np.ndarray):
        return list(value) if value.ndim > 1 else f"{value.dtype} {value.tolist()}"
    return value.item() if isinstance(value, np.generic) else value


class _Recorder(RendererBase):
    """Renderer that writes down what it is to draw: places in pixels, colours and texts."""

    def __init__(self, figure):
        super().__init__()
        self.figure, self.facts = figure, []

    def get_canvas_width_height(self):
        return self.figure.bbox.width, self.figure.bbox.height

    def draw_path(self, gc, path, transform, rgbFace=None):
        places = transform.transform_path(path).vertices
        colors = [None if c is None else np.round(c, 3).tolist() for c in (rgbFace, gc.get_rgb())]
        self._add("path", places, colors, round(gc.get_linewidth(), 3), gc.get_alpha())

    def draw_text(self, gc, x, y, s, prop, angle, ismath=False, mtext=None):
        color = np.round(gc.get_rgb(), 3).tolist()
        self._add("text", [x, y], s, prop.get_size_in_points(), prop.get_weight(), angle, color)

    def draw_quad_mesh(self, gc, transform, width, height, coordinates, *offsets_and_colors):
        colors = hashlib.sha256(offsets_and_colors[2].tobytes()).hexdigest()[:12]
        self._add("mesh", coordinates[[0, -1], [0, -1]], width, height, colors)

    def draw_image(self, gc, x, y, im, transform=None):
        self._add("image", [x, y], im.shape, hashlib.sha256(im.tobytes()).hexdigest()[:12])

    def _add(self, kind, places, *facts):
        self.facts.append(f"{kind} {np.round(places, 2).tolist()} {facts}")


def drawn(figure):
    """Return the texts, lines, areas and images of a picture, sorted."""
    renderer = _Recorder(figure)
    figure.draw(renderer)
    return "\n".join([f"size {figure.get_size_inches().tolist()}", *sorted(renderer.facts)])


# ---------------------------------------------------------------------- cases


def text_of(name, case):
    """Run a case; return its text, and a summary in a few numbers.

    Of a fit, the text also has the warnings. The message of an error is a result, too.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            value = case()
        except Exception as error:  # a case that fails hides no other case
            return f"{type(error).__name__}: {error}", f"error: {error}"
        is_drawn = name.startswith("picture")
        text = drawn(np.ravel(value)[0].figure) if is_drawn else written(value)
        plt.close("all")
    if name.startswith("fit: "):
        text += "".join(f"\nwarning: {w.message}" for w in caught if w.category is UserWarning)
    model = value.get("model", value) if isinstance(value, dict) else value
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    if not hasattr(model, "tree_"):
        return text, f"{text.count(chr(10)) + 1} lines"
    cost, tree = f"cost {model.cost_increase_:.6g} %", model.tree_
    return text, f"{cost}, {tree.n_leaves} leaves, {tree.n_parameters} parameters"


def versions():
    """Return the versions on which digits depend: dict of str."""
    names = dict.fromkeys(name for names in PACKAGES.values() for name in names)
    own = {"python": platform.python_version(), "libc": " ".join(platform.libc_ver())}
    own["system"] = f"{platform.system()} {platform.machine()}"
    return own | {name: version(name) for name in names}


def explanations(name, before, here):
    """Return the differences between versions that may explain a difference of a case."""
    kinds = (start for start in PACKAGES if name.startswith(start))
    known = {"python", "libc", "system", *(each for kind in kinds for each in PACKAGES[kind])}
    return [
        f"{each} {before[each]} -> {now}"
        for each, now in here.items()
        if each in known and before.get(each, now) != now
    ]


def changes(before, after):
    """Return the names of the cases whose hashes differ, or that only one side has."""
    names = dict.fromkeys([*before, *after])
    return [n for n in names if before.get(n, "-").split()[0] != after.get(n, "-").split()[0]]


def _difference(name, folder, text):
    """Return the lines of a text that differ from those in a folder, shortened."""
    path = _path(folder, name)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    lines = difflib.unified_diff(before.split("\n"), text.split("\n"), lineterm="", n=1)
    return [line[:_LONGEST] for line in lines][2 : 2 + _MOST_LINES]


def _path(folder, name):
    return folder / f"{re.sub(r'[^a-zA-Z0-9,]+', ' ', name)}.txt"


# ---------------------------------------------------------------------- the command


def main(arguments=None):
    """Compare cases with what is stored; return the exit status."""
    command = parser(__doc__)
    command.add_argument("--only", default="", help="cases that have this part in their name")
    command.add_argument("--write", action="store_true", help="store what is found")
    command.add_argument("--store", type=Path, metavar="FOLDER", help="write the texts to it")
    command.add_argument("--before", type=Path, metavar="FOLDER", help="compare texts with it")
    options = command.parse_args(arguments)
    stored, here = json.loads(STORED.read_text(encoding="utf-8")), versions()
    names = [name for name in CASES if options.only in name]
    if not names:
        command.error(f"No case has {options.only!r} in its name.")
    if options.write and options.only and stored["versions"] != here:
        command.error("The stored cases are of other versions: write all cases, without --only.")
    mpl.rcdefaults()
    texts, after = {}, {}
    for name in tqdm(names, disable=None):
        texts[name], summary = text_of(name, CASES[name])
        after[name] = f"{hashlib.sha256(texts[name].encode()).hexdigest()[:12]} {summary}"
        if options.store is not None:
            options.store.mkdir(parents=True, exist_ok=True)
            _path(options.store, name).write_text(texts[name], encoding="utf-8")
    before = {name: line for name, line in stored["cases"].items() if options.only in name}
    changed = changes(before, after)
    for name in changed:
        print(f"{name}\n  before: {before.get(name)}\n  now:    {after.get(name)}")
        for line in explanations(name, stored["versions"], here):
            print(f"  This may be the reason: {line}")
        if options.before is not None and name in texts:
            print("\n".join(_difference(name, options.before, texts[name])))
    print(f"{len(changed)} of {len(after)} cases differ from {STORED.name}.")
    if options.write:
        kept = {name: line for name, line in stored["cases"].items() if name not in before}
        new = {"versions": here, "cases": dict(sorted((kept | after).items()))}
        STORED.write_text(json.dumps(new, indent=1) + "\n", encoding="utf-8")
    return int(bool(changed))


if __name__ == "__main__":
    pinned = os.environ | _pinned()
    if pinned == os.environ:
        sys.exit(main())
    again = [sys.executable, "-m", "benchmarks.snapshot", *sys.argv[1:]]
    sys.exit(subprocess.run(again, env=pinned, check=False).returncode)  # noqa: S603
