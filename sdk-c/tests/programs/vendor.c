/* Behaviour that a vendor's plugin may have: choose the current device itself, have too many devices, explain
 * itself or not. */
#include <dlfcn.h>

#include "check.h"

enum { MOST = 256 };

int main(int count, char** arguments) {
  CHECK(count == 2);
  tenon_plugin plugin;
  tenon_device first, second, current, devices[MOST], more;
  tenon_error error;
  OK(tenon_load_plugin(arguments[1], NULL, &plugin));
  void* library = dlopen(arguments[1], RTLD_NOW);
  CHECK(library != NULL);
  int (*initialised)(void);
  *(void**)&initialised = dlsym(library, "vendor_initialised");
  CHECK(initialised != NULL);

  /* The plugin makes the second device current, and the library knows. */
  OK(tenon_plugin_open_device(plugin, 0, &first));
  OK(tenon_device_make_current(first));
  OK(tenon_plugin_open_device(plugin, 1, &second));
  OK(tenon_device_make_current(first));
  OK(tenon_get_device(plugin, &current));
  CHECK(current == first);
  OK(tenon_device_close(second));
  OK(tenon_device_make_current(first));
  OK(tenon_get_device(plugin, &current));
  CHECK(current == first);

  /* The words of the plugin, also out of a fallback, and the library's own. */
  char bytes[8];
  GIVES(TENON_ERROR, tenon_memory_copy_h2d(first, bytes, bytes, sizeof bytes));
  OK(tenon_error_last(&error));
  CHECK(strcmp(error.plugin_message, "required: the destination is not of this device") == 0);
  GIVES(TENON_ERROR, tenon_device_memory_set(first, bytes, 1, sizeof bytes));
  OK(tenon_error_last(&error));
  CHECK(strcmp(error.plugin_message, "required: the destination is not of this device") == 0);
  void* memory;
  GIVES(TENON_INTERNAL_ERROR, tenon_pool_allocate(first, (size_t)4 << 20, NULL, &memory));
  OK(tenon_error_last(&error));
  CHECK(strstr(error.message, "address space") != NULL && error.plugin_message == NULL);

  /* One more than can be open is not left initialised. */
  OK(tenon_device_close(first));
  CHECK(initialised() == 0);
  for (int i = 0; i < MOST; ++i) {
    OK(tenon_plugin_open_device(plugin, i, &devices[i]));
  }
  CHECK(initialised() == MOST);
  GIVES(TENON_BUSY, tenon_plugin_open_device(plugin, MOST, &more));
  CHECK(initialised() == MOST);
  OK(tenon_shutdown());
  CHECK(initialised() == 0);
  puts("done");
  return 0;
}
