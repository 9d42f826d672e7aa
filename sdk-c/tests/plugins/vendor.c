/* The plugin of `required.c` with more devices than can be open. It makes a device current when it is
 * initialised, and counts the initialised devices. */
#define InitPlugin init_required
#include "required.c"
#undef InitPlugin

enum { VENDOR_DEVICES = 300 };

static _Atomic(int) initialised;

int vendor_initialised(void);
int vendor_initialised(void) {
  return initialised;
}

static C_Status vendor_set_device(C_Device device) {
  if (device == NULL || device->id < 0 || device->id >= VENDOR_DEVICES) {
    return wrong("there is no such device");
  }
  current = device->id;
  return C_SUCCESS;
}

static C_Status vendor_init_device(C_Device device) {
  ++initialised;
  return vendor_set_device(device);
}

static C_Status vendor_deinit_device(C_Device device) {
  (void)device;
  --initialised;
  return C_SUCCESS;
}

static C_Status vendor_device_count(size_t* devices) {
  *devices = VENDOR_DEVICES;
  return C_SUCCESS;
}

static C_Status vendor_device_list(size_t* devices) {
  for (size_t id = 0; id < VENDOR_DEVICES; ++id) {
    devices[id] = id;
  }
  return C_SUCCESS;
}

static C_Status vendor_synchronize_device(C_Device device) {
  (void)device;
  return C_SUCCESS;
}

/* An address behind which the address space ends, for whoever asks for more than a mebibyte. */
static C_Status vendor_allocate(C_Device device, void** ptr, size_t size) {
  if (size > (size_t)1 << 20) {
    *ptr = (void*)(UINTPTR_MAX - 4095);
    return C_SUCCESS;
  }
  return allocate(device, ptr, size);
}

static C_Status vendor_deallocate(C_Device device, void* ptr, size_t size) {
  return size > (size_t)1 << 20 ? C_SUCCESS : deallocate(device, ptr, size);
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "vendor";
  init_required(params);
  if (params->device_type == NULL) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->set_device = vendor_set_device;
  table->init_device = vendor_init_device;
  table->deinit_device = vendor_deinit_device;
  table->get_device_count = vendor_device_count;
  table->get_device_list = vendor_device_list;
  table->synchronize_device = vendor_synchronize_device;
  table->device_memory_allocate = vendor_allocate;
  table->device_memory_deallocate = vendor_deallocate;
  params->device_type = name;
}
