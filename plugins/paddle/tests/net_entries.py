"""The entries of the net: the operators of all tables of this folder, and the layers."""

from __future__ import annotations

import os
import random
from typing import Any

import test_deferred
import test_indexing
import test_interpolation
import test_networks
import test_operators
import test_products
import test_reduction
import test_shape
import test_shapes
import test_sorting
import test_vision
from host import RELEASE
from kernel_case import Case
from net import CELLS, Entry
from net_layers import LAYERS

TABLES: dict[str, dict[str, Case]] = {
    "shape": test_shape.CASES,
    "joining": test_shapes.CASES,
    "reduction": test_reduction.CASES,
    "sorting": test_sorting.CASES,
    "indexing": test_indexing.CASES,
    "interpolation": test_interpolation.CASES,
    "networks": test_networks.CASES,
    "products": test_products.CASES,
    "vision": test_vision.CASES,
    "unary": {key: Case(*entry[:1], entry[1:]) for key, entry in test_operators.UNARY.items()},
    "binary": {
        key: Case(function, (test_operators.ANY, test_operators.ROW))
        for key, function in test_operators.BINARY.items()
        if RELEASE >= (3, 0) or key not in ("atan2", "remainder")
    },
}
"""The tables of operators, by the module that also tests them in dynamic mode."""


def of_case(case: Case) -> Entry:
    """Makes an entry of an operator."""
    return Entry(lambda: case.compute, case.arguments, max(case.tolerance, 1e-4))


def of_deferred(case: test_deferred.Deferred) -> Entry:
    """Makes an entry of an operator with an attribute that is a tensor."""

    def compute(x: Any) -> Any:
        return case.compute(x, case.forms[0])

    return Entry(lambda: compute, (case.argument,), is_differentiable=case.is_differentiable)


ENTRIES: dict[str, Entry] = {
    **{
        f"{table}: {key}": of_case(case)
        for table, cases in TABLES.items()
        for key, case in cases.items()
    },
    **{
        f"deferred: {key}": of_deferred(case)
        for key, case in test_deferred.CASES.items()
        if case.since <= RELEASE
    },
    **{f"layer: {key}": entry for key, entry in LAYERS.items()},
}


def cells(name: str) -> list[tuple[str, str]]:
    """Returns the cells of an entry, in an order that the seed and the name decide."""
    shuffled = list(CELLS)
    random.Random(f"{os.environ.get('TENON_NET_SEED', '0')} {name}").shuffle(shuffled)
    return shuffled


if RELEASE < (3, 0):
    # PaddlePaddle's CPU refuses it in each way.
    del ENTRIES["networks: group_norm"]

IS_WHOLE = os.environ.get("TENON_NET") == "whole"
"""True to check each cell, and not one cell of each entry."""
