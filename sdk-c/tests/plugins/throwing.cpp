// The plugin of required.c, with a function that throws or ends the process. It is compiled with `InitPlugin` of that file renamed.
#include <cstdlib>
#include <stdexcept>

#include "tenon/device_ext.h"

extern "C" void required_init(CustomRuntimeParams* params);
extern "C" void InitPlugin(CustomRuntimeParams* params);

static C_Status synchronize_device(C_Device) {
#ifdef EXIT_STATUS
  std::exit(EXIT_STATUS);
#endif
  throw std::runtime_error("lost the device");
}

void InitPlugin(CustomRuntimeParams* params) {
#ifdef EXIT_AT_LOAD
  std::exit(0);
#endif
#ifdef THROW_AT_LOAD
  throw std::runtime_error("no driver");
#endif
  required_init(params);
  if (params->size == sizeof(CustomRuntimeParams) && params->interface->size == sizeof(C_DeviceInterface)) {
    params->interface->synchronize_device = synchronize_device;
  }
}
