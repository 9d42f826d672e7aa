/* Frees that are wrong, and uses after a free. */
#include "misuse.h"

static void use_after_free(void) {
  char* memory = device_memory(64);
  OK(tenon_device_memory_deallocate(device, memory, 64));
  TRY(tenon_device_memory_set(device, memory + 8, 0, 8));
}

static void unified_use_after_free(void) {
  char* memory = unified_memory(64);
  OK(tenon_unified_memory_deallocate(device, memory, 64));
  TRY(tenon_device_memory_set(device, memory, 0, 64));
}

static void pinned_use_after_free(void) {
  char* memory = pinned_memory(64);
  /* Allocated before the other memory is freed: later it could have the same address. */
  char* target = device_memory(64);
  OK(tenon_host_memory_deallocate(device, memory, 64));
  TRY(tenon_async_memory_copy_h2d(device, one, target, memory, 64));
}

static void pool_use_after_free(void) {
  char* memory = pool_block(64, one);
  OK(tenon_pool_free(device, memory, one));
  TRY(tenon_device_memory_set(device, memory, 0, 64));
}

static void buffer_use_after_destroy(void) {
  char* address;
  OK(tenon_buffer_destroy(buffer_of(64, &address), one));
  TRY(tenon_device_memory_set(device, address, 0, 64));
}

static void double_free(void) {
  char* memory = device_memory(64);
  OK(tenon_device_memory_deallocate(device, memory, 64));
  TRY(tenon_device_memory_deallocate(device, memory, 64));
}

static void pinned_double_free(void) {
  char* memory = pinned_memory(64);
  OK(tenon_host_memory_deallocate(device, memory, 64));
  TRY(tenon_host_memory_deallocate(device, memory, 64));
}

static void unified_double_free(void) {
  char* memory = unified_memory(64);
  OK(tenon_unified_memory_deallocate(device, memory, 64));
  TRY(tenon_unified_memory_deallocate(device, memory, 64));
}

static void pool_double_free(void) {
  char* memory = pool_block(64, one);
  OK(tenon_pool_free(device, memory, one));
  TRY(tenon_pool_free(device, memory, one));
}

static void pool_free_of_the_middle(void) {
  TRY(tenon_pool_free(device, pool_block(64, one) + 8, one));
}

static void pool_free_of_device_memory(void) {
  TRY(tenon_pool_free(device, device_memory(64), one));
}

static void device_free_of_pool_block(void) {
  TRY(tenon_device_memory_deallocate(device, pool_block(64, one), 64));
}

static void device_free_of_buffer(void) {
  char* address;
  buffer_of(64, &address);
  TRY(tenon_device_memory_deallocate(device, address, 64));
}

static void buffer_destroyed_twice(void) {
  char* address;
  tenon_buffer buffer = buffer_of(64, &address);
  OK(tenon_buffer_destroy(buffer, one));
  TRY(tenon_buffer_destroy(buffer, one));
}

static void free_with_the_wrong_size(void) {
  TRY(tenon_device_memory_deallocate(device, device_memory(64), 32));
}

static void free_of_the_middle(void) {
  TRY(tenon_device_memory_deallocate(device, device_memory(64) + 8, 56));
}

static void free_of_the_wrong_kind(void) {
  TRY(tenon_device_memory_deallocate(device, pinned_memory(64), 64));
}

static void free_on_the_wrong_device(void) {
  TRY(tenon_device_memory_deallocate(other, device_memory(64), 64));
}

static void free_of_a_variable(void) {
  char bytes[64];
  TRY(tenon_device_memory_deallocate(device, bytes, sizeof bytes));
}

static void free_of_heap_as_pinned(void) {
  void* memory = malloc(64);
  TRY(tenon_host_memory_deallocate(device, memory, 64));
  free(memory);
}

const struct misuse free_misuses[] = {
    {"use_after_free", "fills device memory after it was freed", "V026", NULL, use_after_free},
    {"unified_use_after_free", "fills unified memory after it was freed", "V026", NULL, unified_use_after_free},
    {"pinned_use_after_free", "copies from pinned memory after it was freed", NULL,
     "the address may be memory of malloc by now, which the layer does not see", pinned_use_after_free},
    {"pool_use_after_free", "fills a block of the pool after it was freed", "V026", NULL, pool_use_after_free},
    {"buffer_use_after_destroy", "fills a buffer after it was destroyed", "V026", NULL, buffer_use_after_destroy},
    {"double_free", "frees device memory twice", "V027", NULL, double_free},
    {"pinned_double_free", "frees pinned memory twice", "V027", NULL, pinned_double_free},
    {"unified_double_free", "frees unified memory twice", "V027", NULL, unified_double_free},
    {"pool_double_free", "frees a block of the pool twice", "TENON_INVALID_ARGUMENT", NULL, pool_double_free},
    {"pool_free_of_the_middle", "frees the middle of a block of the pool", "TENON_INVALID_ARGUMENT", NULL,
     pool_free_of_the_middle},
    {"pool_free_of_device_memory", "gives the pool what is not its own", "TENON_INVALID_ARGUMENT", NULL,
     pool_free_of_device_memory},
    {"device_free_of_pool_block", "frees a block of the pool behind its back", "TENON_REFUSED", NULL,
     device_free_of_pool_block},
    {"device_free_of_buffer", "frees the memory of a buffer", "TENON_REFUSED", NULL, device_free_of_buffer},
    {"buffer_destroyed_twice", "destroys a buffer twice", "TENON_INVALID_HANDLE", NULL, buffer_destroyed_twice},
    {"free_with_the_wrong_size", "frees with another size", "V028", NULL, free_with_the_wrong_size},
    {"free_of_the_middle", "frees the middle of an allocation", "V028", NULL, free_of_the_middle},
    {"free_of_the_wrong_kind", "frees pinned memory as device memory", "V028", NULL, free_of_the_wrong_kind},
    {"free_on_the_wrong_device", "frees memory on another device", "V028", NULL, free_on_the_wrong_device},
    {"free_of_a_variable", "frees a variable as device memory", "V020", NULL, free_of_a_variable},
    {"free_of_heap_as_pinned", "frees memory of malloc as pinned memory", "V020", NULL, free_of_heap_as_pinned},
    {NULL, NULL, NULL, NULL, NULL},
};
