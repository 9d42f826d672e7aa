"""The hand-written functions of `acl`."""

from __future__ import annotations

import logging
from ctypes import POINTER, c_char_p, c_int32, c_uint64
from typing import Any

from acl import _message
from acl._call import REFUSED, again, arity, bind, encoded_or_null, homed, parse_failed
from acl._hand.lacking import OF_ACL
from acl._hand.launched import forget_ended

_init = bind("aclInit", c_char_p)
_finalize = bind("aclFinalize")
_finalize_reference = bind("aclFinalizeReference", POINTER(c_uint64))
_get_cann_attribute = bind("aclGetCannAttribute", c_int32, POINTER(c_int32))

_ATTRIBUTES = (0, 1, 2)
"""The attributes of `get_cann_attribute`."""
_LEVELS = (logging.DEBUG, logging.INFO, logging.WARNING, logging.ERROR)


def init(*args: Any) -> int:
    """Initialises the library; the path of a configuration file is optional."""
    try:
        (config_path,) = args or (None,)
        ret: int = _init(encoded_or_null(config_path))
        return ret
    except REFUSED:
        ret = again(init, 1, args, optional=1)
        return ret


def finalize(*args: Any) -> int:
    """Finalises the library, and drops callbacks that have not run."""
    if args:
        again(finalize, 0, args)
    ret: int = _finalize()
    forget_ended()
    return ret


def finalize_reference(*args: Any) -> tuple[int, int]:
    """Finalises the library when it was called as often as `init`."""
    if args:
        again(finalize_reference, 0, args)
    count = c_uint64()
    ret: int = _finalize_reference(count)
    forget_ended()
    return count.value, ret


def get_recent_err_msg(*args: Any) -> str | None:
    """Takes the thread's last message, including messages of functions that are written in Python."""
    if args:
        again(get_recent_err_msg, 0, args)
    return _message.take()


def app_log(*args: Any) -> None:
    """app_log(level, message) -> None

    Writes a line to the log of the program: the logger ``acl`` of Python's ``logging``.

    Args:
        level: 0 debug, 1 info, 2 warning or 3 error.
        message: The line.
    """
    arity(2, args)
    level, message = args
    if level not in range(len(_LEVELS)) or not isinstance(message, str):
        raise parse_failed(app_log)
    logging.getLogger("acl").log(_LEVELS[level], "%s", message)


def get_cann_attribute_list(*args: Any) -> tuple[list[int], int, int]:
    """get_cann_attribute_list() -> (attributes, count, ret)

    Lists the features that the software stack supports.

    Returns:
        attributes: The attributes for which ``acl.get_cann_attribute`` returns 1.
        count: The number of attributes.
        ret: 0.
    """
    arity(0, args)
    found = []
    for attribute in _ATTRIBUTES:
        value = c_int32()
        ret: int = _get_cann_attribute(attribute, value)
        if ret != 0:
            return [], 0, ret
        if value.value:
            found.append(attribute)
    return found, len(found), 0


BESIDE = homed("acl", {"app_log": app_log, "get_cann_attribute_list": get_cann_attribute_list, **OF_ACL})
"""Functions that C does not have, or whose C function the spec language cannot describe."""
