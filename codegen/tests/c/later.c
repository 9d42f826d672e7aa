// A plugin with a function that came with release 3.2.
#include "tenon/device_ext.h"

static C_Status is_float16_supported(C_Device device, bool* supported) {
  (void)device;
  *supported = true;
  return C_SUCCESS;
}

void InitPlugin(CustomRuntimeParams* params) {
  C_DeviceInterface functions;
  memset(&functions, 0, sizeof functions);
  functions.is_float16_supported = is_float16_supported;
  tenon_device_fill(params, &functions);
}
