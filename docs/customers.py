"""Make docs/customers.csv, the table of the documentation: ``python docs/customers.py``.

The customers are invented. Each belongs to one of four groups, which the table does not name.
"""

from pathlib import Path

import numpy as np
import pandas as pd

PATH = Path(__file__).with_name("customers.csv")
N_CUSTOMERS = 1000
SHARES = [0.4, 0.3, 0.2, 0.1]  # regular, bargain hunters, big spenders, lapsed


def customers():
    """Return the table: DataFrame."""
    rng = np.random.default_rng(2)
    group = rng.choice(4, N_CUSTOMERS, p=SHARES)

    def around(means, scale):
        return np.array(means)[group] * np.exp(scale * rng.standard_normal(N_CUSTOMERS))

    orders = around([11, 9, 24, 3], 0.2).round().clip(min=1)
    age = around([46, 33, 52, 57], 0.15).round()
    income = around([45_000, 32_000, 80_000, 44_000], 0.25).round(-3)
    is_missing = rng.random(N_CUSTOMERS) < 0.09
    annual_spend = (orders * around([105, 65, 150, 105], 0.15)).round(-1)
    discount_share = around([0.12, 0.46, 0.06, 0.15], 0.25).clip(max=0.9).round(2)
    days_since_order = around([35, 30, 14, 240], 0.4).clip(max=364).round()
    usual_channel = np.array(["web", "app", "web", "store"])[group]
    return pd.DataFrame(
        {
            "customer_id": 50_000 + rng.permutation(N_CUSTOMERS),
            "age": age.astype(int),
            "income": pd.Series(income).mask(is_missing).astype("Int64"),
            "annual_spend": annual_spend.astype(int),
            "orders": orders.astype(int),
            "discount_share": discount_share,
            "days_since_order": days_since_order.astype(int),
            "channel": np.where(rng.random(N_CUSTOMERS) < 0.6, usual_channel, "web"),
            "region": rng.choice(["north", "south", "east"], N_CUSTOMERS),
        }
    )


if __name__ == "__main__":
    customers().to_csv(PATH, index=False, lineterminator="\n")
