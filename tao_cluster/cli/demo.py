"""The demonstration: scikit-learn's digits clustered, explained and compared."""

from sklearn.datasets import load_digits

from ..comparison import compare
from ..estimator import TAOClustering

N_CLUSTERS = 10
LAMBDAS = (0.3, 2.0, 8.0)  # the last one is drawn
PUBLISHED = TAOClustering(
    lambda_=LAMBDAS[0],
    algorithm="penalty",
    refine=False,
    node_solver="liblinear",
    init="bisecting",
    n_init=1,
    trim=0,
)
METHODS = {
    "CART": "cart",
    "IMM": "imm",
    "ExGreedy": "exgreedy",
    "ExShallow": "exshallow",
    "ExKMC": "exkmc",
    "TAO axis": "tao-axis",
    f"TAO as published, lambda={LAMBDAS[0]:g}": PUBLISHED,
    "TAO oblique": "tao",
}
IMAGE_SHAPE = (8, 8)


def run_demo(out="tao_digits.png"):
    """Compare methods on digits, print one table and draw the sparsest oblique tree.

    Parameters
    ----------
    out : path of the picture
    """
    X = load_digits().data / 16
    print(f"digits: {len(X)} images of 8x8 pixels in [0, 1], {N_CLUSTERS} clusters")
    leaves = [N_CLUSTERS, 4 * N_CLUSTERS]
    found = compare(X, N_CLUSTERS, METHODS, budgets={"leaves": leaves}, lambdas=LAMBDAS)
    print(found)

    *_, model = found.models.values()
    title = (
        f"digits, lambda={model.lambda_:g}: cost {model.cost_increase_:.2f} % above k-means with "
        f"{model.tree_.n_leaves} leaves and {model.tree_.n_nonzero} weights"
    )
    model.plot(X=X, image_shape=IMAGE_SHAPE, title=title).figure.savefig(out)
    print(f"\nThe last tree is drawn in {out}")
