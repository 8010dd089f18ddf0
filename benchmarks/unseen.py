"""What trees cost on rows that they have not seen, by how lambda was chosen.

    python -m benchmarks.unseen digits letter mnist

Half of the rows are fitted, with their own KMeans(k, n_init=10, random_state=0) as the free
clustering; "new" is the cost on the other half, of the tree with its centres over that of the
nearest free centre (`cost_increase(X_new)`). Seconds are CPU time, free clustering included.
"""

import argparse
import time
import warnings

from sklearn.cluster import KMeans
from sklearn.model_selection import train_test_split

from benchmarks.datasets import DATASETS, load
from tao_cluster import TAOClustering

SETTINGS = {
    "knee": {},
    "knee, validation=0.2": {"validation": 0.2},
    "max_cost_increase=1": {"max_cost_increase": 1},
    "max_cost_increase=4": {"max_cost_increase": 4},
    "max_cost_increase=4, validation=0.2": {"max_cost_increase": 4, "validation": 0.2},
}


def main():
    """Print a line a setting."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", choices=DATASETS, nargs="+")
    options = parser.parse_args()
    print(f"{'data':8} {'lambda by':36} seen %   new %  parameters  leaves  seconds")
    for name in options.names:
        X, k, depth = load(name)
        seen, new = train_test_split(X, test_size=0.5, random_state=0)
        reference = KMeans(k, n_init=10, random_state=0)
        for setting, parameters in SETTINGS.items():
            model = TAOClustering(k, depth=depth, reference=reference, random_state=0, **parameters)
            start = time.process_time()
            with warnings.catch_warnings(record=True) as told:  # goals that no tree meets
                warnings.simplefilter("always")
                model.fit(seen)
            seconds = time.process_time() - start
            unseen = model.cost_increase(new)
            print(
                f"{name:8} {setting:36} {model.cost_increase_:6.2f}  {unseen:6.2f}"
                f"  {model.tree_.n_parameters:10d}  {model.tree_.n_leaves:6d}  {seconds:7.1f}",
                *(str(warning.message) for warning in told),
                flush=True,
            )


if __name__ == "__main__":
    main()
