/* Creates objects until host memory runs out, which is a status, and goes on once some are released. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sys/resource.h>

#include "check.h"

enum { MOST = 1 << 20, SIZE = 256, ROOM = 48 << 20, THREADS = 4 };

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

static pthread_barrier_t begun, ended;

/* Makes an arena of `malloc`, and keeps it until the end. */
static void* use_memory(void* unused) {
  void* memory = malloc(SIZE);
  CHECK(memory != NULL);
  pthread_barrier_wait(&begun);
  pthread_barrier_wait(&ended);
  free(memory);
  return unused;
}

/* Has the device's thread begin, which needs memory of its own. */
static void run_work(void) {
  tenon_stream stream;
  void* memory;
  OK(tenon_create_stream(device, &stream));
  OK(tenon_device_memory_allocate(device, &memory, SIZE));
  OK(tenon_async_memory_fill(device, stream, memory, "x", 1, SIZE));
  OK(tenon_synchronize_stream(device, stream));
  OK(tenon_device_memory_deallocate(device, memory, SIZE));
  OK(tenon_destroy_stream(device, stream));
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
  run_work();
  pthread_t threads[THREADS];
  CHECK(pthread_barrier_init(&begun, NULL, THREADS + 1) == 0);
  CHECK(pthread_barrier_init(&ended, NULL, THREADS + 1) == 0);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_create(&threads[i], NULL, use_memory, NULL) == 0);
  }
  pthread_barrier_wait(&begun);
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
  pthread_barrier_wait(&ended);
  for (int i = 0; i < THREADS; ++i) {
    CHECK(pthread_join(threads[i], NULL) == 0);
  }
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
