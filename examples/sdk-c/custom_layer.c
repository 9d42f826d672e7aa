/* A custom layer that counts calls, sums the allocated bytes, and makes one allocation fail.
 *
 *   cc -std=c11 custom_layer.c $(pkg-config --cflags --libs tenon) -o custom_layer && ./custom_layer
 *
 * With such a layer, a program can be tested for its behaviour when any device is out of memory.
 */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

enum { ALLOCATIONS = 5, FAILING = 3, SIZE = 1024 };

/* Several threads may call the layer at the same time. */
struct faults {
  atomic_size_t calls;
  atomic_size_t allocations;
  atomic_size_t bytes;
};

static void require(tenon_status status) {
  if (status != TENON_SUCCESS) {
    fprintf(stderr, "%s\n", tenon_error_text());
    exit(EXIT_FAILURE);
  }
}

static bool is_allocation(const tenon_call* call) {
  return strcmp(call->function, "device_memory_allocate") == 0;
}

/* Returns the value of a parameter, by its name in the spec. */
static uint64_t argument(const tenon_call* call, const char* name) {
  for (size_t i = 0; i < call->count; ++i) {
    if (strcmp(call->params[i].name, name) == 0) {
      return call->arguments[i];
    }
  }
  return 0;
}

/* Any status except success refuses the call: the call does not reach the device, and the caller gets this status. */
static tenon_status before(void* user_data, const tenon_call* call, uint64_t* note) {
  struct faults* faults = user_data;
  (void)note;
  atomic_fetch_add(&faults->calls, 1);
  if (is_allocation(call) && atomic_fetch_add(&faults->allocations, 1) + 1 == FAILING) {
    return TENON_OUT_OF_MEMORY;
  }
  return TENON_SUCCESS;
}

/* Not called for calls that the layer itself refused. */
static void after(void* user_data, const tenon_call* call, uint64_t note, tenon_status status) {
  struct faults* faults = user_data;
  (void)note;
  if (status == TENON_SUCCESS && is_allocation(call)) {
    atomic_fetch_add(&faults->bytes, (size_t)argument(call, "size"));
  }
}

int main(void) {
  struct faults faults;
  atomic_init(&faults.calls, 0);
  atomic_init(&faults.allocations, 0);
  atomic_init(&faults.bytes, 0);

  tenon_layer layer = {0};
  layer.size = sizeof layer;
  layer.name = "faults";
  layer.user_data = &faults;
  layer.before = before;
  layer.after = after;
  require(tenon_layer_register(&layer)); /* before the first device is opened */

  tenon_device device;
  require(tenon_device_open(NULL, 0, &device));
  void* memory[ALLOCATIONS];
  for (int i = 0; i < ALLOCATIONS; ++i) {
    memory[i] = NULL;
    const tenon_status status = tenon_device_memory_allocate(device, &memory[i], SIZE);
    printf("allocation %d: %s\n", i + 1, tenon_status_name(status));
    if (status != TENON_SUCCESS) {
      printf("%s\n", tenon_error_text());
    }
  }
  for (int i = 0; i < ALLOCATIONS; ++i) {
    if (memory[i] != NULL) {
      require(tenon_device_memory_deallocate(device, memory[i], SIZE));
    }
  }
  require(tenon_device_close(device));
  require(tenon_shutdown());

  printf("the layer saw %zu calls; %zu of %d allocations came through, %zu bytes\n", atomic_load(&faults.calls),
         atomic_load(&faults.bytes) / SIZE, ALLOCATIONS, atomic_load(&faults.bytes));
  return EXIT_SUCCESS;
}
