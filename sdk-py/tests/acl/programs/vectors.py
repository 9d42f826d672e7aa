"""Vectors copied to the device and back: as bytes, as arrays, and through pinned memory."""

import numpy as np
from sample import (
    ACL_HOST,
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    ACL_MEMCPY_HOST_TO_HOST,
    AclResource,
    check_ret,
    malloc,
    malloc_host,
)

import acl

NPY_TYPES = {
    "bool": 0, "int8": 1, "uint8": 2, "int16": 3, "uint16": 4, "int32": 5,
    "int64": 7, "float16": 23, "float32": 11, "float64": 12,
}  # fmt: skip


class Transfer:
    """Two buffers on the device. Uploaded data is copied from one to the other."""

    def __init__(self, resource, size):
        self.stream = resource.stream
        self.run_mode = resource.run_mode
        self.size = size
        self.front = malloc(size)
        self.back = malloc(size)

    def upload(self, address, size):
        ret = acl.rt.memcpy(self.front, self.size, address, size, ACL_MEMCPY_HOST_TO_DEVICE)
        check_ret("acl.rt.memcpy", ret)
        ret = acl.rt.memcpy_async(self.back, self.size, self.front, size, ACL_MEMCPY_DEVICE_TO_DEVICE, self.stream)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(self.stream))

    def download(self, address, size):
        ret = acl.rt.memcpy(address, size, self.back, size, ACL_MEMCPY_DEVICE_TO_HOST)
        check_ret("acl.rt.memcpy", ret)

    def release(self):
        check_ret("acl.rt.free", acl.rt.free(self.front))
        check_ret("acl.rt.free", acl.rt.free(self.back))


def through_bytes(transfer, array):
    data = array.tobytes()
    transfer.upload(acl.util.bytes_to_ptr(data), len(data))
    received = bytes(bytearray(len(data)))
    transfer.download(acl.util.bytes_to_ptr(received), len(received))
    return np.frombuffer(received, dtype=array.dtype).reshape(array.shape)


def through_arrays(transfer, array):
    address, array = acl.util.numpy_contiguous_to_ptr(array)
    transfer.upload(address, array.nbytes)
    received = np.empty_like(array)
    transfer.download(acl.util.numpy_to_ptr(received), received.nbytes)
    return received


def through_pinned_memory(transfer, array):
    """Downloads the output of a model from the device as an array."""
    assert transfer.run_mode == ACL_HOST
    array = np.ascontiguousarray(array)
    pinned = malloc_host(array.nbytes)
    address = acl.util.numpy_to_ptr(array)
    ret = acl.rt.memcpy(pinned, array.nbytes, address, array.nbytes, ACL_MEMCPY_HOST_TO_HOST)
    check_ret("acl.rt.memcpy", ret)
    transfer.upload(pinned, array.nbytes)
    transfer.download(pinned, array.nbytes)
    view = acl.util.ptr_to_numpy(pinned, array.shape, NPY_TYPES[array.dtype.name])
    received = view.copy()
    assert acl.util.ptr_to_bytes(pinned, array.nbytes) == received.tobytes()
    del view
    check_ret("acl.rt.free_host", acl.rt.free_host(pinned))
    return received


def main():
    generator = np.random.default_rng(1)
    compared = 0
    with AclResource() as resource:
        transfer = Transfer(resource, 1 << 16)
        for name in NPY_TYPES:
            for shape in ((1,), (1000,), (3, 5), (2, 3, 4, 5)):
                array = (generator.random(shape) * 100).astype(name)
                for way in (through_bytes, through_arrays, through_pinned_memory):
                    for given in (array, array.T):
                        assert np.array_equal(way(transfer, given), given), (way.__name__, name, shape)
                        compared += 1
        transfer.release()
    print(f"{compared} arrays came back")


if __name__ == "__main__":
    main()
