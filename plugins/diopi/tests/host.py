"""A host of DIOPI for the tests: loads a library, and calls its functions with arrays."""

import ctypes
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from signatures import ROOT, Param, Scalar, Size, constants, ctype, functions
from tensors import Array, Out, Tensors, code_of, empty, like

__all__ = [
    "NEW",
    "DiopiError",
    "Generator",
    "Library",
    "Missing",
    "Number",
    "Out",
    "Sparse",
    "build",
    "like",
]

NEW: Any = type("New", (), {"__doc__": "A place for a result that the operator makes."})()


class DiopiError(Exception):
    """A call has failed."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.message = message


class Missing(NotImplementedError):
    """The library has no function of that name."""


class Number:
    """A number with a data type, for operators that take a scalar."""

    def __init__(self, value: complex, dtype: Any) -> None:
        self.value = value
        self.dtype = np.dtype(dtype)

    @staticmethod
    def of(value: Any) -> "Number":
        """Returns a Python number with the type that it has in PyTorch."""
        if isinstance(value, Number):
            return value
        if isinstance(value, np.generic):
            return Number(value.item(), value.dtype)
        return Number(value, {bool: np.bool_, int: np.int64, float: np.float64}[type(value)])


class Sparse:
    """A sparse matrix in compressed rows: row offsets, columns and values.

    `None` is a part that the host does not have, as for matrices in another form.
    """

    def __init__(self, shape: tuple[int, int], *parts: Array | None) -> None:
        # The memory of the matrix itself is never read.
        self.arrays = [np.zeros(shape, "f4"), *parts]


class Generator:
    """A generator of random numbers, with a seed and an offset."""

    def __init__(self, library: "Library", seed: int) -> None:
        self._runtime = library.runtime
        make = self._runtime.host_make_generator
        make.restype = ctypes.c_void_p
        self.handle = int(make(ctypes.c_uint64(seed)))

    def __del__(self) -> None:
        self._runtime.host_destroy_generator(ctypes.c_void_p(self.handle))

    def seed_and_offset(self) -> tuple[int, int]:
        seed, offset = ctypes.c_uint64(), ctypes.c_uint64()
        place = ctypes.byref(seed), ctypes.byref(offset)
        get = self._runtime.diopiGeneratorGetSeedAndOffset
        assert get(ctypes.c_void_p(self.handle), *place) == 0
        return seed.value, offset.value


def build(folder: Path, form: str = "symbols") -> Path:
    """Compiles `libdiopirt.so`.

    `form`: how it finds the device functions, `symbols`, or `registered` for the older form.
    """
    sources = Path(__file__).parent / "host"
    library = folder / form / "libdiopirt.so"
    library.parent.mkdir(parents=True, exist_ok=True)
    flags = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-O1", "-fPIC", "-shared"]
    flags += ["-Wl,-soname,libdiopirt.so", "-I", str(ROOT / "sdk-c/include"), "-o", str(library)]
    files = [str(sources / f"{name}.c") for name in ("host", "memory", form)]
    subprocess.run([os.environ.get("CC", "cc"), *flags, *files, "-ldl"], check=True)
    return library


class Library:
    """A library of operators. A process can load only one."""

    def __init__(self, runtime: Path, library: Path, mode: int = ctypes.RTLD_GLOBAL) -> None:
        self.runtime = ctypes.CDLL(str(runtime), mode)
        for name in ("host_open", "diopiGetVersion"):
            getattr(self.runtime, name).restype = ctypes.c_char_p
        for name in ("host_make_context", "host_make_tensor"):
            getattr(self.runtime, name).restype = ctypes.c_void_p
        self.runtime.host_live_objects.restype = ctypes.c_int64
        message = self.runtime.host_open(str(library).encode())
        if message is not None:
            raise ImportError(message.decode())
        self._library = ctypes.CDLL(str(library))

    def function(self, name: str) -> Callable[..., Any]:
        """Returns a function with its types in C."""
        signature = functions()[name]
        try:
            function = getattr(self._library, name)
        except AttributeError:
            raise Missing(f"the library has no {name}") from None
        function.restype = ctype(signature.result)
        function.argtypes = [ctype(param.type) for param in signature.params]
        return function  # type: ignore[no-any-return]

    def has(self, name: str) -> bool:
        """Returns whether the library implements an operator."""
        return hasattr(self._library, name)

    def last_error(self) -> str:
        """Returns the message of the last failure."""
        text: bytes = self.function("diopiGetLastErrorString")()
        return text.decode()

    def live_objects(self) -> int:
        """Returns how many contexts, tensors, memories and generators the host has."""
        return int(self.runtime.host_live_objects())

    def call(self, name: str, *args: Any) -> Any:
        """Calls an operator, with the arguments of the C function behind the context.

        Returns the results for which the arguments have `Out` and `NEW`: one, or a tuple. An array
        in the place of an output is written to.
        """
        function, params = self.function(name), functions()[name].params[1:]
        if len(params) != len(args):
            raise TypeError(f"{name} takes {[param.name for param in params]}")
        context = self.runtime.host_make_context()
        try:
            with Tensors(self.runtime) as tensors:
                call = _Call(tensors, params, args)
                code = function(context, *call.values)
                waited = self.runtime.host_synchronize(ctypes.c_void_p(context))
                tensors.read()
                if code != 0 or waited != 0:
                    raise DiopiError(code or waited, self.last_error())
                return call.results()
        finally:
            self.runtime.host_destroy_context(ctypes.c_void_p(context))

    @contextmanager
    def prepared(self, name: str, *args: Any) -> Iterator[list[Any]]:
        """Returns the arguments of an operator as C has them, the context included.

        Calls may use them until the context manager ends.
        """
        context: int = self.runtime.host_make_context()
        try:
            with Tensors(self.runtime) as tensors:
                call = _Call(tensors, functions()[name].params[1:], args)
                yield [context, *call.values]
        finally:
            self.runtime.host_destroy_context(ctypes.c_void_p(context))


class _Call:
    """The arguments of a call, as C has them."""

    def __init__(self, tensors: Tensors, params: Sequence[Param], args: Sequence[Any]) -> None:
        self._tensors = tensors
        self._kept: list[Any] = []
        # Reads each result after the call, in the order of the arguments.
        self._results: list[Callable[[], Any]] = []
        filled = [
            _with_arrays(arg) if "TensorHandle_t" in param.type else arg
            for param, arg in zip(params, args, strict=True)
        ]
        tensors.place(
            [
                (item.array if isinstance(item, _Result) else item, "Const" not in param.type)
                for param, arg in zip(params, filled, strict=True)
                for item in _items(arg)
                if isinstance(item, _Result | np.ndarray)
            ]
        )
        pairs = zip(params, filled, strict=True)
        self.values = [self._value(param, arg) for param, arg in pairs]

    def results(self) -> Any:
        results = tuple(result() for result in self._results)
        return results[0] if len(results) == 1 else results or None

    def _value(self, param: Param, arg: Any) -> Any:
        if "TensorHandle_t" in param.type:
            return self._tensors_of(arg) if param.type.endswith("*") else self._handle(arg)
        if param.type in ("const diopiScalar_t*", "diopiScalar_t*"):
            return None if arg is None else self._address(_scalar(Number.of(arg)))
        if "diopiSize_t" in param.type:
            size = self._size(arg)
            if param.type == "diopiSize_t":
                return size
            return None if arg is None else self._address(size)
        if param.type == "diopiGeneratorHandle_t":
            return None if arg is None else arg.handle
        if param.type == "diopiDtype_t" and not isinstance(arg, int):
            return code_of(arg)
        if param.type.endswith("*") and param.type != "const char*":
            return self._numbers(param.type.removeprefix("const ").removesuffix("*"), arg)
        if isinstance(arg, str):
            return arg.encode() if param.type == "const char*" else constants()[arg]
        return arg

    def _tensors_of(self, arg: Any) -> int | None:
        """Returns the address of handles: those of a list, or a place for one."""
        if arg is None:
            return None
        items = arg if isinstance(arg, list) else [arg]
        handles = (ctypes.c_void_p * len(items))()
        for place, item in enumerate(items):
            if item is NEW:
                self._results.append(partial(self._made, handles, place))
            else:
                handles[place] = self._handle(item)
        return self._address(handles)

    def _made(self, handles: Any, place: int) -> Array | None:
        handle: int | None = handles[place]
        return None if handle is None else self._tensors.made(handle)

    def _handle(self, arg: Any) -> int | None:
        if isinstance(arg, _Result):
            array = arg.array
            self._results.append(lambda: array)
            return self._tensors.handle(array)
        if isinstance(arg, Sparse):
            return self._tensors.sparse(arg.arrays)
        return None if arg is None else self._tensors.handle(arg)

    def _size(self, arg: Sequence[int] | None) -> Size:
        if arg is None:
            return Size(None, 0)
        return Size(self._address((ctypes.c_int64 * len(arg))(*arg)), len(arg))

    def _numbers(self, name: str, arg: Any) -> int | None:
        """Returns the address of numbers, or of a place for a number."""
        if arg is None:
            return None
        of: Any = ctype(name)
        if arg is NEW:
            place = of()
            self._results.append(lambda: place.value)
            return self._address(place)
        numbers = arg if isinstance(arg, list) else [arg]
        return self._address((of * len(numbers))(*numbers))

    def _address(self, value: Any) -> int:
        self._kept.append(value)
        return ctypes.addressof(value)


@dataclass
class _Result:
    """The array of an `Out`."""

    array: Array


def _items(arg: Any) -> list[Any]:
    """Returns the arrays of an argument."""
    if isinstance(arg, Sparse):
        return arg.arrays
    return arg if isinstance(arg, list) else [arg]


def _with_arrays(arg: Any) -> Any:
    """Makes the arrays for the results."""
    if isinstance(arg, Out):
        return _Result(empty(arg.shape, arg.dtype, arg.strides))
    if isinstance(arg, np.generic):
        return np.asarray(arg)
    return [_with_arrays(item) for item in arg] if isinstance(arg, list) else arg


def _scalar(number: Number) -> Scalar:
    scalar = Scalar(stype=code_of(number.dtype))
    if number.dtype.kind in "iub":
        scalar.ival = int(number.value.real)
    else:
        scalar.fval = float(number.value.real)
    return scalar
