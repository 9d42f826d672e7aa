/* Links libtenon, and loads a vendor's library that calls the vendor's own libascendcl.so. */

#include <dlfcn.h>
#include <stdio.h>
#include <tenon/tenon.h>

int main(int count, char** arguments) {
  tenon_device device;
  if (count != 2 || tenon_device_open(NULL, 0, &device) != TENON_SUCCESS) return 1;
  void* library = dlopen(arguments[1], RTLD_NOW);
  if (!library) {
    printf("%s\n", dlerror());
    return 1;
  }
  int (*vendor_count)(void);
  *(void**)&vendor_count = dlsym(library, "vendor_count");
  printf("%d\n", vendor_count());
  return tenon_device_close(device) == TENON_SUCCESS && tenon_shutdown() == TENON_SUCCESS ? 0 : 1;
}
