"""The entries of the net: the operators of all tables of this folder, and the layers."""

from __future__ import annotations

import os
import random

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
    "deferred": {
        key: Case(lambda x, case=case: case.compute(x, case.forms[0]), (case.argument,))
        for key, case in test_deferred.CASES.items()
        if case.since <= RELEASE
    },
}
"""The tables of operators, by the module that also tests them in dynamic mode."""


def of_case(case: Case) -> Entry:
    """Makes an entry of an operator."""
    return Entry(lambda: case.compute, case.arguments, max(case.tolerance, 1e-4))


ENTRIES: dict[str, Entry] = {
    **{
        f"{table}: {key}": of_case(case)
        for table, cases in TABLES.items()
        for key, case in cases.items()
    },
    **{f"layer: {key}": entry for key, entry in LAYERS.items()},
}


def cells(name: str) -> list[tuple[str, str]]:
    """Returns the cells of an entry, in an order that the seed and the name decide."""
    shuffled = list(CELLS)
    random.Random(f"{os.environ.get('TENON_NET_SEED', '0')} {name}").shuffle(shuffled)
    return shuffled


OPEN: set[str] = set()
"""Entries that differ from the CPU in some cells, and are to be mended."""
if RELEASE < (3, 1):
    OPEN |= {"deferred: gather", "deferred: depthwise_conv2d_transpose"}
if RELEASE < (3, 0):
    OPEN |= {"shape: assignment to a part", "networks: group_norm", "layer: UpsamplingNearest2D"}
    OPEN |= {"layer: LSTM", "layer: GRU", "layer: SimpleRNN"}
ENTRIES = {key: entry for key, entry in ENTRIES.items() if key not in OPEN}

if RELEASE < (3, 3) and "TENON_NET" not in os.environ:
    # The older releases are run whole, by the scheduled job.
    ENTRIES = {key: ENTRIES[key] for key in ("layer: Linear", "layer: Conv1D", "layer: Conv2D")}

IS_WHOLE = os.environ.get("TENON_NET") == "whole"
"""True to check each cell, and not one cell of each entry."""
