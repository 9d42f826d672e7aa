/* A folder with good and bad plugins, named by TENON_PLUGIN_PATH; and a plugin that the program loads, which
 * the argument names. */
#include "check.h"

int main(int argc, char** argv) {
  CHECK(argc == 2);
  size_t count;
  tenon_plugin plugin, cpu, by_hand;
  tenon_plugin_info info;

  /* In the folder: libidle.so, liblacking.so, text.so, which is not a library, and bad.json. */
  OK(tenon_plugin_count(&count));
  CHECK(count == 2);
  OK(tenon_plugin_get(0, &cpu));
  OK(tenon_plugin_find("idle", &plugin));
  OK(tenon_plugin_get_info(plugin, &info));
  CHECK(strcmp(info.name, "libidle") == 0 && strcmp(info.device_type, "idle") == 0);
  CHECK(strcmp(info.release, "3.3") == 0 && info.open_devices == 0 && info.path != NULL);
  CHECK(info.version[0] == 0 && info.version[1] == 1 && info.version[2] == 1);

  tenon_plugin_failure failures[8];
  count = 0;
  OK(tenon_plugin_failures(NULL, &count));
  CHECK(count == 3);
  count = 2;
  GIVES(TENON_INVALID_ARGUMENT, tenon_plugin_failures(failures, &count));
  CHECK(count == 3);
  OK(tenon_plugin_failures(failures, &count));
  int lacking = 0, text = 0, manifest = 0;
  for (size_t i = 0; i < count; ++i) {
    lacking += strstr(failures[i].path, "liblacking.so") && strstr(failures[i].reason, "`set_device`");
    text += strstr(failures[i].path, "text.so") != NULL;
    manifest += strstr(failures[i].path, "bad.json") != NULL;
  }
  CHECK(lacking == 1 && text == 1 && manifest == 1);

  GIVES(TENON_NOT_FOUND, tenon_load_plugin("/there/is/no/such.so", NULL, &by_hand));
  GIVES(TENON_LOAD_FAILED, tenon_load_plugin(failures[0].path, NULL, &by_hand));
  GIVES(TENON_INVALID_ARGUMENT, tenon_load_plugin(NULL, NULL, &by_hand));
  GIVES(TENON_INVALID_ARGUMENT, tenon_load_plugin(argv[1], NULL, NULL));
  const tenon_load_options old = {.size = sizeof old, .release = "1.0"};
  GIVES(TENON_INVALID_ARGUMENT, tenon_load_plugin(argv[1], &old, &by_hand));
  const tenon_load_options contradicted = {.size = sizeof contradicted, .release = "3.0"};
  GIVES(TENON_LOAD_FAILED, tenon_load_plugin(argv[1], &contradicted, &by_hand));

  const tenon_load_options named = {.size = sizeof named, .name = "mine"};
  OK(tenon_load_plugin(argv[1], &named, &by_hand));
  OK(tenon_load_plugin(argv[1], NULL, &plugin));
  CHECK(plugin == by_hand);
  OK(tenon_plugin_count(&count));
  CHECK(count == 3);

  tenon_device device, other;
  OK(tenon_plugin_open_device(by_hand, 1, &device));
  OK(tenon_device_open("required", 1, &other));
  CHECK(device == other);
  GIVES(TENON_NOT_FOUND, tenon_plugin_open_device(by_hand, 2, &other));
  OK(tenon_device_open("required", 0, &other));
  CHECK(device != other);
  OK(tenon_plugin_get_info(by_hand, &info));
  CHECK(strcmp(info.name, "mine") == 0 && info.open_devices == 2);
  GIVES(TENON_BUSY, tenon_unload_plugin(by_hand));

  /* The device that a plugin takes for the current one follows the handles. */
  OK(tenon_synchronize_device(device));
  OK(tenon_get_device(by_hand, &other));
  CHECK(other == device);
  OK(tenon_device_open("required", 0, &other));
  OK(tenon_synchronize_device(other));
  tenon_device current;
  OK(tenon_get_device(by_hand, &current));
  CHECK(current == other);

  /* The plugin's own message. */
  char byte = 0;
  tenon_error error;
  GIVES(TENON_ERROR, tenon_memory_copy_h2d(device, &byte, &byte, 1));
  OK(tenon_error_last(&error));
  CHECK(strcmp(error.plugin, "mine") == 0 && strcmp(error.device, "required:1") == 0);
  CHECK(strcmp(error.plugin_message, "required: the destination is not of this device") == 0);
  GIVES(TENON_UNSUPPORTED, tenon_unified_memory_allocate(device, &(void*){NULL}, 8));
  OK(tenon_error_last(&error));
  CHECK(error.plugin_message == NULL);

  /* Devices of two plugins do not mix. */
  tenon_device of_cpu;
  OK(tenon_device_open(NULL, 0, &of_cpu));
  GIVES(TENON_INVALID_ARGUMENT, tenon_memory_copy_p2p(device, of_cpu, &byte, &byte, 1));

  OK(tenon_device_close(device));
  OK(tenon_device_close(device));
  GIVES(TENON_INVALID_HANDLE, tenon_device_close(device));
  OK(tenon_device_close(other));
  OK(tenon_device_close(other));
  OK(tenon_unload_plugin(by_hand));
  GIVES(TENON_INVALID_HANDLE, tenon_plugin_get_info(by_hand, &info));
  GIVES(TENON_NOT_FOUND, tenon_device_open("required", 0, &device));
  OK(tenon_load_plugin(argv[1], NULL, &by_hand));
  OK(tenon_device_open("required", 0, &device));
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
