// A plugin that crashes when it copies an odd number of bytes to the host.

#define InitPlugin required_init
#include "required.c"
#undef InitPlugin

#include <signal.h>

static C_Status (*copy)(const C_Device device, void* dst, const void* src, size_t size);

static C_Status copy_or_crash(const C_Device device, void* dst, const void* src, size_t size) {
  if (size % 2 == 1) raise(SIGSEGV);
  return copy(device, dst, src, size);
}

void InitPlugin(CustomRuntimeParams* params) {
  required_init(params);
  if (params->device_type == NULL) return;
  copy = params->interface->memory_copy_d2h;
  params->interface->memory_copy_d2h = copy_or_crash;
}
