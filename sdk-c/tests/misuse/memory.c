/* Addresses, sizes and kinds of memory that do not fit the call. */
#include "misuse.h"

static void fill_past_the_end(void) {
  TRY(tenon_device_memory_set(device, device_memory(64), 0, 65));
}

static void copy_in_past_the_end(void) {
  char bytes[65] = {0};
  TRY(tenon_memory_copy_h2d(device, device_memory(64), bytes, sizeof bytes));
}

static void copy_out_past_the_end(void) {
  char bytes[65];
  TRY(tenon_memory_copy_d2h(device, bytes, device_memory(64), sizeof bytes));
}

static void copy_within_past_the_end(void) {
  TRY(tenon_memory_copy_d2d(device, device_memory(128), device_memory(64), 65));
}

static void copy_from_the_middle_past_the_end(void) {
  TRY(tenon_async_memory_copy_d2d(device, one, device_memory(128), device_memory(64) + 60, 8));
}

static void pinned_past_the_end(void) {
  TRY(tenon_async_memory_copy_h2d(device, one, device_memory(128), pinned_memory(64), 65));
}

static void unified_past_the_end(void) {
  TRY(tenon_device_memory_set(device, unified_memory(64), 0, 65));
}

static void pool_past_the_end(void) {
  char* block = pool_block(16, one);
  pool_block(16, one);
  TRY(tenon_device_memory_set(device, block, 0, 17));
}

static void buffer_past_the_end(void) {
  char* address;
  buffer_of(16, &address);
  TRY(tenon_device_memory_set(device, address, 0, 80));
}

static void axpby_past_the_end(void) {
  char* memory = device_memory(64);
  TRY(tenon_blas_axpby(device, one, TENON_DATA_TYPE_FLOAT64, 9, 1.0f, memory, 1.0f, memory));
}

static void negative_size(void) {
  TRY(tenon_device_memory_set(device, device_memory(64), 0, (size_t)-8));
}

static void endless_allocation(void) {
  void* memory;
  TRY(tenon_device_memory_allocate(device, &memory, SIZE_MAX));
}

static void endless_pool_block(void) {
  void* memory;
  TRY(tenon_pool_allocate(device, SIZE_MAX - 7, one, &memory));
}

static void overflowing_elements(void) {
  char* memory = device_memory(64);
  TRY(tenon_blas_axpby(device, one, TENON_DATA_TYPE_FLOAT64, SIZE_MAX / 8 + 2, 1.0f, memory, 1.0f, memory));
}

static void null_destination(void) {
  char bytes[8] = {0};
  TRY(tenon_memory_copy_h2d(device, NULL, bytes, sizeof bytes));
}

static void null_source(void) {
  TRY(tenon_memory_copy_h2d(device, device_memory(8), NULL, 8));
}

static void stack_as_device_memory(void) {
  char bytes[8];
  TRY(tenon_device_memory_set(device, bytes, 0, sizeof bytes));
}

static void heap_as_device_memory(void) {
  void* memory = malloc(64);
  TRY(tenon_memory_copy_d2d(device, device_memory(64), memory, 64));
  free(memory);
}

static void pinned_as_device_memory(void) {
  TRY(tenon_device_memory_set(device, pinned_memory(64), 0, 64));
}

static void device_as_host_memory(void) {
  TRY(tenon_memory_copy_h2d(device, device_memory(64), device_memory(64), 64));
}

static void buffer_handle_as_address(void) {
  char* address;
  tenon_buffer buffer = buffer_of(64, &address);
  TRY(tenon_device_memory_set(device, (void*)buffer, 0, 64));
}

static void memory_of_other_device(void) {
  void* memory;
  OK(tenon_device_memory_allocate(other, &memory, 64));
  TRY(tenon_device_memory_set(device, memory, 0, 64));
}

static void copy_between_devices_without_p2p(void) {
  void* memory;
  OK(tenon_device_memory_allocate(other, &memory, 64));
  TRY(tenon_memory_copy_d2d(device, device_memory(64), memory, 64));
}

static void swapped_destination_and_source(void) {
  char bytes[64];
  TRY(tenon_memory_copy_d2h(device, device_memory(64), bytes, sizeof bytes));
}

static void overlapping_copy(void) {
  char* memory = device_memory(64);
  TRY(tenon_memory_copy_d2d(device, memory + 8, memory, 32));
}

static void before_the_beginning(void) {
  TRY(tenon_device_memory_set(device, device_memory(1 << 20) - 8, 0, 16));
}

const struct misuse memory_misuses[] = {
    {"fill_past_the_end", "fills past the end of device memory", "V023", NULL, fill_past_the_end},
    {"copy_in_past_the_end", "copies to the device past the end", "V023", NULL, copy_in_past_the_end},
    {"copy_out_past_the_end", "copies to the host from past the end", "V023", NULL, copy_out_past_the_end},
    {"copy_within_past_the_end", "copies within the device from past the end", "V023", NULL, copy_within_past_the_end},
    {"copy_from_the_middle", "copies from inside an allocation past its end", "V023", NULL,
     copy_from_the_middle_past_the_end},
    {"pinned_past_the_end", "copies from past the end of pinned memory", "V023", NULL, pinned_past_the_end},
    {"unified_past_the_end", "fills past the end of unified memory", "V023", NULL, unified_past_the_end},
    {"pool_past_the_end", "fills past the end of a block of the pool", "V023", NULL, pool_past_the_end},
    {"buffer_past_the_end", "fills past the end of a buffer", "V023", NULL, buffer_past_the_end},
    {"axpby_past_the_end", "computes with more elements than there are", "V023", NULL, axpby_past_the_end},
    {"before_the_beginning", "fills from before the beginning", "V020", NULL, before_the_beginning},
    {"negative_size", "fills a negative number of bytes", "TENON_INVALID_ARGUMENT", NULL, negative_size},
    {"endless_allocation", "allocates as many bytes as a size can say", "V002", NULL, endless_allocation},
    {"endless_pool_block", "takes a block of such a size from the pool", "V002", NULL, endless_pool_block},
    {"overflowing_elements", "computes with a number of elements that overflows", "V002", NULL, overflowing_elements},
    {"null_destination", "copies to null", "TENON_INVALID_ARGUMENT", NULL, null_destination},
    {"null_source", "copies from null", "TENON_INVALID_ARGUMENT", NULL, null_source},
    {"stack_as_device_memory", "passes a variable for device memory", "V020", NULL, stack_as_device_memory},
    {"heap_as_device_memory", "passes memory of malloc for device memory", "V020", NULL, heap_as_device_memory},
    {"pinned_as_device_memory", "passes pinned memory for device memory", "V021", NULL, pinned_as_device_memory},
    {"device_as_host_memory", "passes device memory for host memory", "V022", NULL, device_as_host_memory},
    {"buffer_handle_as_address", "passes the handle of a buffer for its address", "V020", NULL,
     buffer_handle_as_address},
    {"memory_of_other_device", "fills memory of another device", "V024", NULL, memory_of_other_device},
    {"copy_without_p2p", "copies between devices as within one", "V024", NULL, copy_between_devices_without_p2p},
    {"swapped_arguments", "swaps destination and source of a copy to the host", "V022", NULL,
     swapped_destination_and_source},
    {"overlapping_copy", "copies to a range that overlaps the source", "V029", NULL, overlapping_copy},
    {NULL, NULL, NULL, NULL, NULL},
};
