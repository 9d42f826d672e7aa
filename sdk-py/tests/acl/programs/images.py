"""Images with padded rows, as decoders make them: cut out, paste and stack, with 2-D copies in each direction."""

import numpy as np
from sample import (
    ACL_MEMCPY_DEVICE_TO_DEVICE,
    ACL_MEMCPY_DEVICE_TO_HOST,
    ACL_MEMCPY_HOST_TO_DEVICE,
    AclResource,
    check_ret,
    malloc,
)

import acl

WIDTH, HEIGHT, CHANNELS = 150, 90, 3
ALIGN = 128


def align_up(value, to):
    return (value + to - 1) // to * to


class DeviceImage:
    """Rows of pixels on the device; each row begins at a multiple of the alignment."""

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.row = width * CHANNELS
        self.pitch = align_up(self.row, ALIGN)
        self.size = self.pitch * height
        self.pointer = malloc(self.size)
        check_ret("acl.rt.memset", acl.rt.memset(self.pointer, self.size, 0, self.size))

    def at(self, left, top):
        return self.pointer + top * self.pitch + left * CHANNELS

    def upload(self, array, stream):
        assert array.shape == (self.height, self.width, CHANNELS)
        assert array.flags.c_contiguous
        address = acl.util.numpy_to_ptr(array)
        ret = acl.rt.memcpy2d_async(
            self.pointer, self.pitch, address, self.row, self.row, self.height, ACL_MEMCPY_HOST_TO_DEVICE, stream
        )
        check_ret("acl.rt.memcpy2d_async", ret)
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(stream))

    def download(self, left=0, top=0, width=None, height=None):
        width = self.width - left if width is None else width
        height = self.height - top if height is None else height
        array = np.empty((height, width, CHANNELS), dtype=np.uint8)
        address, row = acl.util.numpy_to_ptr(array), width * CHANNELS
        ret = acl.rt.memcpy2d(address, row, self.at(left, top), self.pitch, row, height, ACL_MEMCPY_DEVICE_TO_HOST)
        check_ret("acl.rt.memcpy2d", ret)
        return array

    def raw(self):
        """The rows with their padding."""
        data = bytes(bytearray(self.size))
        address = acl.util.bytes_to_ptr(data)
        ret = acl.rt.memcpy(address, self.size, self.pointer, self.size, ACL_MEMCPY_DEVICE_TO_HOST)
        check_ret("acl.rt.memcpy", ret)
        return np.frombuffer(data, dtype=np.uint8).reshape(self.height, self.pitch)

    def paste(self, other, place, box, stream):
        """Copies a box of another image, on the device."""
        (to_left, to_top), (left, top, width, height) = place, box
        ret = acl.rt.memcpy2d_async(
            self.at(to_left, to_top),
            self.pitch,
            other.at(left, top),
            other.pitch,
            width * CHANNELS,
            height,
            ACL_MEMCPY_DEVICE_TO_DEVICE,
            stream,
        )
        check_ret("acl.rt.memcpy2d_async", ret)

    def release(self):
        check_ret("acl.rt.free", acl.rt.free(self.pointer))


def main():
    generator = np.random.default_rng(2)
    picture = generator.integers(1, 255, (HEIGHT, WIDTH, CHANNELS), dtype=np.uint8)
    with AclResource() as resource:
        image = DeviceImage(WIDTH, HEIGHT)
        image.upload(picture, resource.stream)
        assert np.array_equal(image.download(), picture)
        raw = image.raw()
        assert np.array_equal(raw[:, : image.row], picture.reshape(HEIGHT, -1))
        assert not raw[:, image.row :].any(), "the padding is not touched"

        boxes = [(0, 0, 1, 1), (10, 20, 30, 40), (WIDTH - 7, HEIGHT - 5, 7, 5), (0, 0, WIDTH, HEIGHT)]
        for left, top, width, height in boxes:
            cut = picture[top : top + height, left : left + width]
            assert np.array_equal(image.download(left, top, width, height), cut)

        canvas = DeviceImage(2 * WIDTH, 2 * HEIGHT)
        expected = np.zeros((2 * HEIGHT, 2 * WIDTH, CHANNELS), dtype=np.uint8)
        for number, (left, top, width, height) in enumerate(boxes):
            place = (number % 2 * WIDTH, number // 2 * HEIGHT)
            canvas.paste(image, place, (left, top, width, height), resource.stream)
            cut = picture[top : top + height, left : left + width]
            expected[place[1] : place[1] + height, place[0] : place[0] + width] = cut
        check_ret("acl.rt.synchronize_stream", acl.rt.synchronize_stream(resource.stream))
        assert np.array_equal(canvas.download(), expected)

        narrow = acl.rt.memcpy2d(canvas.pointer, 8, image.pointer, image.pitch, 9, 2, ACL_MEMCPY_DEVICE_TO_DEVICE)
        assert narrow != 0, "a row is wider than its pitch"
        image.release()
        canvas.release()
    print(f"{len(boxes)} boxes")


if __name__ == "__main__":
    main()
