"""The library under test."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from host import Library, build
from signatures import ROOT


@pytest.fixture(scope="session")
def path() -> Path:
    """Returns the path of the library."""
    default = ROOT / "target/release/libdiopi_impl.so"
    return Path(os.environ.get("TENON_DIOPI_LIBRARY", default)).resolve()


@pytest.fixture(scope="session")
def lib(path: Path, tmp_path_factory: pytest.TempPathFactory) -> Library:
    """Returns the library, loaded by a host of the current form."""
    return Library(build(tmp_path_factory.mktemp("host")), path)


@pytest.fixture(autouse=True)
def no_leaks(request: pytest.FixtureRequest) -> Iterator[None]:
    """Checks that a test with the library leaves no tensors and contexts behind."""
    if "lib" not in request.fixturenames:
        yield
        return
    lib: Library = request.getfixturevalue("lib")
    before = lib.live_objects()
    yield
    assert lib.live_objects() == before


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Runs the tests of `tables` with each case of the file and each of its data types."""
    if {"case", "dtype"} <= set(metafunc.fixturenames):
        pairs = [(case, dtype) for case in metafunc.module.CASES for dtype in case.dtypes]
        if metafunc.function.__name__ == "test_in_place":
            pairs = [(case, dtype) for case, dtype in pairs if case.is_in_place(dtype)]
        names = [f"{case}-{dtype}" for case, dtype in pairs]
        metafunc.parametrize(("case", "dtype"), pairs, ids=names)
