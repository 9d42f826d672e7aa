/* Copies a string to the device and back.
 *
 *   cc -std=c11 hello.c $(pkg-config --cflags --libs tenon) -o hello && ./hello
 *
 * The README shows this program.
 */
#include <stdio.h>
#include <tenon/tenon.h>

#define CHECK(call)                              \
  if ((call) != TENON_SUCCESS) {                 \
    fprintf(stderr, "%s\n", tenon_error_text()); \
    return 1;                                    \
  }

int main(void) {
  tenon_device device;
  CHECK(tenon_device_open(NULL, 0, &device)); /* NULL: the built-in CPU device */

  const char text[] = "hello from the device";
  char back[sizeof text];
  void* memory;
  CHECK(tenon_device_memory_allocate(device, &memory, sizeof text));
  CHECK(tenon_memory_copy_h2d(device, memory, text, sizeof text));
  CHECK(tenon_memory_copy_d2h(device, back, memory, sizeof text));
  CHECK(tenon_device_memory_deallocate(device, memory, sizeof text));
  puts(back);

  CHECK(tenon_device_close(device));
  CHECK(tenon_shutdown());
  return 0;
}
