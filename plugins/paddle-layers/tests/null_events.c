/* The plugin of examples/c-plugin with null events, like the sample plugin of PaddlePaddle. It accepts null events. */
#define InitPlugin init_with_events
#include "../../../examples/c-plugin/plugin.c"
#undef InitPlugin

static C_Status create_null_event(C_Device device, C_Event* event) {
  *event = NULL;
  return is_device(device) ? C_SUCCESS : C_ERROR;
}

/* The arguments of the host must arrive unchanged, even a null event and an invalid stream. */
static C_Status record_null_event(C_Device device, C_Stream stream, C_Event event) {
  return is_device(device) && stream == (C_Stream)(void*)0x5 && event == NULL ? C_SUCCESS : C_FAILED;
}

#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
void InitPlugin(CustomRuntimeParams* params);

void InitPlugin(CustomRuntimeParams* params) {
  if (tenon_device_release(params->interface->size) != TENON_DEVICE_RELEASE_2_6) {
    return;
  }
  init_with_events(params);
  if (params->device_type == NULL) {
    return;
  }
  C_DeviceInterface_v2_6* table = (C_DeviceInterface_v2_6*)(void*)params->interface;
  table->create_event = create_null_event;
  table->record_event = record_null_event;
  params->version.minor = 2;
}
