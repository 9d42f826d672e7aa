/* Opening, copying, queries, and the errors of invalid calls. */
#include <stdint.h>

#include "check.h"

static void versions_and_statuses(void) {
  char text[32];
  snprintf(text, sizeof text, "%d.%d.%d", TENON_VERSION_MAJOR, TENON_VERSION_MINOR, TENON_VERSION_PATCH);
  CHECK(strcmp(tenon_version_string(), text) == 0);
  CHECK(tenon_version() == (TENON_VERSION_MAJOR << 16 | TENON_VERSION_MINOR << 8 | TENON_VERSION_PATCH));
  CHECK(strcmp(tenon_status_name(TENON_BUSY), "TENON_BUSY") == 0);
  CHECK(strstr(tenon_status_string(TENON_BUSY), "in use") != NULL);
  CHECK(strcmp(tenon_status_name((tenon_status)999), "unknown status") == 0);
}

static void nothing_has_failed_yet(void) {
  tenon_error error;
  GIVES(TENON_NOT_FOUND, tenon_error_last(&error));
  CHECK(error.status == TENON_SUCCESS && error.message == NULL);
  GIVES(TENON_INVALID_ARGUMENT, tenon_error_last(NULL));
  CHECK(strstr(tenon_error_text(), "no call has failed") != NULL);
  GIVES(TENON_NOT_INITIALISED, tenon_shutdown());
  OK(tenon_error_last(&error));
  CHECK(error.status == TENON_NOT_INITIALISED && strcmp(error.function, "tenon_shutdown") == 0);
}

static void memory_and_streams(tenon_device device) {
  char there[] = "through the device", back[sizeof there] = {0};
  void* memory;
  tenon_stream stream;
  tenon_event event;
  bool done = false;
  OK(tenon_device_memory_allocate(device, &memory, sizeof there));
  OK(tenon_create_stream(device, &stream));
  OK(tenon_create_event(device, &event));
  OK(tenon_async_memory_copy_h2d(device, stream, memory, there, sizeof there));
  OK(tenon_record_event(device, stream, event));
  OK(tenon_synchronize_event(device, event));
  OK(tenon_query_event(device, event, &done));
  CHECK(done);
  OK(tenon_query_stream(device, stream, &done));
  OK(tenon_memory_copy_d2h(device, back, memory, sizeof back));
  CHECK(strcmp(back, there) == 0);
  tenon_event later, never;
  int64_t time = -1, back_again = 1;
  OK(tenon_create_event(device, &later));
  OK(tenon_create_event(device, &never));
  OK(tenon_record_event(device, stream, later));
  OK(tenon_synchronize_event(device, later));
  OK(tenon_event_elapsed_time(device, event, later, &time));
  OK(tenon_event_elapsed_time(device, later, event, &back_again));
  CHECK(time >= 0 && back_again == -time);
  GIVES(TENON_ERROR, tenon_event_elapsed_time(device, event, never, &time));
  CHECK(strstr(tenon_error_text(), "was never recorded") != NULL);
  GIVES(TENON_INVALID_ARGUMENT, tenon_event_elapsed_time(device, event, later, NULL));
  OK(tenon_destroy_event(device, later));
  OK(tenon_destroy_event(device, never));
  OK(tenon_destroy_event(device, event));
  OK(tenon_destroy_stream(device, stream));
  OK(tenon_device_memory_deallocate(device, memory, sizeof there));
  /* More than any machine has: null of the device is a status here. */
  memory = NULL;
  GIVES(TENON_OUT_OF_MEMORY, tenon_device_memory_allocate(device, &memory, SIZE_MAX / 4));
  CHECK(memory == NULL);
}

static void mistakes_are_told(tenon_device device) {
  tenon_error error;
  char byte = 0;
  GIVES(TENON_ERROR, tenon_memory_copy_h2d(device, &byte, &byte, 1));
  OK(tenon_error_last(&error));
  CHECK(error.status == TENON_ERROR);
  CHECK(strcmp(error.function, "tenon_memory_copy_h2d") == 0);
  CHECK(strcmp(error.device, "cpu:0") == 0 && strcmp(error.plugin, "cpu") == 0);
  CHECK(error.plugin_message != NULL && error.message != NULL && error.rule == NULL && error.layer == NULL);
  CHECK(strstr(tenon_error_text(), "tenon_memory_copy_h2d") != NULL);
  CHECK(strstr(tenon_error_text(), "TENON_ERROR") != NULL);
  /* A success does not change the error record. */
  OK(tenon_synchronize_device(device));
  CHECK(strstr(tenon_error_text(), "tenon_memory_copy_h2d") != NULL);
  GIVES(TENON_INVALID_ARGUMENT, tenon_device_memory_allocate(device, NULL, 1));
  GIVES(TENON_INVALID_ARGUMENT, tenon_query_stream(device, NULL, NULL));
  GIVES(TENON_INVALID_ARGUMENT, tenon_memory_copy_d2h(device, NULL, NULL, 8));
  CHECK(strstr(tenon_error_text(), "`dst` is null") != NULL);
  /* The library makes these calls itself, so programs must not. */
  GIVES(TENON_BUSY, tenon_init_device(device));
  GIVES(TENON_BUSY, tenon_deinit_device(device));
  tenon_plugin plugin;
  OK(tenon_plugin_find(NULL, &plugin));
  GIVES(TENON_BUSY, tenon_initialize(plugin));
  GIVES(TENON_BUSY, tenon_finalize(plugin));
  char properties[4096];
  GIVES(TENON_UNSUPPORTED, tenon_get_device_properties(device, properties));
  CHECK(strstr(tenon_error_text(), "get_device_properties") != NULL);
  GIVES(TENON_NOT_FOUND, tenon_device_open("no such type", 0, &device));
  CHECK(strstr(tenon_error_text(), "`cpu`") != NULL);
  GIVES(TENON_NOT_FOUND, tenon_device_open("cpu", 1000, &device));
  GIVES(TENON_NOT_FOUND, tenon_device_open("cpu", -1, &device));
  GIVES(TENON_INVALID_ARGUMENT, tenon_device_open(NULL, 0, NULL));
}

static void hostile_handles(tenon_device device, tenon_plugin plugin) {
  const uintptr_t real = (uintptr_t)device;
  const uintptr_t hostile[] = {0, 1, 8, 4096, UINTPTR_MAX, real + 1, real ^ 1, real ^ ((uintptr_t)1 << 63),
                               (uintptr_t)plugin, (uintptr_t)&device, real << 1, ~real};
  for (size_t i = 0; i < sizeof hostile / sizeof *hostile; ++i) {
    void* out;
    size_t size;
    tenon_device bad = (tenon_device)hostile[i];
    tenon_buffer no_buffer = (tenon_buffer)hostile[i];
    tenon_device_info info;
    tenon_plugin_info plugin_info;
    GIVES(TENON_INVALID_HANDLE, tenon_synchronize_device(bad));
    GIVES(TENON_INVALID_HANDLE, tenon_device_memory_allocate(bad, &out, 1));
    GIVES(TENON_INVALID_HANDLE, tenon_device_close(bad));
    GIVES(TENON_INVALID_HANDLE, tenon_device_get_info(bad, &info));
    GIVES(TENON_INVALID_HANDLE, tenon_device_make_current(bad));
    GIVES(TENON_INVALID_HANDLE, tenon_memory_copy_p2p(device, bad, NULL, NULL, 0));
    GIVES(TENON_INVALID_HANDLE, tenon_buffer_size(no_buffer, &size));
    GIVES(TENON_INVALID_HANDLE, tenon_buffer_destroy(no_buffer, NULL));
    if (hostile[i] != (uintptr_t)plugin) {
      GIVES(TENON_INVALID_HANDLE, tenon_plugin_get_info((tenon_plugin)hostile[i], &plugin_info));
      GIVES(TENON_INVALID_HANDLE, tenon_get_device_count((tenon_plugin)hostile[i], &size));
      GIVES(TENON_INVALID_HANDLE, tenon_unload_plugin((tenon_plugin)hostile[i]));
    }
  }
  GIVES(TENON_INVALID_ARGUMENT, tenon_unload_plugin(plugin));
  OK(tenon_synchronize_device(device));
}

static void buffers_and_pool(tenon_device device) {
  tenon_buffer buffer;
  void* address;
  size_t size;
  tenon_device of;
  tenon_pool_statistics statistics;
  OK(tenon_buffer_create(device, 1000, NULL, &buffer));
  OK(tenon_buffer_address(buffer, &address));
  OK(tenon_buffer_size(buffer, &size));
  OK(tenon_buffer_device(buffer, &of));
  CHECK(address != NULL && size == 1000 && of == device);
  char bytes[1000];
  memset(bytes, 7, sizeof bytes);
  OK(tenon_memory_copy_h2d(device, address, bytes, sizeof bytes));
  OK(tenon_pool_get_statistics(device, &statistics));
  CHECK(statistics.in_use >= 1000 && statistics.from_device >= statistics.in_use);
  GIVES(TENON_BUSY, tenon_device_close(device));
  CHECK(strstr(tenon_error_text(), "buffers of cpu:0 are in use: 1") != NULL);
  OK(tenon_buffer_destroy(buffer, NULL));
  GIVES(TENON_INVALID_HANDLE, tenon_buffer_destroy(buffer, NULL));
  GIVES(TENON_INVALID_HANDLE, tenon_buffer_address(buffer, &address));
  tenon_buffer again;
  OK(tenon_buffer_create(device, 1000, NULL, &again));
  CHECK(again != buffer);
  OK(tenon_buffer_destroy(again, NULL));
  OK(tenon_pool_allocate(device, 64, NULL, &address));
  GIVES(TENON_BUSY, tenon_device_close(device));
  OK(tenon_pool_free(device, address, NULL));
  GIVES(TENON_INVALID_ARGUMENT, tenon_pool_free(device, address, NULL));
  GIVES(TENON_INVALID_ARGUMENT, tenon_pool_free(device, bytes, NULL));
  GIVES(TENON_OUT_OF_MEMORY, tenon_pool_allocate(device, SIZE_MAX, NULL, &address));
  GIVES(TENON_OUT_OF_MEMORY, tenon_buffer_create(device, SIZE_MAX / 2, NULL, &again));
  tenon_stream stream;
  OK(tenon_create_stream(device, &stream));
  OK(tenon_pool_allocate(device, 64, stream, &address));
  OK(tenon_pool_free(device, address, stream));
  OK(tenon_destroy_stream(device, stream));
  OK(tenon_pool_trim(device, 0));
  OK(tenon_pool_get_statistics(device, &statistics));
  CHECK(statistics.in_use == 0 && statistics.cached == 0 && statistics.from_device == 0);
}

static uint64_t calls(tenon_device device, const char* function) {
  size_t count = 0;
  OK(tenon_device_report(device, NULL, &count));
  tenon_report_entry* entries = calloc(count, sizeof *entries);
  size_t room = count - 1;
  GIVES(TENON_INVALID_ARGUMENT, tenon_device_report(device, entries, &room));
  CHECK(room == count);
  OK(tenon_device_report(device, entries, &room));
  uint64_t found = UINT64_MAX;
  for (size_t i = 0; i < count; ++i) {
    if (strcmp(entries[i].function, function) == 0) {
      CHECK(entries[i].availability == TENON_AVAILABILITY_NATIVE);
      found = entries[i].calls;
    }
  }
  free(entries);
  return found;
}

static void reports(tenon_device device) {
  const uint64_t before = calls(device, "query_stream");
  bool done;
  for (int i = 0; i < 5; ++i) {
    OK(tenon_query_stream(device, NULL, &done));
  }
  GIVES(TENON_INVALID_ARGUMENT, tenon_query_stream(device, NULL, NULL));
  CHECK(calls(device, "query_stream") == before + 6);
  size_t size = 0;
  OK(tenon_device_report_text(device, NULL, &size));
  char* text = malloc(size + 64);
  size += 64;
  OK(tenon_device_report_text(device, text, &size));
  CHECK(strlen(text) + 1 == size && strstr(text, "cpu:0") != NULL && strstr(text, "native") != NULL);
  free(text);
  size = 0;
  OK(tenon_device_report_json(device, NULL, &size));
  text = malloc(size + 64);
  size += 64;
  OK(tenon_device_report_json(device, text, &size));
  CHECK(text[0] == '{' && strstr(text, "\"function\":\"query_stream\"") != NULL);
  free(text);
}

static void what_is_open(tenon_device device) {
  tenon_device again, current;
  tenon_device_info info;
  tenon_plugin_info plugin;
  size_t count = 0;
  OK(tenon_device_open("cpu", 0, &again));
  CHECK(again == device);
  OK(tenon_device_close(again));
  OK(tenon_synchronize_device(device));
  OK(tenon_device_make_current(device));
  OK(tenon_device_current(&current));
  CHECK(current == device);
  OK(tenon_device_count(NULL, &count));
  CHECK(count >= 1);
  OK(tenon_device_get_info(device, &info));
  CHECK(strcmp(info.type, "cpu") == 0 && info.ordinal == 0 && info.total_memory > 0);
  /* The information about host access is true. */
  char* memory;
  CHECK(info.host_accessible);
  OK(tenon_device_memory_allocate(device, (void**)&memory, 1));
  OK(tenon_device_memory_set(device, memory, 'a', 1));
  CHECK(*memory == 'a');
  *memory = 'b';
  char back = 0;
  OK(tenon_memory_copy_d2h(device, &back, memory, 1));
  CHECK(back == 'b');
  OK(tenon_device_memory_deallocate(device, memory, 1));
  OK(tenon_plugin_get_info(info.plugin, &plugin));
  CHECK(plugin.path == NULL && plugin.release == NULL && plugin.open_devices == 1);
  CHECK(strcmp(plugin.name, "cpu") == 0 && strcmp(plugin.device_type, "cpu") == 0);
  OK(tenon_plugin_count(&count));
  CHECK(count == 1);
  GIVES(TENON_NOT_FOUND, tenon_plugin_get(1, &info.plugin));
}

int main(void) {
  versions_and_statuses();
  nothing_has_failed_yet();
  tenon_device device;
  OK(tenon_device_open(NULL, 0, &device));
  tenon_plugin plugin;
  OK(tenon_plugin_get(0, &plugin));
  what_is_open(device);
  memory_and_streams(device);
  mistakes_are_told(device);
  hostile_handles(device, plugin);
  buffers_and_pool(device);
  reports(device);

  OK(tenon_device_close(device));
  GIVES(TENON_INVALID_HANDLE, tenon_synchronize_device(device));
  GIVES(TENON_INVALID_HANDLE, tenon_device_close(device));
  GIVES(TENON_NOT_FOUND, tenon_device_current(&device));

  /* Shutdown with live objects. */
  tenon_device second;
  tenon_buffer buffer;
  tenon_stream stream;
  void* memory;
  OK(tenon_device_open(NULL, 0, &second));
  OK(tenon_buffer_create(second, 4096, NULL, &buffer));
  OK(tenon_create_stream(second, &stream));
  OK(tenon_device_memory_allocate(second, &memory, 64));
  OK(tenon_init(NULL));
  const tenon_options late = {.size = sizeof late};
  GIVES(TENON_BUSY, tenon_init(&late));
  OK(tenon_init(NULL));
  OK(tenon_shutdown());
  OK(tenon_synchronize_device(second));
  OK(tenon_shutdown());
  GIVES(TENON_INVALID_HANDLE, tenon_synchronize_device(second));
  GIVES(TENON_INVALID_HANDLE, tenon_destroy_stream(second, stream));
  GIVES(TENON_INVALID_HANDLE, tenon_device_memory_deallocate(second, memory, 64));
  GIVES(TENON_INVALID_HANDLE, tenon_buffer_address(buffer, &memory));
  GIVES(TENON_INVALID_HANDLE, tenon_get_device_count(plugin, &(size_t){0}));
  GIVES(TENON_NOT_INITIALISED, tenon_shutdown());

  /* And once more from the start. */
  tenon_device third;
  const tenon_options wrong = {.size = 3};
  GIVES(TENON_INVALID_ARGUMENT, tenon_init(&wrong));
  const tenon_options unknown = {.size = sizeof unknown, .plugin_path = "", .layers = "validat"};
  GIVES(TENON_INVALID_ARGUMENT, tenon_init(&unknown));
  CHECK(strstr(tenon_error_text(), "did you mean `validate`?") != NULL);
  OK(tenon_device_open("cpu", 0, &third));
  CHECK(third != second && third != device);
  memory_and_streams(third);
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
