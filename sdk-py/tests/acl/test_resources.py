"""Programs that allocate and release in the order of the pyACL documentation."""

from __future__ import annotations

from support import Program


def test_sequence_of_the_documentation(program: Program) -> None:
    """Set a device, create a stream, destroy the stream, reset the device: without `acl.init`."""
    done = program("""
        import acl
        device_id = 0
        ret = acl.rt.set_device(device_id)
        print(ret)
        stream, ret = acl.rt.create_stream()
        print(stream != 0, ret)
        ret = acl.rt.destroy_stream(stream)
        print(ret)
        ret = acl.rt.reset_device(device_id)
        print(ret)
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\nTrue 0\n0\n0\n", "")


def test_sequence_with_an_explicit_context(program: Program) -> None:
    """As in the samples: init, device, context, stream, work, and release in reverse order."""
    done = program("""
        import acl
        import numpy as np

        ACL_MEM_MALLOC_HUGE_FIRST = 0
        ACL_MEMCPY_HOST_TO_DEVICE = 1
        ACL_MEMCPY_DEVICE_TO_HOST = 2
        ACL_HOST = 1

        def check_ret(message, ret):
            if ret != 0:
                raise Exception("{} failed ret={}: {}".format(message, ret, acl.get_recent_err_msg()))

        class Sample:
            def __init__(self, device_id):
                self.device_id = device_id
                check_ret("acl.init", acl.init())
                check_ret("set_device", acl.rt.set_device(device_id))
                self.context, ret = acl.rt.create_context(device_id)
                check_ret("create_context", ret)
                self.stream, ret = acl.rt.create_stream()
                check_ret("create_stream", ret)
                self.run_mode, ret = acl.rt.get_run_mode()
                check_ret("get_run_mode", ret)

            def through_the_device(self, array):
                size = array.itemsize * array.size
                device, ret = acl.rt.malloc(size, ACL_MEM_MALLOC_HUGE_FIRST)
                check_ret("malloc", ret)
                if "bytes_to_ptr" in dir(acl.util):
                    data = array.tobytes()
                    source = acl.util.bytes_to_ptr(data)
                else:
                    source = acl.util.numpy_to_ptr(array)
                check_ret("memcpy_async", acl.rt.memcpy_async(
                    device, size, source, size, ACL_MEMCPY_HOST_TO_DEVICE, self.stream))
                check_ret("synchronize_stream", acl.rt.synchronize_stream(self.stream))
                assert self.run_mode == ACL_HOST
                host, ret = acl.rt.malloc_host(size)
                check_ret("malloc_host", ret)
                check_ret("memcpy", acl.rt.memcpy(host, size, device, size, ACL_MEMCPY_DEVICE_TO_HOST))
                back = np.frombuffer(acl.util.ptr_to_bytes(host, size), dtype=array.dtype)
                check_ret("free", acl.rt.free(device))
                check_ret("free_host", acl.rt.free_host(host))
                return back.reshape(array.shape)

            def release(self):
                check_ret("destroy_stream", acl.rt.destroy_stream(self.stream))
                check_ret("destroy_context", acl.rt.destroy_context(self.context))
                check_ret("reset_device", acl.rt.reset_device(self.device_id))
                check_ret("finalize", acl.finalize())

        sample = Sample(0)
        array = np.arange(12, dtype=np.float32).reshape(3, 4)
        print((sample.through_the_device(array) == array).all())
        sample.release()
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")


def test_program_that_releases_nothing_exits_without_output(program: Program) -> None:
    done = program("""
        import acl
        acl.init()
        acl.rt.set_device(0)
        stream, _ = acl.rt.create_stream()
        event, _ = acl.rt.create_event()
        memory, _ = acl.rt.malloc(1 << 20, 0)
        acl.rt.memset_async(memory, 1 << 20, 1, 1 << 20, stream)
        acl.rt.record_event(event, stream)
        print("end")
    """)
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
