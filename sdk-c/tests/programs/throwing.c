/* Calls a function of a plugin that throws, which ends the process. */
#include "check.h"

int main(int count, char** arguments) {
  tenon_plugin plugin;
  tenon_device device;
  CHECK(count == 2);
  OK(tenon_load_plugin(arguments[1], NULL, &plugin));
  OK(tenon_plugin_open_device(plugin, 0, &device));
  tenon_synchronize_device(device);
  puts("survived");
  return 0;
}
