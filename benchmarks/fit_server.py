"""Fits that another process asks for: one version of the code in `benchmarks.versions`.

Imports nothing of this repository except for what is fitted, which can be of an older version.
"""

import json
import sys
import time
import warnings
from inspect import signature

import numpy as np
import pandas as pd

from tao_cluster import DirectForm, PenaltyMethod, TAOClustering, table_pipeline


def serve():
    """Fit what each line of standard input names, and print seconds, costs and sizes."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        task = json.loads(line)
        rows, parameters = dict(np.load(task["rows"])), task["parameters"]
        X = rows["X"]
        if parameters is None:
            X = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
            X[X.columns[-3:]] = X[X.columns[-3:]].astype(int).astype(str)
            # Versions before 0.1.0 had no `doubts`.
            careful = {"doubts": "warn"} if "doubts" in signature(table_pipeline).parameters else {}
            found = table_pipeline(X, task["k"], random_state=task["seed"], **careful)
        else:
            # The text comes from the command line of the person who runs the benchmark.
            names = {"DirectForm": DirectForm, "PenaltyMethod": PenaltyMethod}
            changed = eval(f"dict({task['changed']})", names)  # noqa: S307
            parameters = parameters | {"random_state": task["seed"]} | changed
            found = TAOClustering(task["k"], reference=rows.get("centers"), **parameters)
        start = time.process_time()
        found.fit(X)
        seconds = time.process_time() - start
        model = found[-1] if parameters is None else found  # the last step of a pipeline
        new = model.cost_increase(rows["new"]) if "new" in rows else np.nan
        result = seconds, model.cost_increase_, model.tree_.n_parameters, new
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    serve()
