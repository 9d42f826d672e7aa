/* Loads a plugin, tests a device of it, and shows which functions it implements and which fallbacks replace others.
 *
 *   cc -std=c11 third_party.c $(pkg-config --cflags --libs tenon) -o third_party && ./third_party PLUGIN.so [RELEASE]
 *
 * RELEASE, such as 3.1, is the release of PaddlePaddle that the plugin was built for. It is needed only if the library
 * reports that it cannot detect the release. ../c-plugin/plugin.c is a plugin to try:
 *
 *   cc -std=c11 -shared -fPIC ../c-plugin/plugin.c $(pkg-config --cflags tenon) -o libc_plugin.so
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

static void require(tenon_status status) {
  if (status != TENON_SUCCESS) {
    fprintf(stderr, "%s\n", tenon_error_text());
    exit(EXIT_FAILURE);
  }
}

/* Fills memory and copies it within the device and back. The library emulates the functions that the plugin lacks. */
static bool works(tenon_device device) {
  enum { SIZE = 1000 };
  unsigned char back[SIZE], expected[SIZE];
  void *filled, *copied;
  tenon_stream stream;
  require(tenon_device_memory_allocate(device, &filled, SIZE));
  require(tenon_device_memory_allocate(device, &copied, SIZE));
  require(tenon_create_stream(device, &stream));

  require(tenon_device_memory_set(device, filled, 42, SIZE));
  require(tenon_async_memory_copy_d2d(device, stream, copied, filled, SIZE));
  require(tenon_async_memory_copy_d2h(device, stream, back, copied, SIZE));
  require(tenon_synchronize_stream(device, stream));

  require(tenon_destroy_stream(device, stream));
  require(tenon_device_memory_deallocate(device, copied, SIZE));
  require(tenon_device_memory_deallocate(device, filled, SIZE));
  memset(expected, 42, SIZE);
  return memcmp(back, expected, SIZE) == 0;
}

static void print_report(tenon_device device) {
  /* The first call returns the length, the second one the text. */
  size_t size = 0;
  require(tenon_device_report_text(device, NULL, &size));
  char* text = malloc(size);
  if (text == NULL) {
    exit(EXIT_FAILURE);
  }
  require(tenon_device_report_text(device, text, &size));
  puts(text);
  free(text);
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: %s PLUGIN.so [RELEASE]\n", argv[0]);
    return EXIT_FAILURE;
  }
  tenon_load_options options = {0};
  options.size = sizeof options;
  options.release = argc > 2 ? argv[2] : NULL;
  tenon_plugin plugin;
  require(tenon_load_plugin(argv[1], &options, &plugin));

  tenon_plugin_info info;
  require(tenon_plugin_get_info(plugin, &info));
  printf("%s has devices of the type `%s`. It is built for release %s: %s.\n", info.name, info.device_type,
         info.release, info.recognition);

  tenon_device device;
  require(tenon_plugin_open_device(plugin, 0, &device));
  const bool right = works(device);
  printf("A copy of a fill %s.\n\n", right ? "comes back as it should" : "comes back as something else");
  print_report(device);

  require(tenon_device_close(device));
  require(tenon_unload_plugin(plugin));
  require(tenon_shutdown());
  return right ? EXIT_SUCCESS : EXIT_FAILURE;
}
