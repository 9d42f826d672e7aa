"""Low-level bindings of the C library: one function per export, one class per type. Most programs use `tenon` instead.

`functions` contains the device interface of the spec, `core` the other functions of the library, and `types` their
types. These three modules are generated. A failed call raises an exception of `tenon.errors`. Names with a leading
underscore are the ctypes functions: `functions._memory_copy_h2d` takes the parameters of C and returns the status.
"""
