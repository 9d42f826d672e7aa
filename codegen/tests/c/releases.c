// Tells releases apart by the size of their table, as a plugin in plain C does.

#include <stdio.h>
#include <string.h>

#include "tenon/device_ext.h"

// NOLINTNEXTLINE: a check that stays in when assertions are compiled out.
#define CHECK(condition)                                          \
  do {                                                            \
    if (!(condition)) {                                           \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition);     \
      return 1;                                                   \
    }                                                             \
  } while (0)

static void init(CustomRuntimeParams* params) {
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
  static char name[] = "my_npu";
  params->device_type = name;
}

int main(void) {
  CHECK(tenon_device_release(sizeof(C_DeviceInterface_v2_6)) == TENON_DEVICE_RELEASE_2_6);
  CHECK(tenon_device_release(sizeof(C_DeviceInterface_v3_0)) == TENON_DEVICE_RELEASE_3_0);
  CHECK(tenon_device_release(sizeof(C_DeviceInterface_v3_1)) == TENON_DEVICE_RELEASE_3_1);
  CHECK(tenon_device_release(sizeof(C_DeviceInterface_v3_2)) == TENON_DEVICE_RELEASE_3_2);
  CHECK(tenon_device_release(sizeof(C_DeviceInterface_v3_3)) == TENON_DEVICE_RELEASE_3_3);
  CHECK(tenon_device_release(0) == TENON_DEVICE_RELEASE_UNKNOWN);
  CHECK(tenon_device_release(sizeof(C_DeviceInterface) + 8) == TENON_DEVICE_RELEASE_UNKNOWN);
  CHECK(TENON_DEVICE_RELEASE_3_1 < TENON_DEVICE_RELEASE_3_2);

  // The check refuses a host of another release, which the one in the original header lets pass.
  C_DeviceInterface table;
  CustomRuntimeParams params;
  memset(&table, 0, sizeof table);
  memset(&params, 0, sizeof params);
  params.size = sizeof params;
  params.interface = &table;
  table.size = TENON_DEVICE_SIZE_3_2;
  init(&params);
  CHECK(params.device_type == NULL && params.version.minor == 0);

  table.size = sizeof(C_DeviceInterface);
  params.size = sizeof(CustomRuntimeParams_v2_6);
  init(&params);
  CHECK(params.device_type == NULL);

  params.size = sizeof params;
  init(&params);
  CHECK(params.device_type != NULL && params.version.major == 0 && params.version.minor == 1);
  return 0;
}
