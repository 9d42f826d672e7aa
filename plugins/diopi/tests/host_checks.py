"""Tests of the host with a library that does wrong. `test_host.py` runs this file."""

import subprocess
from pathlib import Path

import numpy as np
import pytest

import host
from host import NEW, DiopiError, Library, Missing, Out, like
from signatures import ROOT


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("foreign")
    source, library = Path(__file__).parent / "host/foreign.c", folder / "libforeign.so"
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fPIC", "-shared"]
    include = ["-I", str(ROOT / "sdk-c/include")]
    subprocess.run(["cc", *flags, *include, "-o", library, source, "-lm"], check=True)
    return Library(host.build(folder), library)


def test_strides_and_gaps_are_kept(foreign: Library) -> None:
    base = -np.arange(60.0).reshape(6, 10)
    for array in (
        base,
        base.T,
        base[::2, 1::3],
        base[:, :0],
        np.broadcast_to(base[0], (3, 10)),
    ):
        for out in (like(array), Out(array.shape, float, (2, 2 * array.shape[0]))):
            np.testing.assert_array_equal(foreign.call("diopiAbs", out, array), np.abs(array))
    target = base.copy()
    foreign.call("diopiAbs", target[1::2, ::5], base[1::2, ::5])
    assert (target[1::2, ::5] == -base[1::2, ::5]).all() and (target[::2] == base[::2]).all()


def test_same_memory_is_shared(foreign: Library) -> None:
    array = -np.ones((3, 4))
    foreign.call("diopiAbs", array[1:], array[:2])
    assert array.tolist() == [[-1] * 4, [1] * 4, [1] * 4]


def test_write_behind_an_output_is_noticed(foreign: Library) -> None:
    for array in (np.ones(3), np.ones(6)[::2], np.ones(0)):
        with pytest.raises(AssertionError, match="memory around an output"):
            foreign.call("diopiAbsInp", array)


def test_changed_input_is_noticed(foreign: Library) -> None:
    with pytest.raises(AssertionError, match="has changed an input"):
        foreign.call("diopiAcos", Out((2,), float), np.ones(2))


def test_failure_has_code_and_message(foreign: Library) -> None:
    with pytest.raises(DiopiError, match="the reason") as caught:
        foreign.call("diopiAcosInp", np.ones(2))
    assert caught.value.code == 13
    with pytest.raises(Missing, match="no diopiAdd"):
        foreign.call("diopiAdd", np.ones(2), np.ones(2), np.ones(2), 1)
    with pytest.raises(KeyError):
        foreign.call("diopiNothing")
    with pytest.raises(TypeError, match="takes"):
        foreign.call("diopiAbs", np.ones(2))


def test_tensor_of_the_library_is_read(foreign: Library) -> None:
    shapes = np.ones((7, 8, 9)), np.ones((1, 2, 3), bool)
    made = foreign.call("diopiMaskedSelect", NEW, *shapes)
    assert made.dtype == np.int64 and made.tolist() == [701, 802, 903]


def test_numbers_have_types(foreign: Library) -> None:
    written = foreign.call("diopiHardtanh", Out((3,), float), np.ones(3), np.float32(2.5), True)
    assert written.tolist() == [2.5, 1, 911]


def test_numbers_and_lists_are_passed(foreign: Library) -> None:
    args = [np.ones(3), np.ones((2, 2))], 2, 10.0, 0.5, True
    assert foreign.call("diopiClipGradNorm", NEW, *args) == 18.5
    dims = foreign.call("diopiPermute", Out((3,), int), np.ones(2), [3, -1, 2])
    assert dims.tolist() == [3, -1, 2]


def test_nothing_is_left(foreign: Library) -> None:
    assert foreign.live_objects() == 0
