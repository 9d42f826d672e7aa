/* A plugin that does what the functions of PaddlePaddle's tutorial do, with its mistakes.
 *
 * The test `pages/tutorial.rs` compares what `tenon check` finds with the list on the page `paddle-tutorial.md`.
 */
#include <stdlib.h>
#include <string.h>

#include "tenon/device_ext.h"

static const size_t total = (size_t)1 << 30;
static size_t used = 0;

static C_Status on_device(const C_Device device) {
  (void)device;
  return C_SUCCESS;
}

static C_Status get_device(const C_Device device) {
  device->id = 0;
  return C_SUCCESS;
}

static C_Status get_device_count(size_t* count) {
  *count = 1;
  return C_SUCCESS;
}

static C_Status get_device_list(size_t* devices) {
  devices[0] = 0;
  return C_SUCCESS;
}

static C_Status copy(const C_Device device, void* dst, const void* src, size_t size) {
  (void)device;
  memcpy(dst, src, size);
  return C_SUCCESS;
}

/* Mistakes: an error instead of null, and a counter without a lock. */
static C_Status allocate(const C_Device device, void** ptr, size_t size) {
  (void)device;
  if (size > total - used) {
    return C_FAILED;
  }
  used += size;
  *ptr = malloc(size);
  return C_SUCCESS;
}

/* Mistake: null is refused. */
static C_Status deallocate(const C_Device device, void* ptr, size_t size) {
  (void)device;
  if (ptr == NULL) {
    return C_FAILED;
  }
  used -= size;
  free(ptr);
  return C_SUCCESS;
}

/* Mistake: nothing is written. */
static C_Status create_stream(const C_Device device, C_Stream* stream) {
  (void)device;
  (void)stream;
  return C_SUCCESS;
}

/* Mistake: nothing is written. */
static C_Status create_event(const C_Device device, C_Event* event) {
  (void)device;
  (void)event;
  return C_SUCCESS;
}

static C_Status on_stream(const C_Device device, C_Stream stream) {
  (void)stream;
  return on_device(device);
}

static C_Status on_event(const C_Device device, C_Event event) {
  (void)event;
  return on_device(device);
}

static C_Status on_both(const C_Device device, C_Stream stream, C_Event event) {
  (void)event;
  return on_stream(device, stream);
}

static C_Status memory_stats(const C_Device device, size_t* all, size_t* left) {
  *all = total;
  *left = total - used;
  return on_device(device);
}

static C_Status min_chunk_size(const C_Device device, size_t* size) {
  *size = 1;
  return on_device(device);
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "sample";
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  params->device_type = name;
  params->interface->set_device = on_device;
  params->interface->get_device = get_device;
  params->interface->get_device_count = get_device_count;
  params->interface->get_device_list = get_device_list;
  params->interface->synchronize_device = on_device;
  params->interface->create_stream = create_stream;
  params->interface->destroy_stream = on_stream;
  params->interface->synchronize_stream = on_stream;
  params->interface->create_event = create_event;
  params->interface->destroy_event = on_event;
  params->interface->synchronize_event = on_event;
  params->interface->record_event = on_both;
  params->interface->stream_wait_event = on_both;
  params->interface->device_memory_allocate = allocate;
  params->interface->device_memory_deallocate = deallocate;
  params->interface->device_memory_stats = memory_stats;
  params->interface->device_min_chunk_size = min_chunk_size;
  params->interface->memory_copy_h2d = copy;
  params->interface->memory_copy_d2h = copy;
  params->interface->memory_copy_d2d = copy;
}
