"""The library as it is in C: a function for each export, a class for each type. What people use is above, in `tenon`.

`functions` has the device interface of the spec, `core` what the library does beside it, `types` what both take and
answer; these three are generated. A function that fails raises one of `tenon.errors`. The functions of ctypes below
have an underscore before their name: `functions._memory_copy_h2d` takes the parameters of C and answers the status.
"""
