/* The example plugin with a fault, which is chosen by a macro. */
#define InitPlugin init_example
#include "../../../../examples/c-plugin/plugin.c"
#undef InitPlugin

int npu_open(void);
void PD_NoSuchFunction(void);
void InitPlugin(CustomRuntimeParams* params);

#ifndef FAULT_NO_ENTRY
static C_Status fail(void) {
  return C_FAILED;
}

static C_Status count_none(size_t* count) {
  *count = 0;
  return C_SUCCESS;
}

static C_Status crash(void) {
  volatile int* nowhere = NULL;
  *nowhere = 1;
  return C_SUCCESS;
}

EXPORT void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "broken";
  C_DeviceInterface mine = functions;
  (void)fail;
  (void)count_none;
  (void)crash;
#if defined(FAULT_DECLINES)
  return;
#elif defined(FAULT_ONLY_3_3)
  if (params->interface->size != 1128) {
    return;
  }
#elif defined(FAULT_NO_FUNCTION)
  mine.set_device = NULL;
#elif defined(FAULT_CRASHES)
  crash();
#elif defined(FAULT_CRASHES_LATER)
  mine.initialize = crash;
#elif defined(FAULT_ENDS)
  exit(3);
#elif defined(FAULT_NO_DRIVER)
  mine.initialize = fail;
#elif defined(FAULT_NO_DEVICE)
  mine.get_device_count = count_none;
#elif defined(FAULT_UNDEFINED)
  if (npu_open() != 0) {
    return;
  }
#elif defined(FAULT_CALLS_PADDLE)
  if (params->size == 1) {
    PD_NoSuchFunction();
  }
#endif
  if (tenon_device_fill(params, &mine) == TENON_DEVICE_RELEASE_UNKNOWN) {
    return;
  }
#ifdef FAULT_NO_TYPE
  (void)name;
#else
  params->device_type = name;
#endif
}
#endif
