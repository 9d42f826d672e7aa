"""Compiled functions of Python that call the functions of DIOPI.

Frameworks call operators from compiled code, and so does PyTorch's package. ctypes would add up to a microsecond to a call.
"""

import ctypes
import importlib.util
import os
import subprocess
import sysconfig
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from signatures import ROOT, Param, Size, ctype, functions

HEAD = """
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>
#include <diopi/functions.h>

diopiError_t host_synchronize(diopiContextHandle_t ctx);
void host_destroy_tensors(diopiContextHandle_t ctx);
const char* diopiGetLastErrorString(void);

static void* address(PyObject* value) { return value == Py_None ? NULL : PyLong_AsVoidPtr(value); }

static PyObject* ended(int code) {
  if (code == 0) Py_RETURN_NONE;
  return PyErr_Format(PyExc_RuntimeError, "%s (%d)", diopiGetLastErrorString(), code);
}
"""

FUNCTION = """
static PyObject* call_{name}(PyObject* self, PyObject* const* values, Py_ssize_t count) {{
  (void)self;
  if (count != {count}) return PyErr_Format(PyExc_TypeError, "{name} takes {count} arguments");
  diopiContextHandle_t a0 = address(values[0]);
  {read}
  if (PyErr_Occurred()) return NULL;
  int code;
  Py_BEGIN_ALLOW_THREADS
  code = {name}({arguments});
  if (code == 0) code = host_synchronize(a0);
  host_destroy_tensors(a0);
  Py_END_ALLOW_THREADS
  return ended(code);
}}
"""

TAIL = """
static PyMethodDef methods[] = {{
  {methods}
  {{NULL, NULL, 0, NULL}},
}};
static struct PyModuleDef module = {{PyModuleDef_HEAD_INIT, "calls", NULL, -1, methods, NULL, NULL, NULL, NULL}};
PyMODINIT_FUNC PyInit_calls(void) {{ return PyModule_Create(&module); }}
"""


def source(names: Sequence[str]) -> str:
    """Returns a module in C with a function for each of some functions of DIOPI.

    Each waits for the stream, and destroys the tensors that the operator has made.
    """
    parts = [HEAD]
    for name in names:
        params = functions()[name].params
        read = [
            _read(param, number) for number, param in enumerate(params) if number > 0
        ]
        parts.append(
            FUNCTION.format(
                name=name,
                count=len(params),
                read="\n  ".join(read),
                arguments=", ".join(f"a{number}" for number in range(len(params))),
            )
        )
    rows = [
        f'{{"{name}", (PyCFunction)(void (*)(void))call_{name}, METH_FASTCALL, NULL}},'
        for name in names
    ]
    return "".join([*parts, TAIL.format(methods="\n  ".join(rows))])


def _read(param: Param, number: int) -> str:
    """Returns the statement that reads an argument."""
    value = f"values[{number}]"
    kind = ctype(param.type)
    if kind is Size:
        read = f"*(diopiSize_t*)address({value})"
    elif kind is ctypes.c_char_p:
        read = f"PyBytes_AsString({value})"
    elif kind in (ctypes.c_double, ctypes.c_float):
        read = f"({param.type})PyFloat_AsDouble({value})"
    elif kind is ctypes.c_bool:
        read = f"PyObject_IsTrue({value}) == 1"
    elif kind is ctypes.c_void_p:
        read = f"address({value})"
    else:
        read = f"({param.type})PyLong_AsLongLong({value})"
    return f"{param.type} a{number} = {read};"


class Binding:
    """The compiled functions of a library."""

    def __init__(
        self, folder: Path, names: Sequence[str], runtime: Path, library: Path
    ) -> None:
        code, module = folder / "calls.c", folder / "calls.so"
        code.write_text(source(names))
        include = [
            "-I",
            str(ROOT / "sdk-c/include"),
            "-I",
            sysconfig.get_path("include"),
        ]
        flags = [
            "-std=c11",
            "-Wall",
            "-Werror",
            "-O2",
            "-fPIC",
            "-shared",
            "-o",
            str(module),
        ]
        libraries = [str(library), str(runtime), f"-Wl,-rpath,{runtime.parent}"]
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, *flags, *include, str(code), *libraries], check=True)
        spec = importlib.util.spec_from_file_location("calls", module)
        assert spec is not None and spec.loader is not None
        self._module: Any = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(self._module)

    def bind(self, name: str, values: Sequence[Any]) -> Callable[[], None]:
        """Returns a call of a function with some arguments, the context first.

        The arguments must live as long as the call.
        """
        plain = [
            ctypes.addressof(value) if isinstance(value, Size) else value
            for value in values
        ]
        return partial(getattr(self._module, name), *plain)
