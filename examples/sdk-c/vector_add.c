/* Adds two vectors piece by piece: one stream copies the pieces to the device, another one adds them.
 *
 *   cc -std=c11 vector_add.c $(pkg-config --cflags --libs tenon) -o vector_add && ./vector_add [DEVICE_TYPE]
 *
 * Each vendor's library has its own way to launch kernels. Here a function on the host replaces the kernel: the pieces are
 * copied back to pinned memory, and a stream callback adds them there. It works on every device: libtenon emulates
 * pinned memory, and a device without callbacks is waited for.
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

enum { COUNT = 1 << 20, PIECES = 8, PIECE = COUNT / PIECES };

/* The arguments of the callback that replaces a kernel. */
struct addition {
  const float* a;
  const float* b;
  float* sum;
};

static void require(tenon_status status) {
  if (status != TENON_SUCCESS) {
    fprintf(stderr, "%s\n", tenon_error_text());
    exit(EXIT_FAILURE);
  }
}

/* Runs in a thread of the device, and must not call functions of the library. */
static void add(tenon_device device, tenon_stream stream, void* user_data, tenon_status* status) {
  const struct addition* work = user_data;
  for (size_t i = 0; i < PIECE; ++i) {
    work->sum[i] = work->a[i] + work->b[i];
  }
  (void)device;
  (void)stream;
  *status = TENON_SUCCESS;
}

/* Pinned memory: the device copies from and to it asynchronously. */
static float* pinned(tenon_device device) {
  void* memory;
  require(tenon_host_memory_allocate(device, &memory, COUNT * sizeof(float)));
  return memory;
}

static float* of_device(tenon_device device) {
  void* memory;
  require(tenon_device_memory_allocate(device, &memory, COUNT * sizeof(float)));
  return memory;
}

/* Queues an addition. A device without callbacks is waited for, and the calling thread adds. */
static void queue_add(tenon_device device, tenon_stream stream, struct addition* work) {
  tenon_status status = tenon_stream_add_callback(device, stream, add, work);
  if (status == TENON_UNSUPPORTED) {
    require(tenon_synchronize_stream(device, stream));
    add(device, stream, work, &status);
  }
  require(status);
}

int main(int argc, char** argv) {
  tenon_device device;
  require(tenon_device_open(argc > 1 ? argv[1] : NULL, 0, &device));

  float* a = pinned(device);
  float* b = pinned(device);
  float* sum = pinned(device);
  for (size_t i = 0; i < COUNT; ++i) {
    a[i] = (float)i;
    b[i] = (float)(2 * i);
  }
  /* What the function that replaces the kernel reads and writes. */
  float* x = pinned(device);
  float* y = pinned(device);
  float* z = pinned(device);
  float* device_a = of_device(device);
  float* device_b = of_device(device);
  float* device_sum = of_device(device);

  tenon_stream incoming, sums;
  tenon_event arrived;
  require(tenon_create_stream(device, &incoming));
  require(tenon_create_stream(device, &sums));
  require(tenon_create_event(device, &arrived));

  struct addition work[PIECES];
  const size_t bytes = PIECE * sizeof(float);
  for (size_t piece = 0; piece < PIECES; ++piece) {
    const size_t at = piece * PIECE;
    require(tenon_async_memory_copy_h2d(device, incoming, device_a + at, a + at, bytes));
    require(tenon_async_memory_copy_h2d(device, incoming, device_b + at, b + at, bytes));
    /* One event is enough for all pieces: a wait refers to the last record before it. */
    require(tenon_record_event(device, incoming, arrived));
    require(tenon_stream_wait_event(device, sums, arrived));
    require(tenon_async_memory_copy_d2h(device, sums, x + at, device_a + at, bytes));
    require(tenon_async_memory_copy_d2h(device, sums, y + at, device_b + at, bytes));
    work[piece] = (struct addition){x + at, y + at, z + at};
    queue_add(device, sums, &work[piece]);
    require(tenon_async_memory_copy_h2d(device, sums, device_sum + at, z + at, bytes));
    require(tenon_async_memory_copy_d2h(device, sums, sum + at, device_sum + at, bytes));
  }
  /* On a device with streams, all work above is only queued. `sums` waits for `incoming`, so it is enough to wait for
   * `sums`. */
  require(tenon_synchronize_stream(device, sums));

  size_t wrong = 0;
  for (size_t i = 0; i < COUNT; ++i) {
    wrong += sum[i] != (float)(3 * i);
  }
  printf("%d sums in %d pieces, %zu wrong\n", COUNT, PIECES, wrong);

  require(tenon_destroy_event(device, arrived));
  require(tenon_destroy_stream(device, sums));
  require(tenon_destroy_stream(device, incoming));
  float* const on_device[] = {device_a, device_b, device_sum};
  for (size_t i = 0; i < sizeof on_device / sizeof on_device[0]; ++i) {
    require(tenon_device_memory_deallocate(device, on_device[i], COUNT * sizeof(float)));
  }
  float* const on_host[] = {a, b, sum, x, y, z};
  for (size_t i = 0; i < sizeof on_host / sizeof on_host[0]; ++i) {
    require(tenon_host_memory_deallocate(device, on_host[i], COUNT * sizeof(float)));
  }
  require(tenon_device_close(device));
  require(tenon_shutdown());
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
