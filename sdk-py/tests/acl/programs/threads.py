"""One thread for each part of the work, with its own context, stream and memory."""

import threading

import numpy as np
from sample import ACL_MEMCPY_DEVICE_TO_HOST, ACL_MEMCPY_HOST_TO_DEVICE, check_ret, malloc

import acl

DEVICE_ID = 0
THREADS = 6
ROUNDS = 40
LENGTH = 6000


class Worker:
    """Copies its part of a vector to the device and back in a loop, and adds one each time."""

    def __init__(self, part):
        self.part = part
        self.size = part.nbytes
        self.failure = None

    def open(self):
        check_ret("acl.rt.set_device", acl.rt.set_device(DEVICE_ID))
        self.context, ret = acl.rt.create_context(DEVICE_ID)
        check_ret("acl.rt.create_context", ret)
        self.stream, ret = acl.rt.create_stream()
        check_ret("acl.rt.create_stream", ret)
        self.memory = malloc(self.size)

    def step(self):
        address = acl.util.numpy_to_ptr(self.part)
        ret = acl.rt.memcpy_async(self.memory, self.size, address, self.size, ACL_MEMCPY_HOST_TO_DEVICE, self.stream)
        check_ret("acl.rt.memcpy_async", ret)
        received = np.empty_like(self.part)
        address = acl.util.numpy_to_ptr(received)
        ret = acl.rt.memcpy_async(address, self.size, self.memory, self.size, ACL_MEMCPY_DEVICE_TO_HOST, self.stream)
        check_ret("acl.rt.memcpy_async", ret)
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(self.stream))
        self.part = received + 1

    def close(self):
        check_ret("acl.rt.free", acl.rt.free(self.memory))
        check_ret("acl.rt.destroy_stream", acl.rt.destroy_stream(self.stream))
        check_ret("acl.rt.destroy_context", acl.rt.destroy_context(self.context))
        check_ret("acl.rt.reset_device", acl.rt.reset_device(DEVICE_ID))

    def run(self):
        try:
            self.open()
            for _ in range(ROUNDS):
                self.step()
                current, ret = acl.rt.get_context()
                check_ret("acl.rt.get_context", ret)
                assert current == self.context
            self.close()
        except Exception as failure:
            self.failure = failure


def with_threads_of_python(workers):
    threads = [threading.Thread(target=worker.run) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def with_threads_of_acl(workers):
    numbers = []
    for worker in workers:
        number, ret = acl.util.start_thread(lambda arguments: arguments[0].run(), [worker])
        check_ret("acl.util.start_thread", ret)
        numbers.append(number)
    for number in numbers:
        check_ret("acl.util.stop_thread", acl.util.stop_thread(number))


def main():
    check_ret("acl.init", acl.init())
    vector = np.arange(LENGTH, dtype=np.float64)
    for way in (with_threads_of_python, with_threads_of_acl):
        workers = [Worker(part.copy()) for part in np.array_split(vector, THREADS)]
        way(workers)
        for worker in workers:
            if worker.failure is not None:
                raise worker.failure
        result = np.concatenate([worker.part for worker in workers])
        assert np.array_equal(result, vector + ROUNDS), way.__name__
    check_ret("acl.finalize", acl.finalize())
    print(f"{THREADS} threads, {ROUNDS} rounds each, twice")


if __name__ == "__main__":
    main()
