/* The validation layer sees each block of the pool and each buffer. */
#include <semaphore.h>

#include "check.h"

static tenon_device device;
static tenon_stream one, two;

static char* block(size_t size, tenon_stream stream) {
  void* memory;
  OK(tenon_pool_allocate(device, size, stream, &memory));
  return memory;
}

/* Two blocks, of which neither is written beyond its end. */
static void accesses_behind_the_end(void) {
  char* first = block(16, one);
  char* second = block(16, one);
  OK(tenon_device_memory_set(device, first, 1, 16));
  GIVES(TENON_REFUSED, tenon_device_memory_set(device, first, 0, 80));
  GIVES(TENON_REFUSED, tenon_device_memory_set(device, second + 8, 0, 9));
  OK(tenon_pool_free(device, first, one));
  OK(tenon_pool_free(device, second, one));
}

static void uses_after_the_free(void) {
  char* memory = block(64, one);
  OK(tenon_pool_free(device, memory, one));
  GIVES(TENON_REFUSED, tenon_device_memory_set(device, memory, 0, 64));
  GIVES(TENON_INVALID_ARGUMENT, tenon_pool_free(device, memory, one));
  tenon_buffer buffer;
  void* address;
  OK(tenon_buffer_create(device, 64, one, &buffer));
  OK(tenon_buffer_address(buffer, &address));
  OK(tenon_device_memory_set(device, address, 0, 64));
  GIVES(TENON_REFUSED, tenon_device_memory_set(device, address, 0, 65));
  OK(tenon_buffer_destroy(buffer, one));
  GIVES(TENON_REFUSED, tenon_device_memory_set(device, address, 0, 64));
}

static sem_t gate;

static void wait_for_gate(tenon_device gated, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)gated;
  (void)stream;
  (void)user_data;
  *status = sem_wait(&gate) == 0 ? TENON_SUCCESS : TENON_FAILED;
}

/* The block goes to another stream while work on its own still writes it, which is a warning. */
static void frees_on_the_wrong_stream(void) {
  CHECK(sem_init(&gate, 0, 0) == 0);
  char* memory = block(4096, one);
  char* source = block(4096, one);
  OK(tenon_stream_add_callback(device, one, wait_for_gate, NULL));
  OK(tenon_async_memory_copy_d2d(device, one, memory, source, 4096));
  OK(tenon_pool_free(device, memory, two));
  CHECK(sem_post(&gate) == 0);
  OK(tenon_synchronize_stream(device, one));
  OK(tenon_pool_free(device, source, one));
}

int main(void) {
  OK(tenon_layers_enable("validate"));
  OK(tenon_device_open(NULL, 0, &device));
  OK(tenon_create_stream(device, &one));
  OK(tenon_create_stream(device, &two));
  accesses_behind_the_end();
  uses_after_the_free();
  frees_on_the_wrong_stream();
  /* Both are still in use at the end: two leaks. */
  block(54321, one);
  tenon_buffer buffer;
  OK(tenon_buffer_create(device, 12321, one, &buffer));
  OK(tenon_destroy_stream(device, one));
  OK(tenon_destroy_stream(device, two));
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
