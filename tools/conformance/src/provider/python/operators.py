"""Cases about operators: those that the provider takes compute what ONNX Runtime's CPU does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy
from host import Array, Host, case, difference, fail, of_arrays, skip
from models import Attribute, Node

FLOATS = ("float32", "float16", "float64")
NUMBERS = (*FLOATS, "int32", "int64")
SHAPES: Sequence[Sequence[int]] = ((7,), (2, 3, 5), (1,), (), (0,), (33, 31))
"""Shapes of one input."""
PAIRS: Sequence[tuple[Sequence[int], Sequence[int]]] = (
    ((7,), (7,)),
    ((3, 1), (1, 5)),
    ((2, 3, 4), (4,)),
    ((), (2, 3)),
    ((0, 3), (1, 3)),
    ((33, 31), (33, 31)),
)
"""Shapes of two inputs, of which one may be repeated."""


@dataclass
class Use:
    """A node with inputs."""

    shapes: Sequence[Sequence[int]]
    """The shapes of its inputs."""
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    constants: Sequence[Any] = ()
    """Further inputs, which are weights: arrays, or None for one that is left out."""
    values: str = "any"
    """What the elements are: `any` or `positive`."""
    outputs: int = 1
    result: str | None = None
    """The type of the outputs, if it is not that of the first input."""


def axes(*numbers: int) -> Array:
    """Returns axes or sizes as an input."""
    return numpy.array(numbers, "int64")


def of_one(values: str = "any", **attributes: Attribute) -> list[Use]:
    """Returns uses of an operator with one input."""
    return [Use([shape], attributes, values=values) for shape in SHAPES]


def of_two(values: str = "any", result: str | None = None) -> list[Use]:
    """Returns uses of an operator with two inputs."""
    return [Use(pair, values=values, result=result) for pair in PAIRS]


IMAGE = (2, 4, 9, 8)
OPERATORS: dict[str, tuple[Sequence[str], list[Use]]] = {
    **{name: (NUMBERS, of_two()) for name in ("Add", "Sub", "Mul")},
    "Div": (NUMBERS, of_two("positive")),
    "Pow": (("float32", "float64"), of_two("positive")),
    **{name: (NUMBERS, of_two()) for name in ("Min", "Max")},
    **{name: (NUMBERS, of_two(result="bool")) for name in ("Equal", "Less", "Greater")},
    **{name: (("bool",), of_two()) for name in ("And", "Or")},
    **{name: (NUMBERS, of_one()) for name in ("Abs", "Neg", "Relu", "Identity")},
    **{name: (FLOATS, of_one()) for name in ("Exp", "Sigmoid", "Tanh", "Floor", "Ceil", "Erf")},
    **{name: (FLOATS, of_one("positive")) for name in ("Sqrt", "Log", "Reciprocal")},
    "LeakyRelu": (FLOATS, of_one(alpha=0.1)),
    "Softmax": (FLOATS, [Use([shape], {"axis": -1}) for shape in ((7,), (3, 5), (2, 3, 33))]),
    "Cast": (NUMBERS, [Use([shape], {"to": 1}, result="float32") for shape in SHAPES]),
    "MatMul": (
        FLOATS,
        [
            Use(shapes)
            for shapes in (
                ((3, 5), (5, 7)),
                ((1, 64), (64, 1)),
                ((2, 3, 5), (5, 4)),
                ((2, 3, 5), (2, 5, 4)),
                ((65, 33), (33, 66)),
            )
        ],
    ),
    "Gemm": (
        FLOATS,
        [
            Use([(3, 5), (5, 7), (7,)]),
            Use([(3, 5), (7, 5), (3, 7)], {"transB": 1, "alpha": 0.5, "beta": 2.0}),
            Use([(5, 3), (5, 7), (1,)], {"transA": 1}),
        ],
    ),
    "Conv": (
        FLOATS,
        [
            Use([IMAGE, (6, 4, 3, 3), (6,)]),
            Use([IMAGE, (6, 4, 3, 3)], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
            Use([IMAGE, (4, 1, 3, 3)], {"group": 4, "dilations": [2, 2]}),
            Use([(1, 3, 17), (5, 3, 4)], {"pads": [2, 1]}),
        ],
    ),
    "ConvTranspose": (FLOATS, [Use([IMAGE, (4, 3, 3, 3)]), Use([IMAGE, (4, 3, 2, 2)], {"strides": [2, 2]})]),
    "MaxPool": (FLOATS, [Use([IMAGE], {"kernel_shape": [3, 2], "strides": [2, 2]})]),
    "AveragePool": (FLOATS, [Use([IMAGE], {"kernel_shape": [2, 3], "pads": [1, 1, 1, 1]})]),
    "GlobalAveragePool": (FLOATS, [Use([IMAGE])]),
    "BatchNormalization": (FLOATS, [Use([IMAGE, (4,), (4,), (4,), (4,)], values="positive")]),
    "LayerNormalization": (FLOATS, [Use([(3, 7, 32), (32,), (32,)], {"axis": -1})]),
    "InstanceNormalization": (FLOATS, [Use([IMAGE, (4,), (4,)])]),
    "ReduceSum": (
        NUMBERS,
        [
            Use([(3, 5, 7)], {"keepdims": 0}, [axes(1)]),
            Use([(3, 5, 7)], {"keepdims": 1}, [axes(0, 2)]),
            Use([(33, 65)], {"keepdims": 0}, [axes(-1)]),
        ],
    ),
    **{
        name: (
            FLOATS,
            [
                Use([(3, 5, 7)], {"axes": [1], "keepdims": 0}),
                Use([(3, 5, 7)], {"axes": [0, 2]}),
                Use([(33, 65)], {"axes": [-1], "keepdims": 0}),
            ],
        )
        for name in ("ReduceMean", "ReduceMax", "ReduceMin", "ReduceL2")
    },
    **{
        name: (NUMBERS, [Use([(3, 5, 7)], {"axis": 1, "keepdims": 0}, result="int64"), Use([(9,)], result="int64")])
        for name in ("ArgMax", "ArgMin")
    },
    "Concat": (NUMBERS, [Use([(2, 3), (4, 3), (1, 3)], {"axis": 0}), Use([(2, 3), (2, 0), (2, 5)], {"axis": -1})]),
    "Split": (NUMBERS, [Use([(2, 6)], {"axis": 1}, [axes(1, 2, 3)], outputs=3)]),
    "Slice": (
        NUMBERS,
        [
            Use([(5, 7)], constants=[axes(1, 0), axes(4, 7), axes(0, 1), axes(1, 2)]),
            Use([(9,)], constants=[axes(-1), axes(-9), axes(0), axes(-2)]),
        ],
    ),
    "Transpose": (NUMBERS, [Use([(2, 3, 5)], {"perm": [2, 0, 1]}), Use([(33, 31)], {"perm": [1, 0]})]),
    "Reshape": (NUMBERS, [Use([(2, 6)], constants=[axes(3, -1)]), Use([(2, 0, 3)], constants=[axes(0, 0, 3)])]),
    "Unsqueeze": (NUMBERS, [Use([(2, 3)], constants=[axes(0, 3)])]),
    "Squeeze": (NUMBERS, [Use([(1, 3, 1)], constants=[axes(0, 2)])]),
    "Expand": (NUMBERS, [Use([(3, 1)], constants=[axes(2, 1, 6)])]),
    "Tile": (NUMBERS, [Use([(2, 3)], constants=[axes(2, 2)])]),
    "Pad": (FLOATS, [Use([(2, 3)], constants=[axes(0, 1, 2, 0)])]),
    "Gather": (NUMBERS, [Use([(5, 3)], {"axis": 0}, [axes(4, 0, -1, 2)]), Use([(5, 3)], {"axis": 1}, [axes(1)])]),
    "Clip": (FLOATS, of_one()),
    "CumSum": (("float32", "int32", "int64"), [Use([(3, 5)], constants=[numpy.array(1, "int64")])]),
}
"""The operators, the types of their first input, and how they are used."""


def elements(shape: Sequence[int], kind: str, values: str, seed: int) -> Array:
    """Returns elements of a type."""
    generator = numpy.random.default_rng(seed)
    if kind == "bool":
        return numpy.asarray(generator.random(shape) < 0.5)
    if kind.startswith("int"):
        return numpy.asarray(generator.integers(1 if values == "positive" else -9, 10, shape), kind)
    found = numpy.asarray(generator.standard_normal(shape))
    return numpy.asarray(numpy.abs(found) + 0.5 if values == "positive" else found, kind)


def check(host: Host, operator: str, kind: str, uses: Sequence[Use]) -> None:
    """Compares the uses of an operator that the provider takes with ONNX Runtime's CPU."""
    compared = 0
    for number, use in enumerate(uses):
        given = {
            f"x{place}": elements(shape, kind, use.values, 10 * number + place)
            for place, shape in enumerate(use.shapes)
        }
        weights = {f"w{place}": array for place, array in enumerate(use.constants)}
        outputs = [f"y{place}" for place in range(use.outputs)]
        node = Node(operator, [*given, *weights], outputs, use.attributes, "tested")
        model = of_arrays([node], given, dict.fromkeys(outputs, use.result or kind), weights)
        try:
            expected = host.session(model, on_device=False).run(None, given)
        except Exception:
            # ONNX Runtime's CPU has no kernel for some types. Without it, nothing tells what is right.
            continue
        session = host.session(model)
        taken = host.taken(session)
        if taken is not None and not taken:
            continue
        results = session.run(None, given)
        compared += 1
        shapes = ", ".join(str(list(shape)) for shape in use.shapes)
        about = "".join(f", {name} = {value!r}" for name, value in use.attributes.items())
        for place, (result, right) in enumerate(zip(results, expected)):
            wrong = difference(result, right)
            if wrong is not None:
                fail(f"{operator} of {kind} {shapes}{about}, output {place}: {wrong}")
    if not compared:
        skip(f"the provider takes no node `{operator}` of {kind}")


def add(operator: str, kind: str, uses: Sequence[Use]) -> None:
    """Adds the case of an operator for a type."""

    @case(
        f"operator.{operator}.{kind}",
        f"a node `{operator}` of {kind} that the provider takes computes what the operator is defined to",
        f"ONNX's definition of `{operator}`",
    )
    def body(host: Host) -> None:
        check(host, operator, kind, uses)


for operator, (kinds, uses) in OPERATORS.items():
    for kind in kinds:
        add(operator, kind, uses)
