"""From a status to an exception: where every native call that does not succeed ends."""

from __future__ import annotations

from typing import NoReturn

_PREFIX = "tenon_"


def failed(status: int) -> NoReturn:
    """Raises the exception that stands for a status, with what the library remembers of the call.

    Args:
        status: What a native function answered; not 0.
    """
    # The generated modules import this one, so it can import what is made of them only when it is called.
    from tenon import _running, errors
    from tenon._native import core
    from tenon._native.text import decode_or_none

    _running.leave_if_ended()
    kind = errors.BY_STATUS.get(status, errors.DeviceError)
    told = core.Error()
    # The function below `core.error_last`, which would come here again. A finaliser that ran in between may have failed
    # too, and then the story is not that of this call.
    if core._error_last(told) or told.status != status:
        raise kind(core.status_string(status), status=status)
    function = decode_or_none(told.function)
    raise kind(
        decode_or_none(told.message) or core.status_string(status),
        status=status,
        function=function.removeprefix(_PREFIX) if function else None,
        device=decode_or_none(told.device),
        plugin=decode_or_none(told.plugin),
        plugin_message=decode_or_none(told.plugin_message),
        layer=decode_or_none(told.layer),
        rule=decode_or_none(told.rule),
    )
