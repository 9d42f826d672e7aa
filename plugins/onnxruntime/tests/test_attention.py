"""Attention and the rotation of queries and keys, beside ONNX Runtime's CPU provider."""

from __future__ import annotations

from typing import Any

import numpy
import pytest
from onnx import helper

import provider
from provider import Array, model, random, session

# The CPU provider takes groups of queries only with a multiple of 16 elements.
BATCH, QUERIES, HEADS, WIDTH = 2, 3, 4, 16


def made(node: Any, inputs: dict[str, Array], opset: int) -> Any:
    """Makes a model of a node."""
    whole = model([node], inputs, list(node.output), opset=opset)
    whole.opset_import.append(helper.make_opsetid("com.microsoft", 1))
    return whole


def compare(
    node: Any,
    inputs: dict[str, Array],
    opset: int = 24,
    reference: tuple[Any, dict[str, Array]] | None = None,
) -> None:
    """Compares the outputs of a node on the device with those of a node on the CPU provider.

    That is the same node, if there is no other reference.
    """
    other_node, other_inputs = reference or (node, inputs)
    cpu = session(made(other_node, other_inputs, opset), on_device=False)
    expected = cpu.run(None, other_inputs)
    whole = made(node, inputs, opset)
    on_device = session(whole, optimised=False, only_device=provider.minor() > 24)
    for _ in range(2):
        found = on_device.run(None, inputs)
        for one, other in zip(found, expected, strict=True):
            assert one.dtype == other.dtype
            numpy.testing.assert_allclose(one, other, 1e-4, 1e-5)


def node_of(operator: str, inputs: dict[str, Any], *outputs: str, **attributes: Any) -> Any:
    """Makes a node whose inputs have names that are empty where they are absent."""
    names = [name if value is not None else "" for name, value in inputs.items()]
    for name in [name for name, value in inputs.items() if value is None]:
        del inputs[name]
    return helper.make_node(operator, names, list(outputs), **attributes)


def parts(keys: int = QUERIES, kv_heads: int = HEADS, rank: int = 4) -> dict[str, Array]:
    """Makes queries, keys and values."""
    shapes = ((HEADS, QUERIES), (kv_heads, keys), (kv_heads, keys))
    made = {}
    for seed, (name, (heads, length)) in enumerate(zip("qkv", shapes, strict=True)):
        shape = (BATCH, heads, length, WIDTH) if rank == 4 else (BATCH, length, heads * WIDTH)
        made[name] = random(*shape, seed=seed) * 2
    return made


@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("kv_heads", [4, 2, 1])
@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", ["none", "bool", "float", "samples"])
def test_attention(rank: int, kv_heads: int, causal: int, mask: str) -> None:
    inputs = parts(kv_heads=kv_heads, rank=rank)
    generator = numpy.random.default_rng(5)
    if mask == "bool":
        inputs["mask"] = generator.random((QUERIES, QUERIES)) < 0.7
        inputs["mask"] |= numpy.eye(QUERIES, dtype=bool)
    if mask == "float":
        # The CPU provider of 1.24 takes one for each head only without groups.
        heads = HEADS if kv_heads == HEADS else 1
        inputs["mask"] = random(1, heads, QUERIES, QUERIES, seed=6)
    if mask == "samples":
        inputs["mask"] = random(BATCH, 1, QUERIES, QUERIES, seed=6)
    counts = {"q_num_heads": HEADS, "kv_num_heads": kv_heads} if rank == 3 else {}
    compare(node_of("Attention", inputs, "y", is_causal=causal, scale=0.3, **counts), inputs)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("has_mask", [False, True])
def test_attention_with_caches(causal: int, has_mask: bool) -> None:
    before = 5
    inputs: dict[str, Any] = parts()
    inputs["mask"] = random(QUERIES, before + QUERIES, seed=9) if has_mask else None
    inputs["past_k"] = random(BATCH, HEADS, before, WIDTH, seed=3)
    inputs["past_v"] = random(BATCH, HEADS, before, WIDTH, seed=4)
    node = node_of("Attention", inputs, "y", "present_k", "present_v", is_causal=causal)
    compare(node, inputs)


def test_attention_with_keys_of_different_number() -> None:
    lengths = numpy.array([6, 4], numpy.int64)
    inputs: dict[str, Any] = {**parts(keys=6), "mask": None, "past_k": None, "past_v": None}
    inputs["lengths"] = lengths
    node = node_of("Attention", inputs, "y")
    # The CPU provider of 1.24 computes something else, so the reference has a mask instead.
    masked = {**parts(keys=6), "mask": numpy.arange(6) < lengths[:, None, None, None]}
    masked["mask"] = numpy.repeat(masked["mask"], QUERIES, 2)
    compare(node, inputs, reference=(node_of("Attention", masked, "y"), masked))


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("width", [0, 4])
@pytest.mark.parametrize("has_places", [False, True])
@pytest.mark.parametrize("rank", [3, 4])
def test_rotations(interleaved: int, width: int, has_places: bool, rank: int) -> None:
    pairs = (width or WIDTH) // 2
    shape = (7, pairs) if has_places else (BATCH, QUERIES, pairs)
    inputs = {"x": parts(rank=rank)["q"]}
    inputs |= {"cos": random(*shape, seed=1), "sin": random(*shape, seed=2)}
    if has_places:
        inputs["places"] = numpy.random.default_rng(3).integers(0, 7, (BATCH, QUERIES))
    attributes = {"interleaved": interleaved, "rotary_embedding_dim": width, "num_heads": HEADS}
    compare(node_of("RotaryEmbedding", inputs, "y", **attributes), inputs, opset=23)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("rank", [3, 4])
@pytest.mark.parametrize("places", [[2], [[0, 1, 2], [4, 5, 6]]])
def test_rotations_of_fused_nodes(interleaved: int, rank: int, places: Any) -> None:
    pairs = WIDTH // 2
    inputs = {
        "x": parts(rank=rank)["q"],
        "places": numpy.array(places, numpy.int64),
        "cos": random(7, pairs, seed=1),
        "sin": random(7, pairs, seed=2),
    }
    attributes = {"interleaved": interleaved, "domain": "com.microsoft"}
    compare(node_of("RotaryEmbedding", inputs, "y", **attributes), inputs)


def padding(form: str, keys: int) -> Array:
    """Makes a mask that hides padding."""
    if form == "lengths":
        return numpy.array([keys, keys - 1], numpy.int32)
    if form == "ranges":
        return numpy.array([keys, keys - 1, 0, 1], numpy.int32)
    ones = numpy.ones((BATCH, keys), numpy.int32)
    ones[1, -1] = 0
    return ones if form == "keys" else numpy.repeat(ones[:, None, :], QUERIES, 1)


@pytest.mark.parametrize("causal", [0, 1])
@pytest.mark.parametrize("mask", ["none", "lengths", "ranges", "keys", "queries"])
@pytest.mark.parametrize("has_past", [False, True])
def test_attention_of_one_input(causal: int, mask: str, has_past: bool) -> None:
    hidden, before = 16, 4
    inner = HEADS * WIDTH
    keys = QUERIES + (before if has_past else 0)
    inputs: dict[str, Any] = {
        "x": random(BATCH, QUERIES, hidden),
        "w": random(hidden, 3 * inner, seed=1),
        "b": random(3 * inner, seed=2),
        "mask": None if mask == "none" else padding(mask, keys),
        "past": random(2, BATCH, HEADS, before, WIDTH, seed=3) if has_past else None,
    }
    attributes = {"num_heads": HEADS, "unidirectional": causal, "domain": "com.microsoft"}
    outputs = ("y", "present") if has_past else ("y",)
    compare(node_of("Attention", inputs, *outputs, **attributes), inputs)


@pytest.mark.parametrize("form", ["flat", "heads"])
@pytest.mark.parametrize("has_mask", [False, True])
@pytest.mark.parametrize("has_bias", [False, True])
def test_attention_of_many_heads(form: str, has_mask: bool, has_bias: bool) -> None:
    inputs: dict[str, Any] = parts(rank=3)
    if form == "heads":
        inputs |= {name: parts(rank=4)[name] for name in "kv"}
    size = 3 * HEADS * WIDTH
    inputs["bias"] = random(size, seed=4) if has_bias and form == "flat" else None
    inputs["padding"] = padding("keys", QUERIES) if has_mask else None
    inputs["scores"] = random(1, HEADS, QUERIES, QUERIES, seed=5) if has_mask else None
    attributes = {"num_heads": HEADS, "domain": "com.microsoft"}
    compare(node_of("MultiHeadAttention", inputs, "y", **attributes), inputs)


@pytest.mark.parametrize("is_all_packed", [False, True])
def test_packed_inputs(is_all_packed: bool) -> None:
    # The CPU provider does not take them.
    apart = parts(rank=3)
    heads = {name: x.reshape(BATCH, QUERIES, HEADS, WIDTH) for name, x in apart.items()}
    if is_all_packed:
        packed: dict[str, Any] = {"q": numpy.stack([heads[name] for name in "qkv"], 3)}
    else:
        packed = {"q": apart["q"], "k": numpy.stack([heads[name] for name in "kv"], 3)}
    attributes = {"num_heads": HEADS, "domain": "com.microsoft"}
    node = node_of("MultiHeadAttention", packed, "y", **attributes)
    reference = node_of("MultiHeadAttention", apart, "y", **attributes), apart
    compare(node, packed, reference=reference)


@pytest.mark.parametrize("causal", [0, 1])
def test_attention_of_many_heads_with_caches(causal: int) -> None:
    inputs: dict[str, Any] = parts(rank=3)
    inputs |= {"bias": None, "padding": None, "scores": None}
    inputs["past_k"] = random(BATCH, HEADS, 4, WIDTH, seed=6)
    inputs["past_v"] = random(BATCH, HEADS, 4, WIDTH, seed=7)
    attributes = {"num_heads": HEADS, "unidirectional": causal, "domain": "com.microsoft"}
    outputs = ("y", "present_k", "present_v")
    compare(node_of("MultiHeadAttention", inputs, *outputs, **attributes), inputs)


def grouped(queries: int, lengths: list[int], room: int, *, is_packed: bool) -> dict[str, Any]:
    """Makes the inputs of an attention with groups of queries."""
    kv_heads, batch = 2, len(lengths)
    q = random(batch, queries, HEADS * WIDTH)
    k, v = (random(batch, queries, kv_heads * WIDTH, seed=seed) for seed in (1, 2))
    cache = (batch, kv_heads, room, WIDTH)
    past = [random(*cache, seed=seed) for seed in (3, 4)]
    for sample, length in enumerate(lengths):
        for part in past:
            part[sample, :, length - queries :] = 0
    return {
        "q": numpy.concatenate([q, k, v], 2) if is_packed else q,
        "k": None if is_packed else k,
        "v": None if is_packed else v,
        "past_k": past[0],
        "past_v": past[1],
        "last": numpy.array(lengths, numpy.int32) - 1,
        "total": numpy.array([max(lengths)], numpy.int32),
        "cos": random(16, WIDTH // 2, seed=5),
        "sin": random(16, WIDTH // 2, seed=6),
    }


@pytest.mark.parametrize(
    "rotary",
    [{}, {"do_rotary": 1}, {"do_rotary": 1, "rotary_interleaved": 1}],
    ids=["still", "halves", "pairs"],
)
@pytest.mark.parametrize("window", [{}, {"local_window_size": 3}])
@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("queries", "lengths", "room"),
    [
        pytest.param(6, [6], 0, id="prompt"),
        pytest.param(6, [6, 6], 0, id="two-prompts"),
        pytest.param(1, [6], 5, id="next"),
        pytest.param(1, [6, 4], 5, id="next-of-two-lengths"),
        pytest.param(3, [8], 5, id="several-next"),
    ],
)
def test_groups_of_queries(
    rotary: dict[str, int],
    window: dict[str, int],
    is_packed: bool,
    queries: int,
    lengths: list[int],
    room: int,
) -> None:
    inputs = grouped(queries, lengths, room, is_packed=is_packed)
    attributes = {"num_heads": HEADS, "kv_num_heads": 2, "domain": "com.microsoft"}
    outputs = ("y", "present_k", "present_v")
    node = node_of("GroupQueryAttention", inputs, *outputs, **attributes, **rotary, **window)
    compare(node, inputs)


def test_one_block_is_the_past_and_the_present_cache() -> None:
    room, queries = 12, 1
    inputs = grouped(queries, [6], room, is_packed=False)
    attributes = {"num_heads": HEADS, "kv_num_heads": 2, "domain": "com.microsoft", "do_rotary": 1}
    outputs = ("y", "present_k", "present_v")
    node = node_of("GroupQueryAttention", inputs, *outputs, **attributes)
    whole = made(node, inputs, 24)
    found = []
    for on_device in (True, False):
        running = session(whole, on_device=on_device, optimised=False)
        caches = {name: inputs[f"past_{name}"].copy() for name in "kv"}
        values = {
            name: provider.value(cache, on_device=on_device) for name, cache in caches.items()
        }
        for step in range(3):
            binding = running.io_binding()
            given = {**inputs, "last": inputs["last"] + step, "total": inputs["total"] + step}
            for name, value in given.items():
                if name.startswith("past_"):
                    binding.bind_ortvalue_input(name, values[name[-1]])
                else:
                    binding.bind_cpu_input(name, value)
            binding.bind_output("y")
            for name, cache in values.items():
                binding.bind_ortvalue_output(f"present_{name}", cache)
            running.run_with_iobinding(binding)
            found.append(binding.copy_outputs_to_cpu())
    for one, other in zip(found[:3], found[3:], strict=True):
        for ours, theirs in zip(one, other, strict=True):
            numpy.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)
