"""Texts across the boundary: UTF-8, ended by a zero byte. Bytes that are no UTF-8, as in a path, stay as they are."""

from __future__ import annotations


def encode(text: str) -> bytes:
    """Gives a text to C.

    Raises:
        ValueError: There is a zero character in it, at which C would take it to end.
    """
    if "\0" in text:
        raise ValueError("a text for the library must not contain a zero character")
    return text.encode("utf-8", "surrogateescape")


def encode_or_null(text: str | None) -> bytes | None:
    """Gives a text to C that may be left out."""
    return None if text is None else encode(text)


def decode(text: bytes | None) -> str:
    """Takes a text from C; null is an empty one."""
    return "" if text is None else text.decode("utf-8", "surrogateescape")


def decode_or_none(text: bytes | None) -> str | None:
    """Takes a text from C that may be null."""
    return None if text is None else decode(text)
