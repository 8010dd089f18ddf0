"""First fits from an empty kernel cache, and the kernels whose compilation takes longest.

    python -m benchmarks.cold
    python -m benchmarks.cold oblique --kernels 40

Each fit of digits runs in a process of its own with an empty cache folder. CPU seconds, one thread:
of the first fit, of it again, and of the compilation of single kernels, without that of the
kernels which they call; "numba's" are functions of numba that ours use. "n" counts the
signatures.
"""

import argparse
import collections
import multiprocessing
import os
import tempfile
import time

_FITS = ("oblique", "ExKMC", "axis")


def model_of(name):
    """Estimator of a name; its packages are imported only where they are to compile."""
    from greedy import ExKMC
    from tao_cluster import TAOClustering

    makers = {
        "oblique": lambda: TAOClustering(10, random_state=0),
        "ExKMC": lambda: ExKMC(10, random_state=0),
        "axis": lambda: TAOClustering(10, split="axis", random_state=0),
    }
    return makers[name]()


def recorder():
    """Listener of numba that adds up the CPU seconds of every function it compiles."""
    from numba.core import event

    class Recorder(event.Listener):
        def __init__(self):
            self.seconds, self.count, self._open = collections.Counter(), collections.Counter(), []

        def on_start(self, event):
            self._open.append([time.process_time(), 0.0])

        def on_end(self, event):
            started, inside = self._open.pop()
            seconds = time.process_time() - started
            name = _name(event.data["dispatcher"].py_func)
            self.seconds[name] += seconds - inside
            self.count[name] += 1
            if self._open:
                self._open[-1][1] += seconds

    return Recorder(), event


def _name(function):
    module = function.__module__
    if module.split(".")[0] in ("tao_cluster", "greedy"):
        return f"{module}.{function.__name__}"
    return f"numba's {function.__name__}"


def measured_fit(name, cache, queue):
    """Put seconds of the imports, a first and a second fit, and those by kernel into the queue."""
    os.environ["NUMBA_CACHE_DIR"] = cache
    start = time.process_time()
    from sklearn.datasets import load_digits
    from threadpoolctl import threadpool_limits

    model = model_of(name)
    imported = time.process_time() - start
    X = load_digits().data
    listener, event = recorder()
    event.register("numba:compile", listener)
    seconds = []
    with threadpool_limits(limits=1):
        for _ in range(2):
            start = time.process_time()
            model.fit(X)
            seconds.append(time.process_time() - start)
    queue.put((imported, *seconds, listener.seconds, listener.count))


def fit_in_process(name):
    """Result of :func:`measured_fit` in a new process with an empty cache folder."""
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with tempfile.TemporaryDirectory() as cache:
        process = context.Process(target=measured_fit, args=(name, cache, queue))
        process.start()
        result = queue.get()
        process.join()
    return result


def main():
    """Print the lines of every fit."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("fits", nargs="*", default=_FITS, metavar="|".join(_FITS))
    parser.add_argument("--kernels", type=int, default=12, help="lines of kernels a fit")
    options = parser.parse_args()
    for name in options.fits:
        imported, first, second, seconds, count = fit_in_process(name)
        print(
            f"{name:8s} imports {imported:5.2f} s, first fit {first:5.2f}, again {second:5.2f} s; "
            f"{sum(count.values())} functions compiled in {sum(seconds.values()):.2f} s"
        )
        theirs = [kernel for kernel in seconds if kernel.startswith("numba's")]
        spent, n = sum(map(seconds.get, theirs)), sum(map(count.get, theirs))
        print(f"    {spent:6.2f} s {n:3d} n  numba's in all")
        for kernel, spent in seconds.most_common(options.kernels):
            print(f"    {spent:6.2f} s {count[kernel]:3d} n  {kernel}", flush=True)


if __name__ == "__main__":
    main()
