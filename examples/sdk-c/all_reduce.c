/* Adds numbers of several processes. Each process is started with the address of rank 0, its rank, and their number:
 *
 *   cc -std=c11 all_reduce.c $(pkg-config --cflags --libs tenon) -o all_reduce
 *   ./all_reduce 127.0.0.1:6170 0 2 & ./all_reduce 127.0.0.1:6170 1 2
 *
 * The built-in device takes gloo from the system: apt-get install libgloo0
 */
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

enum { COUNT = 4 };

static void require(tenon_status status) {
  if (status != TENON_SUCCESS) {
    fprintf(stderr, "%s\n", tenon_error_text());
    exit(EXIT_FAILURE);
  }
}

int main(int argc, char** argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: %s HOST:PORT RANK RANKS\n", argv[0]);
    return EXIT_FAILURE;
  }
  const size_t rank = strtoul(argv[2], NULL, 10), ranks = strtoul(argv[3], NULL, 10);
  tenon_device device;
  require(tenon_device_open(NULL, 0, &device));
  tenon_plugin plugin;
  require(tenon_plugin_find(NULL, &plugin));

  tenon_collective_comm group;
  require(tenon_comm_join(device, argv[1], rank, ranks, &group));

  float numbers[COUNT];
  for (size_t i = 0; i < COUNT; ++i) {
    numbers[i] = (float)(rank * 10 + i);
  }
  void* memory;
  require(tenon_device_memory_allocate(device, &memory, sizeof numbers));
  require(tenon_memory_copy_h2d(device, memory, numbers, sizeof numbers));

  /* The work is queued in the default stream, in whose order the copy below waits for it. */
  require(tenon_xccl_all_reduce(plugin, memory, memory, COUNT, TENON_DATA_TYPE_FLOAT32, TENON_REDUCE_OP_SUM,
                                group, NULL));
  require(tenon_synchronize_stream(device, NULL));

  require(tenon_memory_copy_d2h(device, numbers, memory, sizeof numbers));
  printf("rank %zu of %zu:", rank, ranks);
  for (size_t i = 0; i < COUNT; ++i) {
    printf(" %g", (double)numbers[i]);
  }
  printf("\n");

  require(tenon_device_memory_deallocate(device, memory, sizeof numbers));
  require(tenon_xccl_destroy_comm(plugin, group));
  require(tenon_device_close(device));
  return EXIT_SUCCESS;
}
