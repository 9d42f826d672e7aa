/* A device that does almost nothing, so that a benchmark measures the path to it. Of release 3.3. */
#include "tenon/device_ext.h"

static C_Status of_device(C_Device device) {
  return device->id == 0 ? C_SUCCESS : C_ERROR;
}

static C_Status get_device(C_Device device) {
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

static C_Status create_stream(C_Device device, C_Stream* stream) {
  static char a_stream;
  *stream = (C_Stream)(void*)&a_stream;
  return of_device(device);
}

static C_Status of_stream(C_Device device, C_Stream stream) {
  (void)stream;
  return of_device(device);
}

static C_Status create_event(C_Device device, C_Event* event) {
  static char an_event;
  *event = (C_Event)(void*)&an_event;
  return of_device(device);
}

static C_Status record_event(C_Device device, C_Stream stream, C_Event event) {
  (void)stream;
  (void)event;
  return of_device(device);
}

static C_Status of_event(C_Device device, C_Event event) {
  (void)event;
  return of_device(device);
}

static C_Status allocate(C_Device device, void** ptr, size_t size) {
  static char memory[4096];
  *ptr = size <= sizeof memory ? memory : 0;
  return of_device(device);
}

static C_Status deallocate(C_Device device, void* ptr, size_t size) {
  (void)ptr;
  (void)size;
  return of_device(device);
}

static C_Status copy(C_Device device, void* dst, const void* src, size_t size) {
  (void)dst;
  (void)src;
  (void)size;
  return of_device(device);
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "idle";
  if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->set_device = of_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->synchronize_device = of_device;
  table->create_stream = create_stream;
  table->destroy_stream = of_stream;
  table->synchronize_stream = of_stream;
  table->create_event = create_event;
  table->record_event = record_event;
  table->destroy_event = of_event;
  table->synchronize_event = of_event;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy;
  table->memory_copy_d2h = copy;
  TENON_DEVICE_STATE_VERSION(params);
  params->device_type = name;
}
