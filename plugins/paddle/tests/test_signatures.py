"""The arguments of the registered kernels are those of PaddlePaddle's own, in each release."""

from __future__ import annotations

from signatures import Signatures

DEVICES_ONLY = {
    "sync_batch_norm",
    "sync_batch_norm_grad",
    "fused_softmax_mask_upper_triangle_grad",
}
"""Kernels that PaddlePaddle's CPU lacks, so that their arguments cannot be compared."""


def test_the_device_has_kernels(signatures: dict[str, Signatures]) -> None:
    assert len(signatures["device"]) > 150
    assert signatures["host"]["softmax"], "the host's kernels were not read"


def test_each_kernel_takes_the_arguments_of_the_hosts(signatures: dict[str, Signatures]) -> None:
    # To plugins, a gradient of some rows is a tensor; kernels that take one only refuse.
    host = {
        name: {
            tuple(argument.replace("12SelectedRowsE", "11DenseTensorE") for argument in arguments)
            for arguments in forms
        }
        for name, forms in signatures["host"].items()
    }
    different = {
        name: (own, host[name])
        for name, own in signatures["device"].items()
        if name in host and not own <= host[name]
    }
    assert not different


def test_the_host_knows_each_kernel(signatures: dict[str, Signatures]) -> None:
    assert signatures["device"].keys() - signatures["host"].keys() == DEVICES_ONLY
