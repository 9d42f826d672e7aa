/* Programs that keep every rule in a way that a checker may get wrong. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "misuse.h"

enum { SIZE = 256, ROUNDS = 20 };

/* One stream fills two buffers in turn, another one drains them. */
static void double_buffer(void) {
  char *source = device_memory(SIZE), *result = device_memory(SIZE), *halves[2];
  tenon_event filled[2], drained[2];
  for (int half = 0; half < 2; ++half) {
    halves[half] = device_memory(SIZE);
    filled[half] = new_event();
    drained[half] = new_event();
  }
  for (int round = 0; round < ROUNDS; ++round) {
    int half = round % 2;
    OK(tenon_stream_wait_event(device, one, drained[half]));
    OK(tenon_async_memory_copy_d2d(device, one, halves[half], source, SIZE));
    OK(tenon_record_event(device, one, filled[half]));
    OK(tenon_stream_wait_event(device, two, filled[half]));
    OK(tenon_async_memory_copy_d2d(device, two, result, halves[half], SIZE));
    OK(tenon_record_event(device, two, drained[half]));
  }
  OK(tenon_synchronize_stream(device, two));
  for (int half = 0; half < 2; ++half) {
    OK(tenon_device_memory_deallocate(device, halves[half], SIZE));
    OK(tenon_destroy_event(device, filled[half]));
    OK(tenon_destroy_event(device, drained[half]));
  }
  OK(tenon_device_memory_deallocate(device, source, SIZE));
  OK(tenon_device_memory_deallocate(device, result, SIZE));
}

/* One stream works ahead, many follow, and one joins them. */
static void fork_and_join(void) {
  enum { BRANCHES = 24 };
  char *memory = device_memory(BRANCHES * SIZE), *source = device_memory(SIZE);
  tenon_event ready = new_event(), done = new_event();
  OK(tenon_async_memory_copy_d2d(device, one, memory, source, SIZE));
  OK(tenon_record_event(device, one, ready));
  for (int branch = 1; branch < BRANCHES; ++branch) {
    tenon_stream stream;
    OK(tenon_create_stream(device, &stream));
    OK(tenon_stream_wait_event(device, stream, ready));
    OK(tenon_async_memory_copy_d2d(device, stream, memory + branch * SIZE, memory, SIZE));
    OK(tenon_record_event(device, stream, done));
    OK(tenon_stream_wait_event(device, two, done));
    /* Its work goes on, and the order that it gives stays. */
    OK(tenon_synchronize_stream(device, stream));
    OK(tenon_destroy_stream(device, stream));
  }
  OK(tenon_async_memory_copy_d2d(device, two, source, memory + SIZE, SIZE));
  OK(tenon_async_memory_copy_d2d(device, two, memory, source, SIZE));
  OK(tenon_synchronize_stream(device, two));
  OK(tenon_destroy_event(device, ready));
  OK(tenon_destroy_event(device, done));
  OK(tenon_device_memory_deallocate(device, memory, BRANCHES * SIZE));
  OK(tenon_device_memory_deallocate(device, source, SIZE));
}

/* The order goes through a third stream, and its event was destroyed meanwhile. */
static void order_through_a_third_stream(void) {
  char *a = device_memory(SIZE), *b = device_memory(SIZE), *c = device_memory(SIZE);
  tenon_stream between;
  OK(tenon_create_stream(device, &between));
  tenon_event first = new_event(), second = new_event();
  OK(tenon_async_memory_copy_d2d(device, one, b, a, SIZE));
  OK(tenon_record_event(device, one, first));
  OK(tenon_stream_wait_event(device, between, first));
  OK(tenon_destroy_event(device, first));
  OK(tenon_record_event(device, between, second));
  OK(tenon_stream_wait_event(device, two, second));
  OK(tenon_async_memory_copy_d2d(device, two, c, b, SIZE));
  OK(tenon_synchronize_stream(device, two));
  OK(tenon_destroy_event(device, second));
  OK(tenon_destroy_stream(device, between));
  OK(tenon_device_memory_deallocate(device, a, SIZE));
  OK(tenon_device_memory_deallocate(device, b, SIZE));
  OK(tenon_device_memory_deallocate(device, c, SIZE));
}

/* Two streams work on two halves of one allocation, and both read a third part. */
static void halves_of_one_allocation(void) {
  char* memory = device_memory(3 * SIZE);
  for (int round = 0; round < ROUNDS; ++round) {
    OK(tenon_async_memory_copy_d2d(device, one, memory, memory + 2 * SIZE, SIZE));
    OK(tenon_async_memory_copy_d2d(device, two, memory + SIZE, memory + 2 * SIZE, SIZE));
  }
  OK(tenon_synchronize_device(device));
  OK(tenon_device_memory_deallocate(device, memory, 3 * SIZE));
}

/* The host polls, and goes on with the other stream. */
static void host_that_polls(void) {
  char *a = device_memory(SIZE), *b = device_memory(SIZE), bytes[SIZE];
  tenon_event event = new_event();
  for (int round = 0; round < ROUNDS; ++round) {
    bool done = false;
    OK(tenon_async_memory_copy_d2d(device, one, b, a, SIZE));
    OK(tenon_record_event(device, one, event));
    while (!done) {
      OK(tenon_query_event(device, event, &done));
    }
    OK(tenon_async_memory_copy_d2d(device, two, a, b, SIZE));
    for (done = false; !done;) {
      OK(tenon_query_stream(device, two, &done));
    }
    OK(tenon_memory_copy_d2h(device, bytes, a, SIZE));
    OK(tenon_device_memory_set(device, a, 1, SIZE));
  }
  OK(tenon_destroy_event(device, event));
  OK(tenon_device_memory_deallocate(device, a, SIZE));
  OK(tenon_device_memory_deallocate(device, b, SIZE));
}

static sem_t called;

static void call(tenon_device gated, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)gated;
  (void)stream;
  (void)user_data;
  *status = sem_post(&called) == 0 ? TENON_SUCCESS : TENON_FAILED;
}

/* A callback tells the host that the work is done, although more is queued behind it. */
static void order_by_a_callback(void) {
  char *a = device_memory(SIZE), *b = device_memory(SIZE), *c = device_memory(SIZE);
  CHECK(sem_init(&called, 0, 0) == 0);
  OK(tenon_async_memory_copy_d2d(device, one, b, a, SIZE));
  OK(tenon_stream_add_callback(device, one, call, NULL));
  hold(one);
  CHECK(sem_wait(&called) == 0);
  OK(tenon_async_memory_copy_d2d(device, two, c, b, SIZE));
  OK(tenon_synchronize_stream(device, two));
  OK(tenon_device_memory_deallocate(device, b, SIZE));
  let_go();
  OK(tenon_synchronize_stream(device, one));
  OK(tenon_device_memory_deallocate(device, a, SIZE));
  OK(tenon_device_memory_deallocate(device, c, SIZE));
}

/* A block of the pool is used, freed and taken again on two streams. */
static void blocks_taken_again(void) {
  char* source = device_memory(SIZE);
  for (int round = 0; round < ROUNDS; ++round) {
    tenon_stream stream = round % 2 == 0 ? one : two;
    char* block = pool_block(SIZE, stream);
    OK(tenon_async_memory_copy_d2d(device, stream, block, source, SIZE));
    OK(tenon_pool_free(device, block, stream));
    char* address;
    tenon_buffer buffer = buffer_of(SIZE, &address);
    OK(tenon_async_memory_copy_d2d(device, one, address, source, SIZE));
    OK(tenon_buffer_destroy(buffer, one));
  }
  OK(tenon_synchronize_device(device));
  OK(tenon_device_memory_deallocate(device, source, SIZE));
}

static void* work(void* unused) {
  (void)unused;
  tenon_stream stream;
  OK(tenon_create_stream(device, &stream));
  tenon_event event = new_event();
  char bytes[SIZE] = {0}, *memory = device_memory(SIZE), *pinned = pinned_memory(SIZE);
  for (int round = 0; round < ROUNDS; ++round) {
    char* block = pool_block(SIZE, stream);
    OK(tenon_async_memory_copy_h2d(device, stream, memory, pinned, SIZE));
    OK(tenon_async_memory_copy_d2d(device, stream, block, memory, SIZE));
    OK(tenon_async_memory_copy_d2h(device, stream, pinned, block, SIZE));
    OK(tenon_record_event(device, stream, event));
    OK(tenon_pool_free(device, block, stream));
    OK(tenon_synchronize_event(device, event));
    OK(tenon_memory_copy_d2h(device, bytes, memory, SIZE));
  }
  OK(tenon_device_memory_deallocate(device, memory, SIZE));
  OK(tenon_host_memory_deallocate(device, pinned, SIZE));
  OK(tenon_destroy_event(device, event));
  OK(tenon_destroy_stream(device, stream));
  return NULL;
}

static void several_threads(void) {
  pthread_t threads[4];
  for (int thread = 0; thread < 4; ++thread) {
    CHECK(pthread_create(&threads[thread], NULL, work, NULL) == 0);
  }
  for (int thread = 0; thread < 4; ++thread) {
    CHECK(pthread_join(threads[thread], NULL) == 0);
  }
}

/* A forked child ends by exit, and has nothing to release. */
static void forked_child(void) {
  char* memory = device_memory(SIZE);
  pid_t child = fork();
  if (child == 0) {
    exit(0);
  }
  CHECK(child > 0 && waitpid(child, NULL, 0) == child);
  OK(tenon_device_memory_deallocate(device, memory, SIZE));
}

/* A captured graph is launched; its work is queued by the launch alone. */
static void captured_work(void) {
  tenon_plugin plugin;
  tenon_graph graph;
  tenon_graph_exec exec;
  char *a = device_memory(SIZE), *b = device_memory(SIZE);
  OK(tenon_plugin_find("cpu", &plugin));
  OK(tenon_cuda_stream_begin_capture(device, one, TENON_CAPTURE_MODE_RELAXED));
  OK(tenon_async_memory_copy_d2d(device, one, b, a, SIZE));
  OK(tenon_cuda_stream_end_capture(device, one, &graph));
  OK(tenon_cuda_graph_instantiate(plugin, &exec, &graph, NULL, NULL, 0));
  OK(tenon_async_memory_copy_d2d(device, two, b, a, SIZE));
  OK(tenon_synchronize_stream(device, two));
  OK(tenon_cuda_graph_launch(device, exec, one));
  OK(tenon_synchronize_stream(device, one));
  OK(tenon_cuda_graph_exec_destroy(plugin, exec));
  OK(tenon_cuda_graph_destroy(plugin, graph));
  OK(tenon_device_memory_deallocate(device, a, SIZE));
  OK(tenon_device_memory_deallocate(device, b, SIZE));
}

const struct misuse correct_programs[] = {
    {"double_buffer", "none", "", NULL, double_buffer},
    {"fork_and_join", "none", "", NULL, fork_and_join},
    {"order_through_a_third_stream", "none", "", NULL, order_through_a_third_stream},
    {"halves_of_one_allocation", "none", "", NULL, halves_of_one_allocation},
    {"host_that_polls", "none", "", NULL, host_that_polls},
    {"order_by_a_callback", "none", "", NULL, order_by_a_callback},
    {"blocks_taken_again", "none", "", NULL, blocks_taken_again},
    {"several_threads", "none", "", NULL, several_threads},
    {"forked_child", "none", "", NULL, forked_child},
    {"captured_work", "none", "", NULL, captured_work},
    {NULL, NULL, NULL, NULL, NULL},
};
