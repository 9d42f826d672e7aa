// Device memory of tensors.

#include "host.h"

#include <stddef.h>

// Freed device memory that waits for tensors of the same size.
enum { MOST_KEPT = 64 };
static struct {
  void* data;
  uint64_t bytes;
} kept_memory[MOST_KEPT];
static int kept_count;
static bool keeps_memory;

void host_keep_memory(void) { keeps_memory = true; }

void* host_allocate(uint64_t bytes) {
  for (int i = 0; i < kept_count; i++) {
    if (kept_memory[i].bytes == bytes) {
      void* data = kept_memory[i].data;
      kept_memory[i] = kept_memory[--kept_count];
      return data;
    }
  }
  return host_device.malloc(bytes);
}

void host_free(void* data, uint64_t bytes) {
  if (keeps_memory && data != NULL && kept_count < MOST_KEPT) {
    kept_memory[kept_count].data = data;
    kept_memory[kept_count++].bytes = bytes;
  } else {
    host_device.free(data);
  }
}
