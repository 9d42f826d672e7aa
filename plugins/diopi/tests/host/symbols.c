// Finds the device functions of a library by their symbols, as hosts of the current form do.

#include <dlfcn.h>

#include "host.h"

static const char* missing;

static void* find(void* library, const char* name) {
  void* symbol = dlsym(library, name);
  if (symbol == NULL && missing == NULL) missing = name;
  return symbol;
}

const char* host_open(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  if (library == NULL) return dlerror();
  missing = NULL;
  *(void**)&host_device.create_stream = find(library, "device_make_stream");
  *(void**)&host_device.destroy_stream = find(library, "device_destroy_stream");
  *(void**)&host_device.synchronize_stream = find(library, "device_synchronize_stream");
  *(void**)&host_device.malloc = find(library, "device_malloc");
  *(void**)&host_device.free = find(library, "device_free");
  *(void**)&host_device.copy_to_device = find(library, "device_memcpy_h2d_async");
  *(void**)&host_device.copy_to_host = find(library, "device_memcpy_d2h_async");
  *(void**)&host_device.copy_on_device = find(library, "device_memcpy_d2d_async");
  *(void**)&host_device.last_error = find(library, "diopiGetLastErrorString");
  diopiError_t (*initialize)(void) = NULL;
  *(void**)&initialize = find(library, "initLibrary");
  if (missing != NULL) return missing;
  return initialize() == diopiSuccess ? NULL : host_device.last_error();
}
