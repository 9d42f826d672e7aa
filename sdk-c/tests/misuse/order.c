/* Work, memory and events in the wrong order. */
#include "misuse.h"

static void freed_in_flight(void) {
  char *to = device_memory(64), *from = device_memory(64);
  hold(one);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  TRY(tenon_device_memory_deallocate(device, to, 64));
  let_go();
  OK(tenon_synchronize_stream(device, one));
}

static void pinned_freed_in_flight(void) {
  char *to = pinned_memory(64), *from = device_memory(64);
  hold(one);
  OK(tenon_async_memory_copy_d2h(device, one, to, from, 64));
  TRY(tenon_host_memory_deallocate(device, to, 64));
  let_go();
  OK(tenon_synchronize_stream(device, one));
}

static void pool_free_on_other_stream(void) {
  char *to = pool_block(64, one), *from = pool_block(64, one);
  hold(one);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  TRY(tenon_pool_free(device, to, two));
  let_go();
  OK(tenon_synchronize_stream(device, one));
}

static void buffer_destroy_on_other_stream(void) {
  char *to, *from = device_memory(64);
  tenon_buffer buffer = buffer_of(64, &to);
  hold(one);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  TRY(tenon_buffer_destroy(buffer, two));
  let_go();
  OK(tenon_synchronize_stream(device, one));
}

static void destroyed_in_flight(void) {
  tenon_stream stream = two;
  two = NULL;
  hold(stream);
  destroys_held_stream = true;
  TRY(tenon_destroy_stream(device, stream));
}

static void event_never_recorded(void) {
  tenon_event event = new_event();
  OK(tenon_stream_wait_event(device, one, event));
  OK(tenon_destroy_event(device, event));
}

static void query_never_recorded(void) {
  tenon_event event = new_event();
  bool done;
  OK(tenon_query_event(device, event, &done));
  OK(tenon_destroy_event(device, event));
}

static void wait_before_record(void) {
  tenon_event event = new_event();
  char *to = device_memory(64), *from = device_memory(64);
  hold(one);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  OK(tenon_stream_wait_event(device, two, event));
  OK(tenon_record_event(device, one, event));
  let_go();
  OK(tenon_synchronize_stream(device, one));
  OK(tenon_destroy_event(device, event));
}

static void two_writers(void) {
  char *to = device_memory(64), *from = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  OK(tenon_async_memory_copy_d2d(device, two, to, from, 64));
}

static void reader_beside_writer(void) {
  char *a = device_memory(64), *b = device_memory(64), *c = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, b, a, 64));
  OK(tenon_async_memory_copy_d2d(device, two, c, b, 64));
}

static void writer_beside_reader(void) {
  char *a = device_memory(64), *b = device_memory(64), *c = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, b, a, 64));
  OK(tenon_async_memory_copy_d2d(device, two, a, c, 64));
}

static void wait_for_an_earlier_record(void) {
  char *a = device_memory(64), *b = device_memory(64), *c = device_memory(64);
  tenon_event event = new_event();
  OK(tenon_record_event(device, one, event));
  OK(tenon_async_memory_copy_d2d(device, one, b, a, 64));
  OK(tenon_stream_wait_event(device, two, event));
  OK(tenon_async_memory_copy_d2d(device, two, c, b, 64));
  OK(tenon_destroy_event(device, event));
}

static void read_before_synchronise(void) {
  char bytes[64], *to = device_memory(64), *from = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  TRY(tenon_memory_copy_d2h(device, bytes, to, 64));
}

static void fill_before_synchronise(void) {
  char *to = device_memory(64), *from = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  TRY(tenon_device_memory_set(device, from, 0, 64));
}

static void wait_for_the_wrong_stream(void) {
  char bytes[64], *to = device_memory(64), *from = device_memory(64);
  OK(tenon_async_memory_copy_d2d(device, one, to, from, 64));
  OK(tenon_synchronize_stream(device, two));
  TRY(tenon_memory_copy_d2h(device, bytes, to, 64));
}

static void pinned_memory_of_two_streams(void) {
  char *to = device_memory(64), *from = device_memory(64), *pinned = pinned_memory(64);
  OK(tenon_async_memory_copy_d2h(device, one, pinned, from, 64));
  OK(tenon_async_memory_copy_h2d(device, two, to, pinned, 64));
}

static void host_reads_too_early(void) {
  char *from = device_memory(64), *pinned = pinned_memory(64);
  OK(tenon_async_memory_copy_d2h(device, one, pinned, from, 64));
  volatile char early = pinned[0];
  (void)early;
}

static void host_writes_too_early(void) {
  char *to = device_memory(64), *pinned = pinned_memory(64);
  OK(tenon_async_memory_copy_h2d(device, one, to, pinned, 64));
  memset(pinned, 1, 64);
}

const struct misuse order_misuses[] = {
    {"freed_in_flight", "frees memory that queued work uses", "V031", NULL, freed_in_flight},
    {"pinned_freed_in_flight", "frees pinned memory that queued work uses", "V031", NULL, pinned_freed_in_flight},
    {"pool_free_on_other_stream", "frees a block on another stream than that of its work", "V031", NULL,
     pool_free_on_other_stream},
    {"buffer_destroy_on_other_stream", "destroys a buffer on another stream than that of its work", "V031", NULL,
     buffer_destroy_on_other_stream},
    {"destroyed_in_flight", "destroys a stream with queued work", "V032", NULL, destroyed_in_flight},
    {"event_never_recorded", "waits for an event that is never recorded", "V030", NULL, event_never_recorded},
    {"query_never_recorded", "queries an event that is never recorded", "V030", NULL, query_never_recorded},
    {"wait_before_record", "waits for an event before its record", "V030", NULL, wait_before_record},
    {"two_writers", "writes the same memory on two streams without an event", "V033", NULL, two_writers},
    {"reader_beside_writer", "reads on one stream what another one writes", "V033", NULL, reader_beside_writer},
    {"writer_beside_reader", "writes on one stream what another one reads", "V033", NULL, writer_beside_reader},
    {"wait_for_an_earlier_record", "records the event before the work instead of after it", "V033", NULL,
     wait_for_an_earlier_record},
    {"read_before_synchronise", "copies a result to the host before it waits", "V033", NULL, read_before_synchronise},
    {"fill_before_synchronise", "fills memory that queued work reads", "V033", NULL, fill_before_synchronise},
    {"wait_for_the_wrong_stream", "waits for another stream before it copies the result", "V033", NULL,
     wait_for_the_wrong_stream},
    {"pinned_memory_of_two_streams", "uses pinned memory on two streams without an event", "V033", NULL,
     pinned_memory_of_two_streams},
    {"host_reads_too_early", "reads the result through a pointer before it waits", NULL,
     "plain reads of the host are no calls", host_reads_too_early},
    {"host_writes_too_early", "overwrites the source of a queued copy", NULL, "plain writes of the host are no calls",
     host_writes_too_early},
    {NULL, NULL, NULL, NULL, NULL},
};
