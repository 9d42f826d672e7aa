"""Whole models, with ONNX Runtime's optimisations, against its CPU provider."""

import numpy
import pytest

from models import MODELS
from provider import session


@pytest.mark.parametrize("batch", [1, 3])
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("optimised", [False, True])
def test_outputs_are_those_of_the_cpu_provider(name: str, batch: int, optimised: bool) -> None:
    model, inputs = MODELS[name](batch)
    wanted = session(model, on_device=False).run(None, inputs)
    made = session(model, optimised=optimised)
    for _ in range(3):
        for output, expected in zip(made.run(None, inputs), wanted, strict=True):
            numpy.testing.assert_allclose(output, expected, rtol=2e-4, atol=2e-5)
