/*
 * A host in C for the backend: it calls the objects as ggml does.
 *
 * ggml_host LIBRARY
 */

#include <dlfcn.h>
#include <stdio.h>

#include "ggml_objects.h"

int main(int count, char** arguments) {
  void* library = count == 2 ? dlopen(arguments[1], RTLD_NOW) : NULL;
  if (library == NULL) {
    fprintf(stderr, "usage: ggml_host LIBRARY\n");
    return 2;
  }
  ggml_backend_reg* (*init)(void);
  *(void**)&init = dlsym(library, "ggml_backend_init");
  ggml_backend_reg* registry = init();
  printf("%s, version %d, %u device\n", registry->iface.get_name(registry), (int)registry->api_version,
         (unsigned)registry->iface.get_device_count(registry));
  printf("further functions: %s\n", registry->iface.get_proc_address ? "yes" : "no");
  ggml_backend_device* device = registry->iface.get_device(registry, 0);
  printf("the same device: %d, of this registry: %d, another one: %d\n",
         registry->iface.get_device(registry, 0) == device, device->reg == registry,
         registry->iface.get_device(registry, 1) != NULL);
  size_t free_bytes = 0, total = 0;
  device->iface.get_memory(device, &free_bytes, &total);
  ggml_backend_dev_props props;
  device->iface.get_props(device, &props);
  printf("%s: %s, %u of %u MiB, type %d\n", props.name, device->iface.get_description(device),
         (unsigned)(free_bytes >> 20), (unsigned)(total >> 20), (int)props.type);

  ggml_backend_buffer_type* buffers = device->iface.get_buffer_type(device);
  printf("buffers: of this device: %d, allocated: %d, aligned to %u, supported: %d\n", buffers->device == device,
         buffers->iface.alloc_buffer(buffers, 64) != NULL, (unsigned)buffers->iface.get_alignment(buffers),
         device->iface.supports_buft(device, buffers));
  /* It is no type of buffers of this library. */
  printf("foreign buffers are supported: %d\n",
         device->iface.supports_buft(device, (ggml_backend_buffer_type*)(void*)registry));

  printf("backend with options: %d\n", device->iface.init_backend(device, "fast") != NULL);
  ggml_backend* backend = device->iface.init_backend(device, NULL);
  ggml_cgraph* graph = (ggml_cgraph*)(void*)device; /* The backend does not look at it. */
  printf("backend of this device: %d, graphs:", backend->device == device);
  for (int run = 0; run < 3; run++) {
    printf(" %d", (int)backend->iface.graph_compute(backend, graph));
  }
  printf("\n");
  backend->iface.free(backend);
  return 0;
}
