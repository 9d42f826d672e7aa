"""Functions of `acl.rt` with a union among their arguments: another argument selects the member.

In Python a union is a dict with one member, under its name in the C header: ``{"failureMode": 1}``.
"""

from __future__ import annotations

from collections.abc import Mapping
from ctypes import POINTER, Structure, Union, byref, c_int32, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64
from typing import Any

from acl._call import REFUSED, again, bind, packed


class _StreamAttrValue(Union):
    _fields_ = [
        ("failureMode", c_uint64),
        ("overflowSwitch", c_uint32),
        ("userCustomTag", c_uint32),
        ("cacheOpInfoSwitch", c_uint32),
        ("streamPriority", c_uint32),
        ("reserved", c_uint32 * 4),
    ]


_MEMBER = {
    1: "failureMode",
    2: "overflowSwitch",
    3: "userCustomTag",
    4: "cacheOpInfoSwitch",
    5: "streamPriority",
}
"""The member for the value of each setting."""


class _MallocAttrValue(Union):
    _fields_ = [
        ("moduleId", c_uint16),
        ("deviceId", c_uint32),
        ("vaFlag", c_uint32),
        ("rsv", c_uint8 * 8),
    ]


class _MallocAttribute(Structure):
    _fields_ = [("attr", c_int32), ("value", _MallocAttrValue)]


class _MallocConfig(Structure):
    _fields_ = [("attrs", POINTER(_MallocAttribute)), ("num_attrs", c_size_t)]


_set_stream_attribute = bind("aclrtSetStreamAttribute", c_uint64, c_int32, POINTER(_StreamAttrValue))
_get_stream_attribute = bind("aclrtGetStreamAttribute", c_uint64, c_int32, POINTER(_StreamAttrValue))
_malloc_with_cfg = bind("aclrtMallocWithCfg", POINTER(c_uint64), c_size_t, c_int32, POINTER(_MallocConfig))
_malloc_for_task_scheduler = bind(
    "aclrtMallocForTaskScheduler", POINTER(c_uint64), c_size_t, c_int32, POINTER(_MallocConfig)
)
_malloc_host_with_cfg = bind("aclrtMallocHostWithCfg", POINTER(c_uint64), c_uint64, POINTER(_MallocConfig))


def set_stream_attribute(*args: Any) -> int:
    """Sets an attribute of a stream to the value in a dict."""
    try:
        stream, attr, value = args
        ret: int = _set_stream_attribute(stream, attr, byref(packed(_StreamAttrValue, value)))
    except REFUSED:
        ret = again(set_stream_attribute, 3, args)
    return ret


def get_stream_attribute(*args: Any) -> tuple[dict[str, Any], int]:
    """Gets one setting of a stream, as a dict with its value."""
    value = _StreamAttrValue()
    try:
        stream, attr = args
        ret: int = _get_stream_attribute(stream, attr, value)
    except REFUSED:
        answer: tuple[dict[str, Any], int] = again(get_stream_attribute, 2, args)
        return answer
    member = _MEMBER.get(attr)
    return ({} if ret != 0 or member is None else {member: getattr(value, member)}), ret


def malloc_with_cfg(*args: Any) -> tuple[int, int]:
    """Allocates device memory; the attributes are ``{"attrs": [{"attr": 1, "value": {"moduleId": 3}}]}``."""
    return _malloc(malloc_with_cfg, _malloc_with_cfg, 3, args)


def malloc_for_task_scheduler(*args: Any) -> tuple[int, int]:
    """Allocates device memory for the scheduler."""
    return _malloc(malloc_for_task_scheduler, _malloc_for_task_scheduler, 3, args)


def malloc_host_with_cfg(*args: Any) -> tuple[int, int]:
    """Allocates pinned memory; the attributes are those of `malloc_with_cfg`."""
    return _malloc(malloc_host_with_cfg, _malloc_host_with_cfg, 2, args)


def _malloc(function: Any, native: Any, count: int, args: tuple[Any, ...]) -> tuple[int, int]:
    pointer = c_uint64()
    try:
        *numbers, settings = args
        ret: int = native(pointer, *numbers, _config(settings))
    except REFUSED:
        answer: tuple[int, int] = again(function, count, args)
        return answer
    return pointer.value, ret


def _config(settings: Any) -> Any:
    if settings is None:
        return None
    if not isinstance(settings, Mapping):
        raise TypeError("a dict is expected")
    attrs = [packed(_MallocAttribute, setting) for setting in settings.get("attrs", ())]
    return byref(_MallocConfig((_MallocAttribute * len(attrs))(*attrs), len(attrs)))
