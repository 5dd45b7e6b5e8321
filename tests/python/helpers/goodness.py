"""Statistics for tests: each takes observations and gives a p-value; `accept` and `refuse` judge it.

Seeds are fixed, so that a test either always passes or always fails. A p-value that is close to 1 is refused, too:
too even is not random either.
"""

import numpy as np
import pytest
from scipy import stats

LIMIT = 1e-4
STANDARD_ERRORS = 4


def accept(p_value):
    assert LIMIT < p_value < 1 - LIMIT


def refuse(p_value):
    assert p_value < LIMIT


def chi_square(counts, probabilities):
    """Counts of independent draws, one cell each, of the given probabilities."""
    counts, probabilities = np.asarray(counts).ravel(), np.asarray(probabilities).ravel()
    assert probabilities.sum() == pytest.approx(1)
    expected = counts.sum() * probabilities
    assert expected.min() > 5
    return stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1)


def even(values, num_cells):
    """Values are uniform in [0, num_cells)."""
    return chi_square(np.bincount(np.asarray(values).ravel(), minlength=num_cells), np.full(num_cells, 1 / num_cells))


def independent(num_cells, *columns):
    """The rows of some columns are uniform in [0, num_cells)^n: independent of each other."""
    cell = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        cell = cell * num_cells + column
    return even(cell, num_cells ** len(columns))


def close(values, expected, within=0.01):
    """The mean of independent values is `expected`, by its standard error and by a fraction."""
    values = np.asarray(values, float)
    error = abs(values.mean() - expected)
    assert error <= STANDARD_ERRORS * values.std(ddof=1) / np.sqrt(len(values)) + 1e-12 * abs(expected)
    assert error <= within * expected


def t_test(values, expected=0.0):
    """Independent values have the mean that is expected."""
    return stats.ttest_1samp(values, expected).pvalue
