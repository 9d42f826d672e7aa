"""Calls the generated package `kit`, whose library is written in C beside this file."""

from __future__ import annotations

import inspect
import sys

import kit
import kit.text

BOX = 0xFEDCBA9876543210


class Number:
    """An object that converts to an integer, like those of NumPy."""

    def __index__(self) -> int:
        return 1


def refusal(function, *args):
    """Returns the message of a function that refuses its arguments."""
    try:
        answer = function(*args)
    except TypeError as error:
        return str(error)
    raise AssertionError(f"{function.__name__}{args} answered {answer}")


# Values that C writes come first, the status last; a returned value comes alone.
assert kit.make_box(0) == (BOX, 0)
assert kit.make_box(1) == (BOX + 1, 0)
assert kit.make_box(-1) == (0, 100000)
assert kit.text.message() == "kitMakeBox: nobody knows the colour"
assert kit.text.message() is None
assert kit.count_boxes() == 2
assert kit.colour_of(BOX + 1) == 1 and kit.colour_of(0) == -1
assert kit.label_of(BOX) == BOX and kit.melted() == 0

# The values of an enum with bit 31 have no sign.
assert kit.switch_ports(0x80000000) == (0x80000001, 0) and kit.switch_ports(1) == (1, 0)
assert kit.serial_of(0) == 0xFFFFFFFF and kit.serial_of(BOX) == 7

# Addresses wrap as in C; what stands for a number is one, and None is none.
assert kit.free_box(BOX + 2**64) == 0 and kit.count_boxes() == 1
assert kit.make_box(Number()) == (BOX + 1, 0)
assert refusal(kit.free_box, None) == "kit.free_box args parse failed"
assert refusal(kit.free_box, "box") == "kit.free_box args parse failed"
assert refusal(kit.free_box, 1.5) == "kit.free_box args parse failed"
assert refusal(kit.free_box) == "function takes exactly 1 argument (0 given)"
assert refusal(kit.make_box, 1, 2) == "function takes exactly 1 argument (2 given)"
assert refusal(kit.measure, 1) == "function takes exactly 2 arguments (1 given)"
assert refusal(kit.count_boxes, 1) == "function takes exactly 0 arguments (1 given)"

# Structs are dicts, whatever they are made of.
wanted = {"place": {"shelf_number": 3}, "sides": [1, Number(), 65534]}
size = {"place": {"shelf_number": -7, "address": BOX}, "sides": [2, 2, 65535], "mark": [255, 1, 2, 3]}
assert kit.measure(BOX, wanted) == (3.0, size, 0)
assert kit.measure(BOX, None)[::2] == (0.5, 0)
assert refusal(kit.measure, BOX, {"shelf": 3}) == "kit.measure args parse failed"
assert refusal(kit.measure, BOX, {"sides": [1, 2]}) == "kit.measure args parse failed"
assert refusal(kit.measure, BOX, 3) == "kit.measure args parse failed"

# Lists bring their length, and two of one length agree; what is handed on comes back.
assert kit.fill_box(BOX, [1, -2, 3], [10, 20.0, 30], 5) == (BOX, 2, 0)
assert kit.list_numbers(BOX, 4) == ([11, 18, 33, -1], 0)
assert kit.fill_box(BOX, [], (), 5) == (BOX, 5, 0)
assert refusal(kit.fill_box, BOX, [1, 2], [1.0], 5) == "kit.fill_box args parse failed"
assert refusal(kit.fill_box, BOX, ["1"], [1.0], 5) == "kit.fill_box args parse failed"
assert refusal(kit.list_numbers, BOX, -1) == "kit.list_numbers args parse failed"

# Texts; one at the end that may be null may be left out.
assert kit.open() == 0 and kit.text.message() == "opened"
assert kit.open("file") == 0 and kit.text.message() == "opened a file"
assert refusal(kit.open, "a", "b") == "function takes at most 1 argument (2 given)"
assert kit.text.name(BOX, "Größe") == 0
assert kit.text.name_of(BOX, 32) == ("Größe", 0)
assert refusal(kit.text.name, BOX, None) == "kit.text.name args parse failed"
assert refusal(kit.text.name, BOX, "a\0b") == "kit.text.name args parse failed"

# By hand, and not at all.
assert kit.visit("visitor", 7) == ("visitor", 7)
assert kit.bench.BY_HAND and not hasattr(kit, "__wrapped__")
assert not hasattr(kit, "hammer") and kit.empty.nothing() == 200001
assert {"kit.text", "kit.bench", "kit.empty"} <= set(sys.modules)
assert inspect.getdoc(kit.measure).startswith("measure(box, wanted) -> (weight, size, ret)\n")
assert inspect.getdoc(kit.open).startswith("open([path]) -> ret\n")
print("done")
