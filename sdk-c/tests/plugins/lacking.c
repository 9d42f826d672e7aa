/* A plugin that a host refuses: it leaves out what is needed. */
#include "tenon/device_ext.h"

static C_Status get_device_count(size_t* devices) {
  *devices = 1;
  return C_SUCCESS;
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "lacking";
  if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->get_device_count = get_device_count;
  TENON_DEVICE_STATE_VERSION(params);
  params->device_type = name;
}
