/* Objects that are still alive at the end. */
#include "misuse.h"

static void leak_of_device_memory(void) {
  device_memory(64);
}

static void leak_of_pinned_memory(void) {
  pinned_memory(64);
}

static void leak_of_unified_memory(void) {
  unified_memory(64);
}

static void leak_of_a_block(void) {
  pool_block(64, one);
}

static void leak_of_a_buffer(void) {
  char* address;
  buffer_of(64, &address);
}

static void leak_of_an_event(void) {
  new_event();
}

static void leak_of_a_stream(void) {
  two = NULL;
}

static void leak_of_a_graph(void) {
  tenon_graph graph;
  OK(tenon_cuda_stream_begin_capture(device, one, TENON_CAPTURE_MODE_RELAXED));
  OK(tenon_cuda_stream_end_capture(device, one, &graph));
}

static void leak_without_shutdown(void) {
  device_memory(64);
  puts("done");
  exit(0);
}

const struct misuse leak_misuses[] = {
    {"leak_of_device_memory", "does not free device memory", "V040", NULL, leak_of_device_memory},
    {"leak_of_pinned_memory", "does not free pinned memory", "V040", NULL, leak_of_pinned_memory},
    {"leak_of_unified_memory", "does not free unified memory", "V040", NULL, leak_of_unified_memory},
    {"leak_of_a_block", "does not free a block of the pool", "V040", NULL, leak_of_a_block},
    {"leak_of_a_buffer", "does not destroy a buffer", "V040", NULL, leak_of_a_buffer},
    {"leak_of_an_event", "does not destroy an event", "V040", NULL, leak_of_an_event},
    {"leak_of_a_stream", "does not destroy a stream", "V040", NULL, leak_of_a_stream},
    {"leak_of_a_graph", "does not destroy a graph", "V040", NULL, leak_of_a_graph},
    {"leak_without_shutdown", "leaks memory and ends without tenon_shutdown", "V040", NULL, leak_without_shutdown},
    {NULL, NULL, NULL, NULL, NULL},
};
