"""Converts between Python strings and null-terminated UTF-8. Invalid UTF-8, as in a path, is preserved."""

from __future__ import annotations


def encode(text: str) -> bytes:
    """Converts a string for C.

    Raises:
        ValueError: The string contains a zero character, which would end it in C.
    """
    if "\0" in text:
        raise ValueError("a string for the library must not contain a zero character")
    return text.encode("utf-8", "surrogateescape")


def encode_or_null(text: str | None) -> bytes | None:
    """Converts an optional string for C. None becomes a null pointer."""
    return None if text is None else encode(text)


def decode(text: bytes | None) -> str:
    """Converts a string from C. Null becomes an empty string."""
    return "" if text is None else text.decode("utf-8", "surrogateescape")


def decode_or_none(text: bytes | None) -> str | None:
    """Converts a string from C. Null becomes None."""
    return None if text is None else decode(text)
