/* A plugin in C11: two devices that use host memory and run all work synchronously.
 *
 *   cc -std=c11 -Wall -Wextra -Wpedantic -shared -fPIC -Isdk-c/include examples/c-plugin/plugin.c -o libc_plugin.so
 *
 * The plugin works with PaddlePaddle 2.6 to 3.3: `tenon_device_fill` of the header detects the release of the host and
 * fills the table of that release.
 */
#include <stdlib.h>
#include <string.h>

#include "tenon/device_ext.h"

enum { DEVICES = 2 };

static _Thread_local int current = 0;

static bool is_device(C_Device device) {
  return device != NULL && device->id >= 0 && device->id < DEVICES;
}

static C_Status set_device(C_Device device) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  current = device->id;
  return C_SUCCESS;
}

static C_Status get_device(C_Device device) {
  device->id = current;
  return C_SUCCESS;
}

static C_Status get_device_count(size_t* count) {
  *count = DEVICES;
  return C_SUCCESS;
}

static C_Status get_device_list(size_t* devices) {
  for (size_t id = 0; id < DEVICES; ++id) {
    devices[id] = id;
  }
  return C_SUCCESS;
}

/* All work is done when its call returns, so there is nothing to wait for, and one event is enough. */
static C_Status synchronize_device(C_Device device) {
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status synchronize_stream(C_Device device, C_Stream stream) {
  (void)stream;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status create_event(C_Device device, C_Event* event) {
  static char event_for_all;
  *event = (C_Event)(void*)&event_for_all;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status record_event(C_Device device, C_Stream stream, C_Event event) {
  (void)stream;
  (void)event;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status event_is_done(C_Device device, C_Event event) {
  (void)event;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status stream_wait_event(C_Device device, C_Stream stream, C_Event event) {
  return record_event(device, stream, event);
}

static C_Status allocate(C_Device device, void** ptr, size_t size) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  /* Null means out of memory. The host then tries to free memory. */
  *ptr = malloc(size > 0 ? size : 1);
  return C_SUCCESS;
}

static C_Status deallocate(C_Device device, void* ptr, size_t size) {
  (void)size;
  free(ptr);
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

static C_Status copy(C_Device device, void* dst, const void* src, size_t size) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  if (size > 0) {
    memcpy(dst, src, size);
  }
  return C_SUCCESS;
}

/* A fill copies the pattern to the start, and then doubles the filled part. */
static C_Status fill(
    C_Device device, C_Stream stream, void* dst, const void* pattern, size_t pattern_size, size_t size) {
  (void)stream;
  const bool is_size = pattern_size == 1 || pattern_size == 2 || pattern_size == 4 || pattern_size == 8 ||
                       pattern_size == 16;
  if (!is_device(device) || !is_size || size % pattern_size != 0) {
    return C_ERROR;
  }
  if (size == 0) {
    return C_SUCCESS;
  }
  memcpy(dst, pattern, pattern_size);
  for (size_t filled = pattern_size; filled < size;) {
    const size_t length = filled < size - filled ? filled : size - filled;
    memcpy((char*)dst + filled, dst, length);
    filled += length;
  }
  return C_SUCCESS;
}

static C_Status min_chunk_size(C_Device device, size_t* size) {
  *size = 256;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

/* The table of the newest release. The header copies each function to its slot in the release of the host. */
static const C_DeviceInterface functions = {
    .set_device = set_device,
    .get_device = get_device,
    .get_device_count = get_device_count,
    .get_device_list = get_device_list,
    .synchronize_device = synchronize_device,
    .synchronize_stream = synchronize_stream,
    .create_event = create_event,
    .record_event = record_event,
    .destroy_event = event_is_done,
    .query_event = event_is_done,
    .synchronize_event = event_is_done,
    .stream_wait_event = stream_wait_event,
    .device_memory_allocate = allocate,
    .device_memory_deallocate = deallocate,
    .memory_copy_h2d = copy,
    .memory_copy_d2h = copy,
    .memory_copy_d2d = copy,
    .device_min_chunk_size = min_chunk_size,
};

/* A note in the library, which `tenon matrix` reads without loading the plugin. */
TENON_DEVICE_MANIFEST("c_plugin", &functions);

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

/* Functions that PaddlePaddle's table has no slot for. libtenon emulates those that a plugin lacks. */
EXPORT const TenonDeviceExtension* tenon_device_extension(void) {
  static const TenonDeviceExtension extension = {
      .size = sizeof(TenonDeviceExtension),
      .major = TENON_DEVICE_EXTENSION_MAJOR_VERSION,
      .minor = TENON_DEVICE_EXTENSION_MINOR_VERSION,
      .async_memory_fill = fill,
  };
  return &extension;
}

EXPORT void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "c_plugin";
  if (tenon_device_fill(params, &functions) == TENON_DEVICE_RELEASE_UNKNOWN) {
    /* A host treats a plugin without a device type as a refusal, and reports it. */
    return;
  }
  params->device_type = name;
}
