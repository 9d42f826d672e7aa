/* Many threads on one device while it is closed and opened again, and while the library ends. */
#include <pthread.h>
#include <stdatomic.h>

#include "check.h"

enum { THREADS = 4, ROUNDS = 200 };

static _Atomic(uintptr_t) open_device;
static atomic_int stop;
static atomic_long worked, refused;

static void* work(void* unused) {
  (void)unused;
  char there[64] = "bytes", back[64];
  while (!atomic_load(&stop)) {
    tenon_device device = (tenon_device)atomic_load(&open_device);
    void* memory;
    tenon_status status = tenon_device_memory_allocate(device, &memory, sizeof there);
    if (status == TENON_SUCCESS) {
      status = tenon_memory_copy_h2d(device, memory, there, sizeof there);
    }
    if (status == TENON_SUCCESS) {
      status = tenon_memory_copy_d2h(device, back, memory, sizeof back);
    }
    if (status == TENON_SUCCESS) {
      status = tenon_device_memory_deallocate(device, memory, sizeof there);
    }
    if (status == TENON_SUCCESS) {
      CHECK(strcmp(back, there) == 0);
      atomic_fetch_add(&worked, 1);
    } else {
      /* The device was closed, or is another one with the same number, which does not know the memory. */
      CHECK(status == TENON_INVALID_HANDLE || status == TENON_ERROR);
      atomic_fetch_add(&refused, 1);
    }
  }
  return NULL;
}

int main(void) {
  pthread_t threads[THREADS];
  tenon_device device;
  OK(tenon_device_open(NULL, 0, &device));
  atomic_store(&open_device, (uintptr_t)device);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, work, NULL) == 0);
  }
  for (int round = 0; round < ROUNDS; ++round) {
    if (round % 10 == 9) {
      OK(tenon_shutdown());
    } else {
      OK(tenon_device_close(device));
    }
    OK(tenon_device_open(NULL, 0, &device));
    atomic_store(&open_device, (uintptr_t)device);
    /* So many that one of them has begun after this. */
    const long before = atomic_load(&worked) + THREADS;
    while (atomic_load(&worked) <= before) {
    }
  }
  atomic_store(&stop, 1);
  for (int i = 0; i < THREADS; ++i) {
    pthread_join(threads[i], NULL);
  }
  CHECK(atomic_load(&worked) >= ROUNDS && atomic_load(&refused) > 0);

  /* Calls of threads that have ended still count. */
  size_t count = 0;
  OK(tenon_device_report(device, NULL, &count));
  tenon_report_entry* entries = calloc(count, sizeof *entries);
  OK(tenon_device_report(device, entries, &count));
  uint64_t copies = 0;
  for (size_t i = 0; i < count; ++i) {
    copies += strcmp(entries[i].function, "memory_copy_h2d") == 0 ? entries[i].calls : 0;
  }
  CHECK(copies > 0);
  free(entries);
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
