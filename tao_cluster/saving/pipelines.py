"""Pipelines of :func:`tao_cluster.table_pipeline` as JSON values.

A ColumnTransformer has private state that differs between versions of scikit-learn. Therefore the
file holds what its steps have learned: medians, levels, means and scales. `from_document` fits the
steps to a table of a few rows from which they learn the same medians and levels, and then sets the
means and scales.
"""

import math

import numpy as np
import pandas as pd
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

from ..columns import TableReader
from ..columns.names import level_name
from ..columns.schema import Schema
from ..table import TableEncoder, TablePipeline
from .values import UnsavableError, from_json, to_json

_STEPS = {
    step.__name__: step for step in (StandardScaler, SimpleImputer, MissingIndicator, OneHotEncoder)
}
_SCALES = ("mean_", "var_", "scale_")
_ADVICE = "Only pipelines of tao_cluster.table_pipeline can be saved"


def to_document(pipeline):
    """Return the steps of a fitted pipeline before its last one as JSON values.

    Parameters
    ----------
    pipeline : fitted sklearn.pipeline.Pipeline of a TableReader, a ColumnTransformer of the steps
        that `table_pipeline` uses, and an estimator

    Returns
    -------
    dict

    Raises
    ------
    ValueError
        If the pipeline has other steps.
    """
    kinds = [TableReader, TableEncoder]
    if len(pipeline) != 3 or [type(step) for _, step in pipeline.steps[:-1]] != kinds:
        names = ", ".join(type(step).__name__ for _, step in pipeline.steps)
        raise ValueError(f"{_ADVICE}, got one of the steps {names}.")
    check_is_fitted(pipeline)
    reader, encoder = pipeline[0], pipeline[1]
    return {
        "names": [name for name, _ in pipeline.steps],
        "schema": reader.schema.to_dict(),
        "missing": reader.n_missing_,
        "transformers": [
            {"name": name, "step": _write_step(step), "columns": list(columns)}
            for name, step, columns in encoder.transformers
        ],
        "weights": encoder.transformer_weights,
        "learned": to_json(_learned(encoder)),
    }


def from_document(data, model):
    """Return the fitted pipeline of the result of :func:`to_document` and a fitted estimator.

    Raises
    ------
    ValueError, TypeError, LookupError, AttributeError
        If `data` is not a result of :func:`to_document`.
    """
    learned = from_json(data["learned"])
    if not all(map(math.isfinite, learned["medians"].values())):
        raise ValueError("medians must be finite numbers")
    reader = TableReader(Schema.from_dict(data["schema"]))
    n_missing = {name: int(data["missing"][name]) for name in reader.readers}
    reader.set_learned(
        n_missing, {name: own + rare for name, (own, rare) in learned["levels"].items()}
    )
    encoder = TableEncoder(
        [
            (part["name"], _read_step(part["step"]), list(map(str, part["columns"])))
            for part in data["transformers"]
        ],
        transformer_weights={name: float(w) for name, w in data["weights"].items()},
        outputs=reader.outputs(),
    ).set_output(transform="pandas")
    with np.errstate(all="ignore"):  # the means and scales of this fit are replaced below
        encoder.fit(_small_table(reader.get_feature_names_out(), learned))
    for name, values in learned["scales"].items():
        _set_scales(encoder.named_transformers_[name], values)
    names = encoder.get_feature_names_out()
    if len(names) != model.n_features_in_:
        raise ValueError(
            f"the steps return {len(names)} columns, but the tree has {model.n_features_in_}"
        )
    steps = [reader, encoder, model]
    return TablePipeline(list(zip(map(str, data["names"]), steps, strict=True)))


# ---------------------------------------------------------------------- steps


def _write_step(step):
    """Return an unfitted step as a JSON value: its class, and its parameters that are not default.

    A Pipeline becomes the list of its steps with their names.
    """
    if isinstance(step, str):
        return step
    if isinstance(step, Pipeline):
        return [[name, _write_step(part)] for name, part in step.steps]
    cls = _STEPS.get(type(step).__name__)
    if type(step) is not cls:
        raise ValueError(f"{_ADVICE}; a step is a {type(step).__name__}.")
    default, parameters = cls().get_params(), {}
    for name, value in step.get_params().items():
        if value is level_name:
            parameters[name] = "level_name"
        elif value is not default[name] and value != default[name]:
            parameters[name] = _parameter(step, name, value)
    return {"class": cls.__name__, "parameters": parameters}


def _parameter(step, name, value):
    try:
        return to_json(value)
    except UnsavableError as error:
        raise ValueError(
            f"Cannot save the parameter {name} of {type(step).__name__}, {error}."
        ) from error


def _read_step(data):
    """Return the unfitted pipeline step that a result of :func:`_write_step` describes."""
    if data == "passthrough":
        return data
    if isinstance(data, list):
        return Pipeline([(str(name), _read_step(part)) for name, part in data])
    parameters = {name: from_json(value) for name, value in data["parameters"].items()}
    if parameters.get("feature_name_combiner") == "level_name":
        parameters["feature_name_combiner"] = level_name
    return _STEPS[data["class"]](**parameters)


# ---------------------------------------------------------------------- fitted state


def _learned(encoder):
    """Return what the steps of a fitted ColumnTransformer have learned.

    Returns
    -------
    dict of
        ``medians``: dict of float, by column;
        ``levels``: dict of pairs, by column: the levels with a feature of their own, and the levels
        of the feature "other";
        ``scales``: dict, by name of the transformer: mean, variance and scale per column.
    """
    medians, levels, scales = {}, {}, {}
    for name, transformer, columns in encoder.transformers_:
        steps = [step for _, step in transformer.steps] if isinstance(transformer, Pipeline) else []
        for step in steps or [transformer]:
            if isinstance(step, SimpleImputer):
                medians.update(zip(columns, step.statistics_.tolist(), strict=True))
            elif isinstance(step, StandardScaler):
                scales[name] = [getattr(step, part) for part in _SCALES]
            elif isinstance(step, OneHotEncoder):
                levels.update(zip(columns, _levels(step), strict=True))
    return {"medians": medians, "levels": levels, "scales": scales}


def _levels(encoder):
    """Yield (levels with a feature, levels of the feature "other") of each column: two lists."""
    rare_levels = getattr(encoder, "infrequent_categories_", [None] * len(encoder.categories_))
    for found, of_other in zip(encoder.categories_, rare_levels, strict=True):
        rare = [] if of_other is None else of_other.tolist()
        keys = {*map(_key, rare)}
        yield [level for level in found.tolist() if _key(level) not in keys], rare


def _key(level):
    """Return a level as a key; all NaN, which are the level of missing values, have the same."""
    return None if isinstance(level, float) and math.isnan(level) else level


def _small_table(names, learned):
    """Return a table from which the steps learn the same medians, gaps and levels.

    A level with a feature of its own occurs twice, and a level of the feature "other" once. So
    OneHotEncoder, which keeps the most frequent levels, finds the same ones.
    """
    cells = {name: [0.0, 1.0] for name in names}
    cells |= {name: [median, math.nan] for name, median in learned["medians"].items()}
    cells |= {name: 2 * own + rare for name, (own, rare) in learned["levels"].items()}
    n_rows = max(map(len, cells.values()))
    return pd.DataFrame(
        {
            name: pd.Series(
                values + values[:1] * (n_rows - len(values)),
                dtype=object if name in learned["levels"] else np.float64,
            )
            for name, values in cells.items()
        }
    )


def _set_scales(transformer, values):
    """Set mean, variance and scale of the StandardScaler in a fitted transformer."""
    scaler = transformer[-1] if isinstance(transformer, Pipeline) else transformer
    if not isinstance(scaler, StandardScaler):
        raise ValueError("scales belong to a StandardScaler")
    for part, scales in zip(_SCALES, values, strict=True):
        numbers = np.asarray(scales, dtype=np.float64)
        if numbers.shape != scaler.scale_.shape or not np.isfinite(numbers).all():
            raise ValueError("there must be one finite scale per column")
        setattr(scaler, part, numbers)
