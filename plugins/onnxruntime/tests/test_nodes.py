"""The nodes of `spec/onnxruntime/nodes` against the schemas of the package `onnx`."""

from __future__ import annotations

from typing import Any

import onnx.defs
import pytest
import yaml

from provider import ROOT

FLOATS = ["float16", "bfloat16", "float", "double"]
SETS = {
    "float": FLOATS,
    "integer": ["int8", "int16", "int32", "int64", "uint8"],
    "unsigned": ["uint16", "uint32", "uint64"],
    "bool": ["bool"],
    "float32": ["float"],
    "int32": ["int32"],
    "int64": ["int64"],
    "int8": ["int8"],
    "uint8": ["uint8"],
}


def nodes() -> list[Any]:
    """Returns the entries of ONNX's own operators."""
    files = sorted((ROOT / "spec/onnxruntime/nodes").glob("*.yaml"))
    entries = [node for file in files for node in yaml.safe_load(file.read_text())["nodes"]]
    return [node for node in entries if "domain" not in node]


def schemas(node: Any) -> list[Any]:
    """Returns the schemas of the versions that an entry describes."""
    last = node.get("until", 10_000)
    found = [
        schema
        for schema in onnx.defs.get_all_schemas_with_history()
        if (schema.name, schema.domain) == (node["node"], "") and not schema.deprecated
    ]
    of_start = [schema.since_version for schema in found if schema.since_version <= node["since"]]
    first = max(of_start, default=node["since"])
    return [schema for schema in found if first <= schema.since_version <= last]


# ONNX Runtime has it in the domain of ONNX, beside `LayerNormalization`.
NOT_IN_ONNX = {"SimplifiedLayerNormalization"}


@pytest.mark.parametrize("node", nodes(), ids=lambda node: f"{node['node']}-{node['since']}")
def test_types_are_those_of_the_schema(node: Any) -> None:
    if node["node"] in NOT_IN_ONNX:
        assert not schemas(node)
        return
    assert schemas(node), "there is no such operator"
    for schema in schemas(node):
        constraints = {
            constraint.type_param_str: {
                kind[len("tensor(") : -1] if kind.startswith("tensor(") else kind
                for kind in constraint.allowed_type_strs
            }
            for constraint in schema.type_constraints
        }
        used = {parameter.type_str for parameter in [*schema.inputs, *schema.outputs]}
        version = f"{schema.name} {schema.since_version}"
        assert set(node["types"]) <= set(constraints), version
        taken = {
            name: {kind for of in sets for kind in SETS[of]} for name, sets in node["types"].items()
        }
        for name in used & set(constraints):
            # Without an entry the host takes nodes of any type for it.
            open_types = constraints[name] - {"bool", "int64", "int32", "float"}
            assert name in taken or not open_types, f"{version} does not state {name}"
            assert name not in taken or taken[name] & constraints[name], f"{version}: {name}"


@pytest.mark.parametrize("node", nodes(), ids=lambda node: f"{node['node']}-{node['since']}")
def test_inputs_in_host_memory_exist(node: Any) -> None:
    for schema in schemas(node):
        assert all(index < len(schema.inputs) for index in node.get("host", []))
