"""Programs that several processes run at once: `python collective_programs.py PROGRAM…`.

Each checks its own results: a process knows what the others contribute.
"""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from functools import reduce
from typing import Any, Callable

import numpy as np
import paddle
import paddle.distributed as dist
from numpy.typing import NDArray

from host import RELEASE

TYPES = ["uint8", "int8", "int32", "int64", "float16", "float32", "float64"]
"""The types that PaddlePaddle's collectives accept: it cannot split tensors of others."""

if RELEASE >= (3, 0):
    TYPES += ["bool", "bfloat16"]

REDUCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "SUM": np.add,
    "PROD": np.multiply,
    "MAX": np.maximum,
    "MIN": np.minimum,
}


def contribution(rank: int, dtype: str, count: int = 6) -> NDArray[Any]:
    """Returns what a rank contributes: small whole numbers, whose sums are exact."""
    numbers: NDArray[Any] = (np.arange(count) * 3 + rank * 5) % 4
    if dtype == "bool":
        numbers = numbers % 2
    return numbers.astype("float32" if dtype == "bfloat16" else dtype)


def tensor(values: NDArray[Any], dtype: str) -> paddle.Tensor:
    """Returns a tensor of a type that NumPy may lack."""
    return paddle.to_tensor(values).astype(dtype)


def equals(what: str, got: paddle.Tensor, expected: NDArray[Any]) -> None:
    """Fails unless a tensor has exactly these elements."""
    found = got.astype("float32").numpy() if got.dtype == paddle.bfloat16 else got.numpy()
    assert np.array_equal(found, expected), f"{what}: {found} and not {expected}"


def operations() -> None:
    """Checks each collective, for each type and reduction."""
    rank, size = dist.get_rank(), dist.get_world_size()
    checks = 0
    for dtype in TYPES:
        own = contribution(rank, dtype)
        everyone = [contribution(other, dtype) for other in range(size)]
        for name, combine in REDUCTIONS.items():
            op = getattr(dist.ReduceOp, name)
            expected = reduce(combine, everyone)
            x = tensor(own, dtype)
            dist.all_reduce(x, op)
            equals(f"all_reduce {name} {dtype}", x, expected)
            x = tensor(own, dtype)
            dist.reduce(x, dst=size - 1, op=op)
            if rank == size - 1:
                equals(f"reduce {name} {dtype}", x, expected)
            parts = [
                [contribution(other + part, dtype) for part in range(size)] for other in range(size)
            ]
            x = tensor(own, dtype)
            dist.reduce_scatter(x, [tensor(part, dtype) for part in parts[rank]], op)
            equals(
                f"reduce_scatter {name} {dtype}", x, reduce(combine, [row[rank] for row in parts])
            )
            checks += 3
        x = tensor(own, dtype)
        dist.broadcast(x, src=1)
        equals(f"broadcast {dtype}", x, everyone[1])
        gathered: list[paddle.Tensor] = []
        dist.all_gather(gathered, tensor(own, dtype))
        for other, x in enumerate(gathered):
            equals(f"all_gather {dtype}", x, everyone[other])
        x = tensor(own, dtype)
        parts_of_root = [tensor(contribution(part + 1, dtype), dtype) for part in range(size)]
        dist.scatter(x, parts_of_root if rank == 0 else None, src=0)
        equals(f"scatter {dtype}", x, contribution(rank + 1, dtype))
        if rank % 2 == 0:
            dist.send(tensor(own, dtype), dst=rank + 1)
        else:
            x = tensor(own, dtype)
            dist.recv(x, src=rank - 1)
            equals(f"send {dtype}", x, everyone[rank - 1])
        received: list[paddle.Tensor] = []
        sent = [tensor(contribution(rank + 2 * to, dtype), dtype) for to in range(size)]
        # The order of the parameters changed with 3.0.
        dist.alltoall(in_tensor_list=sent, out_tensor_list=received)
        for other, x in enumerate(received):
            equals(f"alltoall {dtype}", x, contribution(other + 2 * rank, dtype))
        checks += 5
    dist.barrier()
    assert checks == len(TYPES) * (3 * len(REDUCTIONS) + 5)


def large() -> None:
    """Checks buffers of several segments, and none."""
    rank, size = dist.get_rank(), dist.get_world_size()
    count = 3 * 2**20 + 7
    x = paddle.to_tensor(np.full(count, rank + 1, "float32"))
    dist.all_reduce(x)
    total = size * (size + 1) / 2
    assert float(x.min()) == float(x.max()) == total
    part = paddle.zeros([2**20], "float32")
    whole = paddle.to_tensor(np.repeat(np.arange(size), 2**20).astype("float32") * (rank + 1))
    dist.stream.reduce_scatter(part, whole)
    assert float(part.min()) == float(part.max()) == total * rank


def network() -> paddle.nn.Layer:
    """Returns a small network, the same in each process."""
    paddle.seed(3)
    return paddle.nn.Sequential(paddle.nn.Linear(8, 16), paddle.nn.ReLU(), paddle.nn.Linear(16, 4))


def train(model: Any, optimizer: Any, batches: list[NDArray[Any]]) -> list[float]:
    """Trains on batches, and returns the losses."""
    losses = []
    for batch in batches:
        loss = (model(paddle.to_tensor(batch)) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.clear_grad()
        losses.append(float(loss))
    return losses


def batches(rows: int) -> list[NDArray[Any]]:
    """Returns the batches of all processes together."""
    generator = np.random.default_rng(0)
    return [generator.standard_normal((rows, 8)).astype("float32") for _ in range(6)]


def same_weights(one: paddle.nn.Layer, other: paddle.nn.Layer) -> None:
    """Fails unless two networks have nearly the same weights."""
    for a, b in zip(one.parameters(), other.parameters()):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=2e-4, atol=2e-5)


def compare_with_one_process(distribute: Callable[[Any, Any], tuple[Any, Any]]) -> tuple[Any, Any]:
    """Trains on a share of each batch, and compares the losses with one process on all of it.

    `distribute` makes the model and the optimizer of several processes. Returns the network of one
    process and that of several.
    """
    rank, size = dist.get_rank(), dist.get_world_size()
    whole = batches(4 * size)
    share = [batch[4 * rank : 4 * rank + 4] for batch in whole]
    alone, shared = network(), network()
    expected = train(alone, paddle.optimizer.Adam(0.01, parameters=alone.parameters()), whole)
    optimizer = paddle.optimizer.Adam(0.01, parameters=shared.parameters())
    losses = paddle.to_tensor(train(*distribute(shared, optimizer), share))
    dist.all_reduce(losses)
    np.testing.assert_allclose(losses.numpy() / size, expected, rtol=2e-4)
    return alone, shared


def data_parallel(kind: str) -> None:
    """Trains with the gradients of all processes, which gives all the weights of one process."""

    def distribute(shared: Any, optimizer: Any) -> tuple[Any, Any]:
        if kind == "plain":
            return paddle.DataParallel(shared), optimizer
        from paddle.distributed import fleet

        fleet.init(is_collective=True)
        return fleet.distributed_model(shared), fleet.distributed_optimizer(optimizer)

    same_weights(*compare_with_one_process(distribute))


def sharding(level: str) -> None:
    """Trains with shared gradients, weights and optimizer state."""

    def distribute(shared: Any, optimizer: Any) -> tuple[Any, Any]:
        from paddle.distributed import fleet

        fleet.init(is_collective=True)
        model, optimizer, _ = dist.sharding.group_sharded_parallel(shared, optimizer, level)
        return model, optimizer

    compare_with_one_process(distribute)


def fill(parameters: list[Any]) -> None:
    """Gives parameters values that follow from their shape, so that each process finds the same."""
    for parameter in parameters:
        values = np.sin(np.arange(parameter.size) + parameter.size).reshape(parameter.shape)
        parameter.set_value((values * 0.3).astype("float32"))


def pipeline() -> None:
    """Trains a network whose layers are in two processes, which send each other activations."""
    from paddle.distributed import fleet
    from paddle.distributed.fleet.meta_parallel import LayerDesc, PipelineLayer

    strategy = fleet.DistributedStrategy()
    strategy.hybrid_configs = {"dp_degree": 1, "mp_degree": 1, "pp_degree": dist.get_world_size()}
    strategy.pipeline_configs = {"accumulate_steps": 2, "micro_batch_size": 4}
    fleet.init(is_collective=True, strategy=strategy)
    linear = [LayerDesc(paddle.nn.Linear, *shape) for shape in [(8, 16), (16, 12), (12, 4)]]
    layers = [linear[0], LayerDesc(paddle.nn.Tanh), *linear[1:]]
    loss = paddle.nn.MSELoss()
    stage = PipelineLayer(layers=layers, loss_fn=loss, num_stages=dist.get_world_size())
    fill(stage.parameters())
    model = fleet.distributed_model(stage)
    optimizer = paddle.optimizer.SGD(0.1, parameters=stage.parameters())
    optimizer = fleet.distributed_optimizer(optimizer)

    alone = paddle.nn.Sequential(*[layer.build_layer() for layer in layers])
    fill(alone.parameters())
    of_one = paddle.optimizer.SGD(0.1, parameters=alone.parameters())
    for batch in batches(8):
        x, label = paddle.to_tensor(batch), paddle.to_tensor(batch[:, :4] * 0.5)
        got = model.train_batch([x, label], optimizer)
        expected = loss(alone(x), label)
        expected.backward()
        of_one.step()
        of_one.clear_grad()
        np.testing.assert_allclose(float(got.sum()), float(expected), rtol=2e-4)
    whole = {tuple(parameter.shape): parameter.numpy() for parameter in alone.parameters()}
    assert 0 < len(stage.parameters()) < len(whole)
    for parameter in stage.parameters():
        expected = whole[tuple(parameter.shape)]
        np.testing.assert_allclose(parameter.numpy(), expected, rtol=2e-4, atol=2e-5)


def experts() -> None:
    """Sends rows to experts in other processes and gets them back, as a mixture of experts does."""
    rank, size = dist.get_rank(), dist.get_world_size()

    def rows(source: int, expert: int) -> int:
        """Returns the number of rows of a process for an expert: some have none, if they may."""
        return (source + 2 * expert) % 3 + (RELEASE < (3, 1))

    def own(source: int) -> NDArray[Any]:
        count = sum(rows(source, expert) for expert in range(size))
        return (np.arange(count * 4).reshape(count, 4) + 100 * source).astype("float32")

    def exchange(one: paddle.Tensor, other: paddle.Tensor, out: list[int], back: list[int]) -> None:
        # The order of the tensors differs among releases.
        splits = {"in_split_sizes": out, "out_split_sizes": back}
        dist.alltoall_single(in_tensor=one, out_tensor=other, **splits)

    sent = [rows(rank, expert) for expert in range(size)]
    received = [rows(source, rank) for source in range(size)]
    tokens = paddle.to_tensor(own(rank))
    arrived = paddle.zeros([sum(received), 4], "float32")
    exchange(tokens, arrived, sent, received)
    computed = arrived * (rank + 1.0)
    back = paddle.zeros([sum(sent), 4], "float32")
    exchange(computed, back, received, sent)
    factors = np.repeat(np.arange(size) + 1.0, sent).reshape(-1, 1)
    equals("rows from the experts", back, own(rank) * factors.astype("float32"))


def groups() -> None:
    """Makes groups of some processes, which work at the same time, and destroys them."""
    rank, size = dist.get_rank(), dist.get_world_size()
    pairs = [
        dist.new_group([first, second])
        for first in range(size)
        for second in range(first + 1, size)
    ]
    for _ in range(20):
        for pair in pairs:
            if rank in pair.ranks:
                x = paddle.to_tensor([float(rank)])
                dist.all_reduce(x, group=pair)
                assert x.item() == sum(pair.ranks), (rank, pair.ranks, x.item())
    for pair in pairs:
        if rank in pair.ranks:
            dist.destroy_process_group(pair)


def member_fails(how: str) -> None:
    """Lets rank 1 end, stop or stay away; the others get an error, and a group of them works."""
    rank, size = dist.get_rank(), dist.get_world_size()
    rest = [other for other in range(size) if other != 1]
    group = dist.new_group(rest)
    x = paddle.to_tensor([1.0])
    dist.all_reduce(x)
    assert x.item() == size
    if rank == 1:
        if how == "absent":
            time.sleep(30)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGKILL if how == "killed" else signal.SIGSTOP)
    begun = time.monotonic()
    try:
        dist.all_reduce(x)
        x.numpy()
        raise AssertionError("the collective succeeded without a member")
    except (OSError, RuntimeError, ValueError) as error:
        print("failed:", type(error).__name__, round(time.monotonic() - begun, 1))
    x = paddle.to_tensor([2.0])
    dist.all_reduce(x, group=group)
    assert x.item() == 2.0 * len(rest)
    print("the rest goes on")
    sys.stdout.flush()
    # The world's store may be in the process that died, and PaddlePaddle's exit would wait for it.
    os._exit(0)


def main() -> None:
    """Runs the programs that the arguments name, `NAME` or `NAME:ARGUMENT`."""
    dist.init_parallel_env()
    for program in sys.argv[1:]:
        name, *arguments = program.split(":")
        try:
            globals()[name](*arguments)
        except Exception as error:
            traceback.print_exc()
            print(f"{program}: {type(error).__name__}: {error}", flush=True)
        else:
            print(f"{program}: passed", flush=True)


if __name__ == "__main__":
    main()
