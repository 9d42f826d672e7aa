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
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import special

Entry = dict[str, Any]

OPERATORS: list[Entry] = json.loads(Path(os.environ["TENON_OPERATORS"]).read_text())["operators"]
FORMULAS = [entry for entry in OPERATORS if "formula" in entry["body"]]
FOLDS = [entry for entry in OPERATORS if "reduction" in entry["body"]]
SPREADS = [entry for entry in OPERATORS if "spread" in entry["body"]]
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

CONSTANTS: dict[str, Any] = {
    "pi": math.pi,
    "e": math.e,
    "inf": math.inf,
    "nan": math.nan,
    "true": True,
    "false": False,
}


class Names(dict[str, Any]):
    """The names in reach of a formula: variables, and functions of the language."""

    def __missing__(self, name: str) -> Any:
        known = FUNCTIONS | CONSTANTS
        return known[name] if name in known else getattr(np, name)


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


def lists(entry: Entry) -> list[Any]:
    """Returns lists of elements for a reduction."""
    random = np.random.default_rng(8)
    drawn: list[Any] = [random.uniform(-2, 2, count) for count in (1, 2, 7)]
    if "integers" in entry["types"]:
        drawn += [random.integers(-3, 4, count) for count in (1, 4, 7)]
    if not entry["body"].get("reduction", {}).get("nonempty", False):
        drawn.append(np.zeros(0))
    drawn.append(np.array([0.0, math.nan, 1.5]))
    return drawn


def fold(entry: Entry, elements: Any) -> Any:
    """Evaluates a reduction, in the order of the elements."""
    formulas = entry["body"]["reduction"]
    name = entry["inputs"][0]["name"]

    def value(text: str, **given: Any) -> Any:
        return eval(text, {"__builtins__": {}}, Names(given))

    result = value(formulas["start"])
    for element in elements:
        right = (
            element
            if formulas["element"] is None
            else value(formulas["element"], **{name: element})
        )
        result = value(formulas["step"], left=result, right=right)
    if formulas["finish"] is None:
        return result
    return value(formulas["finish"], result=np.float64(result), count=np.float64(len(elements)))


def spread(entry: Entry, given: dict[str, Any]) -> Any:
    """Evaluates the gradient of a reduction for each element."""
    formula, reduced = entry["body"]["spread"]["formula"], entry["body"]["spread"]["reduced"]
    names = [tensor["name"] for tensor in entry["inputs"]]
    whole = {name for name, is_reduced in zip(names, reduced) if not is_reduced}
    points = [
        {name: value[n] if name in whole else value for name, value in given.items()}
        for n in range(int(given["count"]))
    ]
    return [eval(formula, {"__builtins__": {}}, Names(point)) for point in points]


def reference(entry: Entry, given: dict[str, Any]) -> Any:
    """Evaluates the reference of a reduction."""
    return eval(
        entry["reference"], {"__builtins__": {}}, {**given, "numpy": np, "special": special}
    )


@pytest.mark.parametrize("entry", FOLDS, ids=lambda entry: entry["name"])
def test_a_reduction_is_its_reference(entry: Entry) -> None:
    for elements in lists(entry):
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            ours = fold(entry, elements)
            wanted = reference(entry, {entry["inputs"][0]["name"]: elements})
        np.testing.assert_allclose(float(ours), float(wanted), rtol=1e-12, err_msg=str(elements))


@pytest.mark.parametrize("entry", FOLDS, ids=lambda entry: entry["name"])
def test_the_order_of_the_elements_does_not_matter(entry: Entry) -> None:
    for elements in lists(entry):
        with np.errstate(all="ignore"):
            forward, backward = fold(entry, elements), fold(entry, elements[::-1])
        np.testing.assert_allclose(float(forward), float(backward), rtol=1e-12)


@pytest.mark.parametrize("entry", SPREADS, ids=lambda entry: entry["name"])
def test_a_gradient_of_a_reduction_is_its_reference(entry: Entry) -> None:
    random = np.random.default_rng(9)
    for count in (1, 3, 8):
        given: dict[str, Any] = {"count": count}
        for tensor, is_reduced in zip(entry["inputs"], entry["body"]["spread"]["reduced"]):
            given[tensor["name"]] = (
                random.uniform(0.5, 2) if is_reduced else random.normal(size=count)
            )
        np.testing.assert_allclose(spread(entry, given), reference(entry, given), rtol=1e-12)


@pytest.mark.parametrize("entry", SPREADS, ids=lambda entry: entry["name"])
def test_a_gradient_of_a_reduction_is_its_slope(entry: Entry) -> None:
    name = entry["name"].removesuffix("_grad")
    forward = next((entry for entry in FOLDS if entry["name"] == name), None)
    random = np.random.default_rng(10)
    for count in (1, 3, 8):
        elements = random.uniform(0.5, 2, count) * random.choice([-1, 1], count)

        def result(elements: Any) -> Any:
            # The logarithm of a sum of exponentials is a kernel.
            return fold(forward, elements) if forward else math.log(sum(map(math.exp, elements)))

        given = {"x": elements, "out": result(elements), "dout": 1.0, "count": count}
        ours = spread(entry, given)
        for n in range(count):
            sides = []
            for distance in (-STEP, STEP):
                moved = elements.copy()
                moved[n] += distance
                sides.append(result(moved))
            slope = (sides[1] - sides[0]) / (2 * STEP)
            assert ours[n] == pytest.approx(slope, rel=1e-4, abs=1e-5), (entry["name"], n)


def test_every_formula_is_here() -> None:
    """Checks that no formulas get lost."""
    assert len(FLOATS) >= 100
    assert len(WHOLE) >= 4
    assert len(GRADIENTS) >= 70
    assert len(FOLDS) >= 10
    assert len(SPREADS) >= 5


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
