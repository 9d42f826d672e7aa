/* Chooses layers that are there already, and some that are not. */
#include "check.h"

int main(void) {
  tenon_device device;
  tenon_plugin plugin;
  void* memory;
  OK(tenon_plugin_find(NULL, &plugin));
  OK(tenon_layers_enable("validate,trace"));
  GIVES(TENON_INVALID_ARGUMENT, tenon_layers_enable("validate,trace,no_such_layer"));
  OK(tenon_device_open(NULL, 0, &device));
  for (int i = 0; i < 20; ++i) {
    OK(tenon_device_memory_allocate(device, &memory, 100));
    OK(tenon_device_memory_deallocate(device, memory, 100));
  }
  /* Validation is still there. */
  GIVES(TENON_REFUSED, tenon_device_memory_deallocate(device, memory, 100));
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
