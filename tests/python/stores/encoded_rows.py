"""Rows in every form in which tables may hold features."""

import numpy as np
import pytest

import ramet
from ramet.dtypes import encode

FORMS = {
    "float16": {"dtype": "float16"},
    "bfloat16": {"dtype": "bfloat16"},
    "int8 by row": {"dtype": "int8", "scale": "row"},
    "int8 by column": {"dtype": "int8", "scale": "column"},
}
forms = pytest.mark.parametrize("form", FORMS)


def features(rows=300, width=7) -> np.ndarray:
    """Values over many magnitudes, a row and a column of zeros, and a negative zero."""
    random = np.random.default_rng(3)
    x = (random.standard_normal((rows, width)) * 10.0 ** random.uniform(-3, 3, (rows, width))).astype(np.float32)
    x[5:6], x[:, 2], x[6:7, 0] = 0, 0, -0.0
    return x


def encoded(x, form: str):
    return encode(x, FORMS[form]["dtype"], "x", scale=FORMS[form].get("scale", "row"))


def stored(graph, tmp_path, form: str, **options) -> ramet.Graph:
    ramet.save(graph, tmp_path / form, **FORMS[form], **options)
    return ramet.open(tmp_path / form)
