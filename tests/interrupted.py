"""Program: fits that Ctrl-C ends at random moments, and what is left of each.

    PYTHONPATH=. python tests/interrupted.py NUMBER SEED [few] [cold]

It prints JSON: how many interrupts ended how, and a line for each that ended badly. Few are some
quick kinds of fits. Cold, nothing is fitted before: signals come while kernels are compiled.
"""

import collections
import json
import signal
import sys
import threading
import time
import warnings

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_info

from greedy import ExKMC, ExShallow, Kauri, RandomCuts, SpEx
from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, outofcore, tao_path

RNG = np.random.default_rng(0)
OLD = RNG.normal(size=(100, 4))
ROWS = RNG.normal(size=(1500, 6)) + 4 * RNG.integers(0, 2, (1500, 6))
MANY = np.repeat(ROWS, 6, axis=0) + RNG.normal(size=(9000, 6))  # enough for two threads
COLD_SECONDS = 4.0


def tao(**options):
    options = {
        "lambda_": 5.0,
        "depth": 3,
        "algorithm": DirectForm(n_init=1),
        "random_state": 0,
    } | options
    return TAOClustering(4, **options)


MODELS = {
    "oblique": (tao(), ROWS[:500]),
    "threads": (tao(n_jobs=2), MANY),
    "axis": (tao(split="axis"), ROWS[:500]),
    "spherical": (tao(objective="spherical"), ROWS[:500]),
    "goal": (tao(lambda_="auto", depth=2), ROWS[:500]),
    "liblinear": (
        tao(algorithm=PenaltyMethod(node_solver="liblinear", refine=False), depth=2),
        ROWS[:400],
    ),
    "kauri": (Kauri(4, max_leaves=30, random_state=0), ROWS),
    "exkmc": (ExKMC(4, max_leaves=60, random_state=0), ROWS),
    "shallow": (ExShallow(4, random_state=0), ROWS),
    "spex": (SpEx(4, max_leaves=12, random_state=0), ROWS),
    "random cuts": (RandomCuts(4, n_trees=300, random_state=0, n_jobs=2), ROWS),
}
FUNCTIONS = {
    "path": lambda: tao_path(
        ROWS[:300], 3, depth=2, algorithm=DirectForm(n_init=1), random_state=0
    ),
    "blocks": lambda: outofcore.fit(tao(), [ROWS[:700], ROWS[700:]], random_state=0),
    "start of kauri": lambda: Kauri(max_leaves=30).build(ROWS, None, ROWS[:9], None),
    "start of exkmc": lambda: ExKMC(max_leaves=60).build(ROWS, None, ROWS[:9], None),
}
FEW = ["oblique", "liblinear", "kauri", "exkmc", "path"]


def settings():
    """What a fit must leave as it was."""
    libraries = [(library["filepath"], library["num_threads"]) for library in threadpool_info()]
    filters = [repr(entry) for entry in warnings.filters]
    return libraries, signal.getsignal(signal.SIGINT), sys.unraisablehook, filters


def same(a, b):
    return type(a) is type(b) and (
        all(same(x, y) for x, y in zip(a, b, strict=True))
        if isinstance(a, (list, tuple))
        else a is b or bool(np.all(a == b))
    )


class Attempt:
    """A computation, and one Ctrl-C after some seconds."""

    def __init__(self, run, delay):
        self.error, self.returned, self.sent = None, None, False
        self.is_told, self.ended = False, None
        main = threading.main_thread().ident

        def press():
            self.sent_at = time.perf_counter()
            self.sent = True
            signal.pthread_kill(main, signal.SIGINT)

        timer = threading.Timer(delay, press)
        lost = []
        sys.unraisablehook = lambda error: lost.append(repr(error.exc_value))
        before = settings()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                timer.start()
                self.returned = run()
                self.ended = time.perf_counter()
                while not self.sent:
                    time.sleep(0.001)
                time.sleep(0.02)
            except BaseException as error:
                self.error = error
        timer.join()
        self.is_told = any("nterrupted" in str(warning.message) for warning in told)
        self.problems = [f"lost: {error}" for error in lost]
        if settings() != before:
            self.problems.append(f"settings {settings()} instead of {before}")
        sys.unraisablehook = sys.__unraisablehook__

    def outcome(self):
        """How it ended: the first word of what is printed."""
        if self.error is not None and type(self.error) is not KeyboardInterrupt:
            self.problems.append(f"raises {self.error!r}")
        was_during = self.ended is None or self.sent_at < self.ended
        if self.error is None and not self.is_told:
            self.problems.append("swallowed")
        if self.ended is not None and not was_during:
            return "after"
        return "best" if self.error is None else "old"


def fitted(model, X):
    """Problems of an estimator that claims to be fitted to X."""
    found = []
    if not np.array_equal(model.predict(X), model.labels_):
        found.append("labels_ are not those of tree_")
    if abs(model.score(X) + model.inertia_) > 1e-9 * model.inertia_:
        found.append("inertia_ is not that of tree_")
    if model.tree_.n_features != X.shape[1] or model.n_features_in_ != X.shape[1]:
        found.append("n_features_in_ is not that of X")
    return found


def interrupt_model(name, delay):
    prototype, X = MODELS[name]
    model = clone(prototype)
    if delay is None:
        return model.fit(X)
    vars(model).update(OLD_STATE[name])
    before = dict(vars(model))
    attempt = Attempt(lambda: model.fit(X), delay)
    ended = attempt.outcome()
    after = vars(model)
    is_old = after.keys() == before.keys() and all(after[key] is before[key] for key in before)
    if ended != "old" or not is_old:
        attempt.problems += fitted(model, X)
    return ("new" if ended == "old" and not is_old else ended), attempt.problems


def interrupt_function(name, delay):
    if delay is None:
        return FUNCTIONS[name]()
    attempt = Attempt(FUNCTIONS[name], delay)
    ended = attempt.outcome()
    for model in attempt.returned if name == "path" and attempt.returned else ():
        attempt.problems += fitted(model, ROWS[:300])
    if name == "blocks" and attempt.returned is not None:
        model = attempt.returned
        if abs(model.score(ROWS) + model.inertia_) > 1e-9 * model.inertia_:
            attempt.problems.append("inertia_ is not that of tree_")
    return ended, attempt.problems


def interrupt(name, delay):
    return (interrupt_model if name in MODELS else interrupt_function)(name, delay)


def main(number, seed, is_few, is_cold):
    rng = np.random.default_rng(seed)
    names = FEW if is_few else [*MODELS, *FUNCTIONS]
    seconds = dict.fromkeys(names, COLD_SECONDS)
    for name in MODELS.keys() & set(names):
        model = MODELS[name][0]
        OLD_STATE[name] = vars(clone(model)) if is_cold else vars(clone(model).fit(OLD))
    if not is_cold:
        warnings.simplefilter("ignore")
        for name in names:
            interrupt(name, None)
            start = time.perf_counter()
            interrupt(name, None)
            seconds[name] = time.perf_counter() - start
        warnings.resetwarnings()
    endings, bad = collections.Counter(), []
    start = time.perf_counter()
    for i in range(number):
        name = names[i % len(names)]
        delay = rng.uniform(0, seconds[name])
        ended, problems = interrupt(name, delay)
        endings[ended] += 1
        bad += [f"{name} after {delay:.4f} s, {ended}: {problem}" for problem in problems]
    took = time.perf_counter() - start
    print(json.dumps({"endings": endings, "bad": bad, "seconds": round(took, 1)}))


OLD_STATE = {}

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)
    main(int(sys.argv[1]), int(sys.argv[2]), "few" in sys.argv, "cold" in sys.argv)
