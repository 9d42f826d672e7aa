/* The device. Its addresses are invalid on the host, as on a real device: a host that uses one crashes.
 *
 * All work is done when a call returns. operators.c and convolution.c have the operators.
 */
#include "device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/collectives.h"
#include "tenon/onnxruntime_provider.h"
#include "tenon/paddle_operators.h"

/* This bit turns an address of the host into one of the device. */
#define DEVICE ((uintptr_t)1 << 62)

void* memory_of(const void* address) {
  return (void*)((uintptr_t)address & ~DEVICE);
}

static C_Status get_device_count(size_t* count) {
  *count = 1;
  return C_SUCCESS;
}

static C_Status get_device_list(size_t* devices) {
  devices[0] = 0;
  return C_SUCCESS;
}

static C_Status set_device(C_Device device) {
  return device->id == 0 ? C_SUCCESS : C_ERROR;
}

static C_Status get_device(C_Device device) {
  device->id = 0;
  return C_SUCCESS;
}

static C_Status synchronize_device(C_Device device) {
  (void)device;
  return C_SUCCESS;
}

static C_Status synchronize_stream(C_Device device, C_Stream stream) {
  (void)stream;
  return synchronize_device(device);
}

static C_Status create_event(C_Device device, C_Event* event) {
  static char event_for_all;
  (void)device;
  *event = (C_Event)(void*)&event_for_all;
  return C_SUCCESS;
}

static C_Status record_event(C_Device device, C_Stream stream, C_Event event) {
  (void)device;
  (void)stream;
  (void)event;
  return C_SUCCESS;
}

static C_Status stream_wait_event(C_Device device, C_Stream stream, C_Event event) {
  return record_event(device, stream, event);
}

static C_Status event_is_done(C_Device device, C_Event event) {
  (void)device;
  (void)event;
  return C_SUCCESS;
}

static C_Status allocate(C_Device device, void** address, size_t size) {
  (void)device;
  void* memory = malloc(size > 0 ? size : 1);
  /* Null means out of memory. The host then tries to free memory. */
  *address = memory == NULL ? NULL : (void*)((uintptr_t)memory | DEVICE);
  return C_SUCCESS;
}

static C_Status deallocate(C_Device device, void* address, size_t size) {
  (void)device;
  (void)size;
  free(memory_of(address));
  return C_SUCCESS;
}

static C_Status copy_h2d(C_Device device, void* to, const void* from, size_t size) {
  (void)device;
  memcpy(memory_of(to), from, size);
  return C_SUCCESS;
}

static C_Status copy_d2h(C_Device device, void* to, const void* from, size_t size) {
  (void)device;
  memcpy(to, memory_of(from), size);
  return C_SUCCESS;
}

static C_Status copy_d2d(C_Device device, void* to, const void* from, size_t size) {
  return copy_h2d(device, to, memory_of(from), size);
}

static C_Status min_chunk_size(C_Device device, size_t* size) {
  (void)device;
  *size = 256;
  return C_SUCCESS;
}

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
    .memory_copy_h2d = copy_h2d,
    .memory_copy_d2h = copy_d2h,
    .memory_copy_d2d = copy_d2d,
    .device_min_chunk_size = min_chunk_size,
};

/* A note in the library, which `tenon matrix` reads without loading the plugin. */
TENON_DEVICE_MANIFEST("c_npu", &functions);

#if defined(__GNUC__)
#define EXPORT __attribute__((visibility("default")))
#else
#define EXPORT
#endif

EXPORT void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "c_npu";
  if (tenon_device_fill(params, &functions) == TENON_DEVICE_RELEASE_UNKNOWN) {
    return;
  }
  params->device_type = name;
  /* The device has no library for collectives of its own. */
  if (tenon_collectives_fill(params->interface) != C_SUCCESS) {
    fprintf(stderr, "%s: collectives are not available\n", name);
  }
  char message[256];
  if (tenon_paddle_register_operators(params, tenon_operator_calls(), message, sizeof message) != C_SUCCESS) {
    /* The device works without them: PaddlePaddle computes the operators. */
    fprintf(stderr, "%s: %s\n", name, message);
  }
}

/* ONNX Runtime looks up what this exports. */
static const TenonProvider provider = {
    sizeof(TenonProvider), "CNpuExecutionProvider", "C NPU", "0.1.0", 0xFFFF, &functions, tenon_operator_calls,
};
TENON_EXPORT_ONNXRUNTIME(provider)
