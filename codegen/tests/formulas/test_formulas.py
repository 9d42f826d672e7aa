"""The formulas of operators against their references, and their gradients against differences.

The formula language is Python's, so each formula is evaluated as it is written. The references are
written in another way, with NumPy and SciPy.
"""

from __future__ import annotations

import itertools
import json
import math
import operator
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

Entry = dict[str, Any]

OPERATORS: list[Entry] = json.loads(Path(os.environ["TENON_OPERATORS"]).read_text())["operators"]
FORMULAS = [entry for entry in OPERATORS if "formula" in entry["body"]]
FLOATS = [entry for entry in FORMULAS if "floating-point numbers" in entry["types"]]
WHOLE = [entry for entry in FORMULAS if "floating-point numbers" not in entry["types"]]
GRADIENTS = [entry for entry in FLOATS if entry["body"]["gradients"]]
POINTS = 100
STEP = 1e-5

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "sign": np.sign,
    "square": np.square,
    "min": np.minimum,
    "max": np.maximum,
    "pow": np.power,
    "clamp": lambda x, lower, upper: np.minimum(np.maximum(x, lower), upper),
    "floor_div": np.floor_divide,
    "floor_mod": np.mod,
    "trunc_div": lambda x, y: np.trunc(x / y),
    "trunc_mod": np.fmod,
    "is_nan": np.isnan,
    "is_inf": np.isinf,
    "is_finite": np.isfinite,
    "bit_and": operator.and_,
    "bit_or": operator.or_,
    "bit_xor": operator.xor,
    "bit_not": operator.invert,
    "shift_left": operator.lshift,
    "shift_right": operator.rshift,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "recip": np.reciprocal,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
    "erf": special.erf,
    "erfc": special.erfc,
    "lgamma": special.gammaln,
    "digamma": special.digamma,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(0, x),
    "round": np.round,
}
"""The functions of the language that NumPy does not have under the same name."""

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


class Names(dict[str, Any]):
    """The names in reach of a formula: variables, and functions of the language."""

    def __missing__(self, name: str) -> Any:
        return FUNCTIONS.get(name) or CONSTANTS.get(name) or getattr(np, name)


def choices(entry: Entry) -> Iterator[dict[str, Any]]:
    """Yields attributes: defaults, or some values; truth values are both."""
    values = []
    for attribute in entry["attributes"]:
        given = [attribute["default"] if attribute["default"] is not None else 0.75]
        values.append([False, True] if attribute["type"] == "a truth value" else given)
    names = [attribute["name"] for attribute in entry["attributes"]]
    for combination in itertools.product(*values):
        numbers = (number(value, whole=entry in WHOLE) for value in combination)
        yield dict(zip(names, numbers))


def number(value: Any, whole: bool) -> Any:
    """Returns an attribute as a number of the operator's elements; JSON has no infinity."""
    if isinstance(value, bool):
        return value
    return np.int64(value) if whole else np.float64(value)


def points(entry: Entry, whole: bool = False) -> dict[str, Any]:
    """Returns values of each input within its domain."""
    random = np.random.default_rng(7)
    values: dict[str, Any] = {}
    for tensor, (lower, upper) in zip(entry["inputs"], entry["body"]["domains"]):
        drawn: Any = random.uniform(lower, upper, POINTS)
        if whole:
            low, high = math.ceil(max(lower, -60)), math.floor(min(upper, 60))
            drawn = random.integers(low, high + 1, POINTS)
            if "integers" not in entry["types"]:
                drawn = drawn > 0
        values[tensor["name"]] = drawn
    return values


def each(values: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the values of each point."""
    return [dict(zip(values, point)) for point in zip(*values.values())]


def evaluate(entry: Entry, text: str, given: dict[str, Any]) -> Any:
    """Evaluates a formula at a point, after the parts of the operator."""
    names = Names(given)
    for part in entry["body"]["parts"]:
        try:
            names[part["name"]] = eval(part["formula"], {"__builtins__": {}}, names)
        except AttributeError:
            # A part of the gradient, which needs what only the gradient has.
            continue
    return eval(text, {"__builtins__": {}}, names)


def out(entry: Entry, given: dict[str, Any]) -> Any:
    """Evaluates the formula of the output."""
    return evaluate(entry, entry["body"]["formula"], given)


def test_every_formula_is_here() -> None:
    """Checks that no formulas get lost."""
    assert len(FLOATS) >= 100
    assert len(WHOLE) >= 4
    assert len(GRADIENTS) >= 70


@pytest.mark.parametrize("entry", FORMULAS, ids=lambda entry: entry["name"])
def test_a_formula_is_its_reference(entry: Entry) -> None:
    values = points(entry, whole=entry in WHOLE)
    for attributes in choices(entry):
        with np.errstate(all="ignore"):
            ours = [out(entry, {**point, **attributes}) for point in each(values)]
            names = {**values, **attributes, "numpy": np, "special": special}
            wanted = eval(entry["reference"], {"__builtins__": {"int": int, "float": float}}, names)
        np.testing.assert_allclose(
            np.array(ours, dtype=float),
            np.broadcast_to(np.asarray(wanted, dtype=float), POINTS),
            rtol=1e-9,
            atol=1e-12,
            err_msg=str(attributes),
        )


@pytest.mark.parametrize("entry", GRADIENTS, ids=lambda entry: entry["name"])
def test_a_gradient_is_the_slope_of_the_formula(entry: Entry) -> None:
    compared = 0
    for attributes in choices(entry):
        for point in each(points(entry)):
            given = {**point, **attributes}
            with np.errstate(all="ignore"):
                compared += compare_slopes(entry, given)
    assert compared >= POINTS // 2


def compare_slopes(entry: Entry, given: dict[str, Any]) -> int:
    """Compares the gradients at a point with differences; returns how many there were."""
    compared = 0
    output = entry["outputs"][0]["name"]
    for gradient in entry["body"]["gradients"]:
        name = gradient["name"][1:]
        step = STEP * max(1.0, abs(given[name]))
        sides = [{**given, name: given[name] + distance} for distance in (-step, step)]
        kinks = entry["body"]["kinks"]
        if kinks is not None:
            below, above = (evaluate(entry, kinks, side) for side in sides)
            if not below * above > 0:
                continue
        below, above = (float(out(entry, side)) for side in sides)
        slope = (above - below) / (2 * step)
        known = {**given, output: out(entry, given), f"d{output}": np.float64(1.0)}
        ours = float(evaluate(entry, gradient["formula"], known))
        assert ours == pytest.approx(slope, rel=1e-4, abs=1e-5), (gradient["name"], given)
        compared += 1
    return compared
