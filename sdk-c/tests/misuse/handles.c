/* Handles that are stale, null, of another kind or of another device. */
#include "misuse.h"

static void stream_after_destroy(void) {
  tenon_stream stream = two;
  two = NULL;
  OK(tenon_destroy_stream(device, stream));
  TRY(tenon_synchronize_stream(device, stream));
}

static void stream_destroyed_twice(void) {
  tenon_stream stream = two;
  two = NULL;
  OK(tenon_destroy_stream(device, stream));
  TRY(tenon_destroy_stream(device, stream));
}

static void event_after_destroy(void) {
  tenon_event event = new_event();
  OK(tenon_destroy_event(device, event));
  TRY(tenon_record_event(device, one, event));
}

static void event_destroyed_twice(void) {
  tenon_event event = new_event();
  OK(tenon_destroy_event(device, event));
  TRY(tenon_destroy_event(device, event));
}

static void null_event(void) {
  TRY(tenon_record_event(device, one, NULL));
}

static void null_callback(void) {
  TRY(tenon_stream_add_callback(device, one, NULL, NULL));
}

static void stream_of_other_device(void) {
  tenon_stream stream;
  OK(tenon_create_stream(other, &stream));
  TRY(tenon_async_memory_copy_d2d(device, stream, device_memory(8), device_memory(8), 8));
}

static void event_of_other_device(void) {
  tenon_event event;
  OK(tenon_create_event(other, &event));
  TRY(tenon_record_event(device, one, event));
}

static void event_as_stream(void) {
  TRY(tenon_synchronize_stream(device, (tenon_stream)new_event()));
}

static void handle_never_made(void) {
  TRY(tenon_synchronize_stream(device, (tenon_stream)(uintptr_t)0x1234));
}

static void unknown_enum_value(void) {
  TRY(tenon_cuda_stream_begin_capture(device, one, (tenon_capture_mode)7));
}

static void graph_destroyed_twice(void) {
  tenon_plugin plugin;
  tenon_graph graph;
  OK(tenon_plugin_find("cpu", &plugin));
  OK(tenon_cuda_stream_begin_capture(device, one, TENON_CAPTURE_MODE_RELAXED));
  OK(tenon_cuda_stream_end_capture(device, one, &graph));
  OK(tenon_cuda_graph_destroy(plugin, graph));
  TRY(tenon_cuda_graph_destroy(plugin, graph));
}

static void device_after_close(void) {
  OK(tenon_device_close(other));
  TRY(tenon_synchronize_device(other));
}

static void device_closed_twice(void) {
  OK(tenon_device_close(other));
  TRY(tenon_device_close(other));
}

static void device_closed_with_buffer(void) {
  tenon_buffer buffer;
  OK(tenon_buffer_create(other, 64, NULL, &buffer));
  TRY(tenon_device_close(other));
}

static void buffer_as_device(void) {
  char* address;
  TRY(tenon_synchronize_device((tenon_device)buffer_of(64, &address)));
}

static void null_device(void) {
  TRY(tenon_synchronize_device((tenon_device)0));
}

static void device_that_is_not_there(void) {
  tenon_device none;
  TRY(tenon_device_open("cpu", 9, &none));
}

static void shutdown_from(tenon_device gated, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)gated;
  (void)stream;
  (void)user_data;
  TRY(tenon_shutdown());
  *status = TENON_SUCCESS;
}

static void shutdown_from_a_callback(void) {
  OK(tenon_stream_add_callback(device, one, shutdown_from, NULL));
  OK(tenon_synchronize_stream(device, one));
}

const struct misuse handle_misuses[] = {
    {"stream_after_destroy", "waits for a stream after it was destroyed", "V011", NULL, stream_after_destroy},
    {"stream_destroyed_twice", "destroys a stream twice", "V012", NULL, stream_destroyed_twice},
    {"event_after_destroy", "records an event after it was destroyed", "V011", NULL, event_after_destroy},
    {"event_destroyed_twice", "destroys an event twice", "V012", NULL, event_destroyed_twice},
    {"null_event", "records a null event", "TENON_INVALID_ARGUMENT", NULL, null_event},
    {"null_callback", "queues a null callback", "TENON_INVALID_ARGUMENT", NULL, null_callback},
    {"stream_of_other_device", "copies on a stream of another device", "V013", NULL, stream_of_other_device},
    {"event_of_other_device", "records an event of another device", "V013", NULL, event_of_other_device},
    {"event_as_stream", "passes an event for a stream", "V015", NULL, event_as_stream},
    {"handle_never_made", "passes a number for a stream", "V010", NULL, handle_never_made},
    {"unknown_enum_value", "passes a value that the enum does not have", "V003", NULL, unknown_enum_value},
    {"graph_destroyed_twice", "destroys a graph twice", "V012", NULL, graph_destroyed_twice},
    {"device_after_close", "uses a device after it was closed", "TENON_INVALID_HANDLE", NULL, device_after_close},
    {"device_closed_twice", "closes a device twice", "TENON_INVALID_HANDLE", NULL, device_closed_twice},
    {"device_closed_with_buffer", "closes a device with a live buffer", "TENON_BUSY", NULL, device_closed_with_buffer},
    {"buffer_as_device", "passes a buffer for a device", "TENON_INVALID_HANDLE", NULL, buffer_as_device},
    {"null_device", "passes a null device", "TENON_INVALID_HANDLE", NULL, null_device},
    {"device_that_is_not_there", "opens a device that does not exist", "TENON_NOT_FOUND", NULL,
     device_that_is_not_there},
    {"shutdown_from_a_callback", "shuts down from a callback of a stream", "TENON_BUSY", NULL,
     shutdown_from_a_callback},
    {NULL, NULL, NULL, NULL, NULL},
};
