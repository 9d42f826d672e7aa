"""Converts the status of a failed native call to an exception."""

from __future__ import annotations

from typing import NoReturn

_PREFIX = "tenon_"


def failed(status: int) -> NoReturn:
    """Raises the exception for a status, with the details of the last error that the library recorded.

    Args:
        status: The status of a native function; not 0.
    """
    # Imported here because the generated modules import this module.
    from tenon import errors
    from tenon._lifecycle import process
    from tenon._native import core
    from tenon._native.text import decode_or_none

    process.leave_if_ended()
    kind = errors.BY_STATUS.get(status, errors.DeviceError)
    error = core.Error()
    # Calls the ctypes function, because `core.error_last` would call this function again. A finaliser may have failed
    # in between; the error record then belongs to another call.
    if core._error_last(error) or error.status != status:
        raise kind(core.status_string(status), status=status)
    function = decode_or_none(error.function)
    raise kind(
        decode_or_none(error.message) or core.status_string(status),
        status=status,
        function=function.removeprefix(_PREFIX) if function else None,
        device=decode_or_none(error.device),
        plugin=decode_or_none(error.plugin),
        plugin_message=decode_or_none(error.plugin_message),
        layer=decode_or_none(error.layer),
        rule=decode_or_none(error.rule),
    )
