/* Creates objects until host memory runs out, which is a status, and goes on once some are released. */
#include <sys/resource.h>

#include "check.h"

enum { MOST = 1 << 20, SIZE = 256, ROOM = 48 << 20 };

static tenon_device device;
static void* objects[MOST];

static tenon_status create(const char* kind, void** object) {
  if (strcmp(kind, "events") == 0) {
    return tenon_create_event(device, (tenon_event*)object);
  }
  if (strcmp(kind, "streams") == 0) {
    return tenon_create_stream(device, (tenon_stream*)object);
  }
  if (strcmp(kind, "memory") == 0) {
    return tenon_device_memory_allocate(device, object, SIZE);
  }
  if (strcmp(kind, "blocks") == 0) {
    return tenon_pool_allocate(device, SIZE, NULL, object);
  }
  CHECK(strcmp(kind, "buffers") == 0);
  return tenon_buffer_create(device, SIZE, NULL, (tenon_buffer*)object);
}

static tenon_status release(const char* kind, void* object) {
  if (strcmp(kind, "events") == 0) {
    return tenon_destroy_event(device, object);
  }
  if (strcmp(kind, "streams") == 0) {
    return tenon_destroy_stream(device, object);
  }
  if (strcmp(kind, "memory") == 0) {
    return tenon_device_memory_deallocate(device, object, SIZE);
  }
  if (strcmp(kind, "blocks") == 0) {
    return tenon_pool_free(device, object, NULL);
  }
  return tenon_buffer_destroy((tenon_buffer)object, NULL);
}

/* The address space that the process has now. */
static size_t used(void) {
  size_t pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%zu", &pages) == 1);
  fclose(file);
  return pages * 4096;
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  OK(tenon_device_open(NULL, 0, &device));
  void* object;
  OK(create(arguments[1], &object));
  OK(release(arguments[1], object));
  struct rlimit before;
  CHECK(getrlimit(RLIMIT_AS, &before) == 0);
  const rlim_t most = used() + ROOM;
  CHECK(setrlimit(RLIMIT_AS, &(struct rlimit){most, before.rlim_max}) == 0);
  int created = 0;
  tenon_status status = TENON_SUCCESS;
  while (created < MOST && (status = create(arguments[1], &objects[created])) == TENON_SUCCESS) {
    ++created;
  }
  fprintf(stderr, "%d created\n", created);
  CHECK(created > 1000 && created < MOST);
  GIVES(TENON_OUT_OF_MEMORY, status);
  /* The lists of free blocks may need memory of their own. */
  CHECK(setrlimit(RLIMIT_AS, &before) == 0);
  for (int last = created; created > last / 2;) {
    OK(release(arguments[1], objects[--created]));
  }
  OK(create(arguments[1], &object));
  OK(release(arguments[1], object));
  while (created > 0) {
    OK(release(arguments[1], objects[--created]));
  }
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
