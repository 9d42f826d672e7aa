/* Five plugins, each compiled against the header of another release of PaddlePaddle, in one process. */
#include <stdio.h>
#include <string.h>
#include <tenon/tenon.h>

#include "check.h"

int main(int argc, char** argv) {
  tenon_device devices[5];
  CHECK(argc == 6);
  for (int i = 0; i < 5; ++i) {
    tenon_plugin plugin;
    OK(tenon_load_plugin(argv[i + 1], NULL, &plugin));
    OK(tenon_plugin_open_device(plugin, 0, &devices[i]));
    tenon_plugin_info info;
    OK(tenon_plugin_get_info(plugin, &info));
    printf("%s is of %s: %s\n", info.device_type, info.release, info.recognition);
  }
  /* Each is called by its own table, while all are open. */
  for (int i = 0; i < 5; ++i) {
    tenon_device_info info;
    OK(tenon_device_get_info(devices[i], &info));
    int release = 0;
    CHECK(sscanf(info.type, "device_%d", &release) == 1);

    /* Until 3.0 the function is called without a device; the size of an id moved from release to release. */
    size_t version = 0, id_size = 0;
    OK(tenon_get_runtime_version(devices[i], &version));
    CHECK(version == (size_t)release * 100);
    OK(tenon_xccl_get_unique_id_size(info.plugin, &id_size));
    CHECK(id_size == (size_t)release);

    char text[] = "tenon", back[sizeof text] = "";
    void* memory;
    OK(tenon_device_memory_allocate(devices[i], &memory, sizeof text));
    OK(tenon_memory_copy_h2d(devices[i], memory, text, sizeof text));
    OK(tenon_device_memory_set(devices[i], memory, 'T', 1));
    OK(tenon_memory_copy_d2h(devices[i], back, memory, sizeof text));
    OK(tenon_device_memory_deallocate(devices[i], memory, sizeof text));
    CHECK(strcmp(back, "Tenon") == 0);
  }
  for (int i = 0; i < 5; ++i) {
    OK(tenon_device_close(devices[i]));
  }
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
