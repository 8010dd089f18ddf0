"""Printed rules put every fitted row where the tree does, and show thresholds on the resolution."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from numeric_tables import (
    MODELS,
    RESOLUTIONS,
    limits_by_column,
    random_table,
    read_rules,
    read_text,
    seeds,
)

from tao_cluster.export import to_rules, to_text


@pytest.mark.filterwarnings("ignore:Clusters of a few rows")
@pytest.mark.spaced(quick=2, slow=7)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("seed", seeds(2, 40))
def test_printed_rules_separate_the_fitted_rows(seed, kind):
    table = random_table(seed, n_columns=1 + seed % 5)
    model = MODELS[kind](seed).fit(table)
    labels = model.predict(table)
    for precision in (1, 3, 6):
        rules = to_rules(model, precision=precision)
        np.testing.assert_array_equal(read_rules(rules, table), labels)
        np.testing.assert_array_equal(read_text(to_text(model, precision=precision), table), labels)
    rules = to_rules(model)
    for name, limits in limits_by_column(rules).items():
        if table.shape[1] == 1:  # new values that are equal to the printed limits
            rows = pd.DataFrame({name: np.array(limits, dtype=float)})
            np.testing.assert_array_equal(read_rules(rules, rows), model.predict(rows))
        if name in RESOLUTIONS:
            most = {1.0: 0, 0.5: 1, 0.01: 2}[RESOLUTIONS[name][0]]
            assert all(-Decimal(limit).as_tuple().exponent <= most for limit in limits)
            assert "e" not in "".join(limits)
