// Gets the device functions from the library, which registers them, as with hosts of the older form.

#include <dlfcn.h>

#include "host.h"

diopiError_t diopiRegisterStreamCreateFunc(create_stream_func_t f) {
  host_device.create_stream = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterStreamDestroyFunc(destroy_stream_func_t f) {
  host_device.destroy_stream = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterSynchronizeStreamFunc(sync_stream_func_t f) {
  host_device.synchronize_stream = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterDeviceMallocFunc(malloc_func_t f) {
  host_device.malloc = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterDevMemFreeFunc(free_func_t f) {
  host_device.free = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterMemcpyH2DAsyncFunc(memcpy_h2d_async_func_t f) {
  host_device.copy_to_device = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterMemcpyD2HAsyncFunc(memcpy_d2h_async_func_t f) {
  host_device.copy_to_host = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterMemcpyD2DAsyncFunc(memcpy_d2d_async_func_t f) {
  host_device.copy_on_device = f;
  return diopiSuccess;
}

diopiError_t diopiRegisterGetLastErrorFunc(get_last_error_string_func_t f) {
  host_device.last_error = f;
  return diopiSuccess;
}

const char* host_open(const char* path) {
  void* library = dlopen(path, RTLD_NOW);
  if (library == NULL) return dlerror();
  diopiError_t (*initialize)(void) = NULL;
  *(void**)&initialize = dlsym(library, "initLibrary");
  if (initialize == NULL) return "initLibrary";
  if (initialize() != diopiSuccess) return host_device.last_error ? host_device.last_error() : "initLibrary failed";
  const bool has_all = host_device.create_stream && host_device.destroy_stream && host_device.synchronize_stream &&
                       host_device.malloc && host_device.free && host_device.copy_to_device &&
                       host_device.copy_to_host && host_device.copy_on_device && host_device.last_error;
  return has_all ? NULL : "a function was not registered";
}
