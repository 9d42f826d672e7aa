"""Functions that need an operator compiler, which no device here has. The C interface lacks them too.

They check their arguments and return tuples of the usual length, so that programs can unpack the result. The status is
the code for unsupported functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from acl._call import NOT_SUPPORTED, accepts, again
from acl._message import leave

_DOC = "Returns 200001 (not supported): no device here supports it."

HANDLE, STATUS = (0,), ()
"""Results in addition to the status: a handle, or none."""


def lacking(module: str, signatures: Mapping[str, tuple[str, tuple[Any, ...]]]) -> dict[str, Callable[..., Any]]:
    """Creates functions that only return the status for unsupported functions.

    Args:
        module: The module of the functions.
        signatures: For each name, one letter per argument (see `accepts`), and the results before the status.
    """
    return {name: _function(module, name, kinds, results) for name, (kinds, results) in signatures.items()}


def _function(module: str, name: str, kinds: str, results: tuple[Any, ...]) -> Callable[..., Any]:
    def not_supported(*args: Any) -> Any:
        if len(args) != len(kinds) or not all(map(accepts, kinds, args)):
            return again(not_supported, len(kinds), args)
        leave(f"{module}.{name}: no device here supports it")
        # Each caller gets new lists.
        return (*map(_new, results), NOT_SUPPORTED) if results else NOT_SUPPORTED

    not_supported.__name__ = not_supported.__qualname__ = name
    not_supported.__module__ = module
    not_supported.__doc__ = _DOC
    return not_supported


def _new(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def _without_status(module: str, name: str) -> dict[str, Callable[..., Any]]:
    inner = _function(module, name, "", HANDLE)

    def no_handle(*args: Any) -> int:
        handle, _ = inner(*args)
        return int(handle)

    no_handle.__name__ = no_handle.__qualname__ = name
    no_handle.__module__ = module
    no_handle.__doc__ = _DOC
    return {name: no_handle}


OF_ACL = lacking(
    "acl",
    {
        "set_tensor_shape_range": ("il", STATUS),
        "set_tensor_value_range": ("il", STATUS),
    },
)

OF_RT = {
    **_without_status("acl.rt", "allocator_create_desc"),
    **lacking(
        "acl.rt",
        {
            "allocator_destroy_desc": ("i", STATUS),
            "allocator_set_obj_to_desc": ("ii", STATUS),
            "allocator_set_alloc_func_to_desc": ("ic", STATUS),
            "allocator_set_free_func_to_desc": ("ic", STATUS),
            "allocator_set_alloc_advise_func_to_desc": ("ic", STATUS),
            "allocator_set_get_addr_from_block_func_to_desc": ("ic", STATUS),
            "allocator_register": ("ii", STATUS),
            "allocator_unregister": ("i", STATUS),
            "binary_load_from_file": ("sl", HANDLE),
            "binary_load_from_data": ("iil", HANDLE),
            "launch_kernel_with_config": ("iiilii", STATUS),
            "launch_kernel_with_host_args": ("iiiliil", STATUS),
            "kernel_args_init_by_user_mem": ("iiii", STATUS),
            "kernel_args_get_mem_size": ("ii", (0,)),
            "kernel_args_get_handle_mem_size": ("i", (0,)),
            "kernel_args_append_place_holder": ("i", HANDLE),
            "kernel_args_get_place_holder_buffer": ("iii", (0,)),
            "kernel_args_para_update": ("iiii", STATUS),
            "get_function_addr": ("i", (0, 0)),
            "get_function_name": ("ii", ("",)),
            "register_cpu_func": ("iss", HANDLE),
            "get_group_info_detail": ("iii", ([],)),
            "get_mem_uce_info": ("ii", ([],)),
            "mem_uce_repair": ("il", STATUS),
            "start_dump_args": ("is", STATUS),
            "stop_dump_args": ("i", STATUS),
        },
    ),
}
