// A program that copies some data to a device and parts of it back: the last part has an odd length.

#include <stdio.h>
#include <string.h>

#include <tenon/tenon.h>

#define CHECK(call)                              \
  if ((call) != TENON_SUCCESS) {                 \
    fprintf(stderr, "%s\n", tenon_error_text()); \
    return 1;                                    \
  }

int main(int argc, char** argv) {
  tenon_plugin plugin;
  tenon_device device;
  tenon_stream stream;
  char text[] = "some data", back[sizeof text];
  void* memory;
  if (argc != 2) return 2;
  CHECK(tenon_load_plugin(argv[1], NULL, &plugin));
  CHECK(tenon_plugin_open_device(plugin, 0, &device));
  CHECK(tenon_create_stream(device, &stream));
  CHECK(tenon_device_memory_allocate(device, &memory, sizeof text));
  for (size_t size = sizeof text; size > 6; size -= size > 8 ? 2 : 1) {
    CHECK(tenon_memory_copy_h2d(device, memory, text, sizeof text));
    CHECK(tenon_async_memory_copy_d2h(device, stream, back, memory, size));
    CHECK(tenon_synchronize_stream(device, stream));
    if (memcmp(back, text, size) != 0) return 3;
  }
  CHECK(tenon_shutdown());
  puts("done");
  return 0;
}
