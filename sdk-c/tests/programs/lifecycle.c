/* Opening, closing and ending while other things are going on. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static const char* armed;
static void (*action)(void);
static atomic_int inside, ends, calls;

/* Runs the test action from inside one call to the armed function. */
static tenon_status before(void* user_data, const tenon_call* call, uint64_t* note) {
  (void)user_data;
  (void)note;
  atomic_fetch_add(&calls, 1);
  if (strcmp(call->function, "deinit_device") == 0) {
    atomic_fetch_add(&ends, 1);
  }
  if (armed != NULL && strcmp(call->function, armed) == 0) {
    armed = NULL;
    action();
  }
  return TENON_SUCCESS;
}

static void wait_a_moment(void) {
  nanosleep(&(struct timespec){.tv_nsec = 200 * 1000 * 1000}, NULL);
}

static void begin(void) {
  const tenon_layer layer = {.size = sizeof layer, .name = "meanwhile", .before = before};
  OK(tenon_layer_register(&layer));
}

static void arm(const char* function, void (*body)(void)) {
  action = body;
  armed = function;
}

static void shut_down(void) {
  GIVES(TENON_BUSY, tenon_shutdown());
}

/* A call that names no device is one too. */
static void ends_from_inside(void) {
  size_t count;
  tenon_plugin plugin;
  tenon_plugin_info info;
  begin();
  OK(tenon_plugin_get(0, &plugin));
  OK(tenon_get_device_count(plugin, &count));
  arm("get_device_count", shut_down);
  OK(tenon_get_device_count(plugin, &count));
  CHECK(armed == NULL);
  arm("get_device_count", shut_down);
  OK(tenon_device_count(NULL, &count));
  CHECK(armed == NULL);

  /* The library still runs. */
  OK(tenon_plugin_get_info(plugin, &info));
  const int seen = atomic_load(&calls);
  OK(tenon_get_device_count(plugin, &count));
  CHECK(atomic_load(&calls) == seen + 1);
  OK(tenon_shutdown());
  GIVES(TENON_INVALID_HANDLE, tenon_plugin_get_info(plugin, &info));
}

static void stay(void) {
  atomic_store(&inside, 1);
  wait_a_moment();
  atomic_store(&inside, 0);
}

static void* count_devices(void* plugin) {
  size_t count;
  OK(tenon_get_device_count(plugin, &count));
  return NULL;
}

static void wait_until_inside(void) {
  while (!atomic_load(&inside)) {
  }
}

/* The end waits for a call about a plugin. */
static void ends_beside(void) {
  size_t count;
  tenon_plugin plugin;
  pthread_t thread;
  begin();
  OK(tenon_plugin_get(0, &plugin));
  OK(tenon_get_device_count(plugin, &count));
  arm("get_device_count", stay);
  pthread_create(&thread, NULL, count_devices, plugin);
  wait_until_inside();
  OK(tenon_shutdown());
  CHECK(!atomic_load(&inside));
  pthread_join(thread, NULL);
  GIVES(TENON_INVALID_HANDLE, tenon_get_device_count(plugin, &count));
}

static tenon_device one, other;
static void* memory[2];

static void stay_before_ends(void) {
  atomic_store(&ends, 0);
  stay();
  CHECK(atomic_load(&ends) == 0);
}

static void* copy_between(void* unused) {
  (void)unused;
  OK(tenon_memory_copy_p2p(one, other, memory[0], memory[1], 64));
  return NULL;
}

/* Each device of a call is held, not only the first. */
static void closes_the_second_device(void) {
  pthread_t thread;
  begin();
  OK(tenon_device_open(NULL, 0, &one));
  OK(tenon_device_open(NULL, 1, &other));
  OK(tenon_device_memory_allocate(one, &memory[0], 64));
  OK(tenon_device_memory_allocate(other, &memory[1], 64));
  arm("memory_copy_p2p", stay_before_ends);
  pthread_create(&thread, NULL, copy_between, NULL);
  wait_until_inside();
  OK(tenon_device_close(other));
  CHECK(!atomic_load(&inside));
  pthread_join(thread, NULL);
  OK(tenon_shutdown());
}

static tenon_buffer buffer;

static void make_buffer(void) {
  OK(tenon_buffer_create(one, 64, NULL, &buffer));
}

/* A buffer that is created while the device is being closed keeps it open. */
static void closes_while_a_buffer_is_made(void) {
  void* address;
  begin();
  OK(tenon_device_open(NULL, 0, &one));
  arm("synchronize_device", make_buffer);
  GIVES(TENON_BUSY, tenon_device_close(one));
  OK(tenon_buffer_address(buffer, &address));
  OK(tenon_buffer_destroy(buffer, NULL));
  OK(tenon_device_close(one));

  /* With the library it goes, and its handle too. */
  OK(tenon_device_open(NULL, 0, &one));
  make_buffer();
  OK(tenon_shutdown());
  GIVES(TENON_INVALID_HANDLE, tenon_buffer_address(buffer, &address));
}

static void called_back(tenon_device device, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)stream;
  tenon_plugin plugin;
  tenon_device opened;
  wait_a_moment();
  GIVES(TENON_BUSY, tenon_load_plugin("/nonexistent.so", NULL, &plugin));
  GIVES(TENON_BUSY, tenon_device_open(NULL, 0, &opened));
  GIVES(TENON_BUSY, tenon_device_close(device));
  GIVES(TENON_BUSY, tenon_shutdown());
  *(int*)user_data = 1;
  *status = TENON_SUCCESS;
}

/* Closing waits for a callback, so the callback must not wait for the closing. */
static void closes_beside_a_callback(void) {
  tenon_stream stream;
  int called = 0;
  OK(tenon_device_open(NULL, 0, &one));
  OK(tenon_create_stream(one, &stream));
  OK(tenon_stream_add_callback(one, stream, called_back, &called));
  OK(tenon_device_close(one));
  CHECK(called == 1);
  OK(tenon_shutdown());
}

static pthread_key_t key;

static void late(void* unused) {
  (void)unused;
  OK(tenon_synchronize_device(one));
}

static void* call_late(void* unused) {
  (void)unused;
  CHECK(pthread_setspecific(key, &key) == 0);
  OK(tenon_synchronize_device(one));
  return NULL;
}

static void* has_nothing(void* unused) {
  (void)unused;
  tenon_device current;
  GIVES(TENON_NOT_FOUND, tenon_device_current(&current));
  return NULL;
}

/* A thread that calls at its very end leaves nothing to the next one. */
static void calls_at_the_end_of_a_thread(void) {
  OK(tenon_device_open(NULL, 0, &one));
  CHECK(pthread_key_create(&key, late) == 0);
  for (int i = 0; i < 8; ++i) {
    pthread_t thread;
    pthread_create(&thread, NULL, call_late, NULL);
    pthread_join(thread, NULL);
    pthread_create(&thread, NULL, has_nothing, NULL);
    pthread_join(thread, NULL);
  }
  OK(tenon_shutdown());
}

/* A forked child has no threads of the library. It can still end it, and disturbs its parent in nothing. */
static void ends_in_a_forked_child(void) {
  OK(tenon_device_open(NULL, 0, &one));
  tenon_stream stream;
  OK(tenon_create_stream(one, &stream));
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    OK(tenon_shutdown());
    _exit(0);
  }
  int status;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  OK(tenon_synchronize_stream(one, stream));
  OK(tenon_shutdown());
}

int main(void) {
  /* A wait that never ends is a failure. */
  alarm(60);
  ends_from_inside();
  ends_beside();
  closes_the_second_device();
  closes_while_a_buffer_is_made();
  closes_beside_a_callback();
  calls_at_the_end_of_a_thread();
  ends_in_a_forked_child();
  puts("done");
  return 0;
}
