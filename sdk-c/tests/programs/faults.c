/* Every call of a plugin is made to fail in turn: nothing crashes, nothing is leaked, and what failed has done nothing.
 *
 *   faults            a layer before the CPU device makes the calls fail
 *   faults PLUGIN     the plugin itself does, also those calls that come from fallbacks
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>

#include "check.h"

static atomic_long until_failure;
static atomic_int has_failed;
static void (*plugin_fails)(long at);

static tenon_status inject(void* user_data, const tenon_call* call, uint64_t* note) {
  (void)user_data;
  (void)call;
  (void)note;
  if (atomic_load(&until_failure) > 0 && atomic_fetch_sub(&until_failure, 1) == 1) {
    atomic_store(&has_failed, 1);
    return TENON_FAILED;
  }
  return TENON_SUCCESS;
}

static void fail_at(long at) {
  if (plugin_fails != NULL) {
    plugin_fails(at);
  } else {
    atomic_store(&until_failure, at);
  }
}

/* Returns true if a call has succeeded. A failed call must be the one that was set to fail, and must have an
 * error record. */
static int failures;

static int worked(tenon_status status, const char* call) {
  if (status == TENON_SUCCESS) {
    return 1;
  }
  ++failures;
  tenon_error error;
  GIVES(TENON_SUCCESS, tenon_error_last(&error));
  if (error.status != status || (strstr(error.message, "told to fail") == NULL && strstr(error.message, "`inject`") == NULL)) {
    fprintf(stderr, "%s gave %s: %s\n", call, tenon_status_name(status), tenon_error_text());
    exit(1);
  }
  return 0;
}

#define WORKED(call) worked(call, #call)

#define SENTINEL ((void*)(uintptr_t)0x5e47)

/* Uses a device in many ways. Gives back what it has got, whatever fails. */
static void use(tenon_device device) {
  char there[256], back[256];
  memset(there, 3, sizeof there);
  void* first = SENTINEL;
  void* second = SENTINEL;
  void* pooled = SENTINEL;
  tenon_stream stream = SENTINEL;
  tenon_event event = SENTINEL;
  tenon_buffer buffer = SENTINEL;
  tenon_pool_statistics before, after;
  bool done;

  const int has_first = WORKED(tenon_device_memory_allocate(device, &first, sizeof there));
  CHECK(has_first || first == SENTINEL);
  const int has_second = WORKED(tenon_device_memory_allocate(device, &second, sizeof there));
  CHECK(has_second || second == SENTINEL);
  const int has_stream = WORKED(tenon_create_stream(device, &stream));
  CHECK(has_stream || stream == SENTINEL);
  const int has_event = WORKED(tenon_create_event(device, &event));
  CHECK(has_event || event == SENTINEL);
  if (has_first && has_second) {
    WORKED(tenon_memory_copy_h2d(device, first, there, sizeof there));
    WORKED(tenon_device_memory_set(device, second, 9, sizeof there));
    WORKED(tenon_memory_copy_d2d(device, second, first, sizeof there));
    WORKED(tenon_memory_copy_p2p(device, device, second, first, sizeof there));
    WORKED(tenon_memory_copy_d2h(device, back, second, sizeof there));
    if (has_stream) {
      WORKED(tenon_async_memory_copy_h2d(device, stream, first, there, sizeof there));
      WORKED(tenon_async_memory_copy_d2d(device, stream, second, first, sizeof there));
      WORKED(tenon_async_memory_copy_d2h(device, stream, back, second, sizeof there));
    }
  }
  if (has_stream && has_event && WORKED(tenon_record_event(device, stream, event))) {
    WORKED(tenon_query_event(device, event, &done));
    WORKED(tenon_stream_wait_event(device, stream, event));
    WORKED(tenon_synchronize_event(device, event));
  }
  if (has_stream) {
    WORKED(tenon_query_stream(device, stream, &done));
    WORKED(tenon_synchronize_stream(device, stream));
  }

  const int has_pool = WORKED(tenon_pool_get_statistics(device, &before));
  const int has_pooled = WORKED(tenon_pool_allocate(device, 5000, has_stream ? stream : NULL, &pooled));
  CHECK(has_pooled || pooled == SENTINEL);
  if (has_pool && !has_pooled) {
    OK(tenon_pool_get_statistics(device, &after));
    CHECK(after.in_use == before.in_use && after.from_device == before.from_device);
  }
  const int has_buffer = WORKED(tenon_buffer_create(device, 3 << 20, NULL, &buffer));
  CHECK(has_buffer || buffer == SENTINEL);
  if (has_buffer && !WORKED(tenon_buffer_destroy(buffer, NULL))) {
    OK(tenon_buffer_destroy(buffer, NULL));
  }
  if (has_pooled && !WORKED(tenon_pool_free(device, pooled, has_stream ? stream : NULL))) {
    OK(tenon_pool_free(device, pooled, has_stream ? stream : NULL));
  }
  if (has_pool && !WORKED(tenon_pool_trim(device, 0))) {
    OK(tenon_pool_trim(device, 0));
  }

  /* Memory that could not be freed still exists, and can be freed now. */
  if (has_event && !WORKED(tenon_destroy_event(device, event))) {
    OK(tenon_destroy_event(device, event));
  }
  if (has_stream && !WORKED(tenon_destroy_stream(device, stream))) {
    OK(tenon_destroy_stream(device, stream));
  }
  if (has_first && !WORKED(tenon_device_memory_deallocate(device, first, sizeof there))) {
    OK(tenon_device_memory_deallocate(device, first, sizeof there));
  }
  if (has_second && !WORKED(tenon_device_memory_deallocate(device, second, sizeof there))) {
    OK(tenon_device_memory_deallocate(device, second, sizeof there));
  }
}

static size_t free_memory(tenon_device device) {
  tenon_device_info info;
  OK(tenon_device_get_info(device, &info));
  return info.free_memory;
}

/* Returns whether the call that was to fail was reached. */
static int run(const char* plugin, long at) {
  const tenon_options options = {.size = sizeof options, .plugin_path = "", .layers = "validate"};
  const tenon_layer injecting = {.size = sizeof injecting, .name = "inject", .before = inject};
  OK(tenon_init(&options));
  if (plugin == NULL) {
    OK(tenon_layer_register(&injecting));
  }
  tenon_plugin loaded;
  if (plugin != NULL) {
    OK(tenon_load_plugin(plugin, NULL, &loaded));
  }
  const char* type = plugin != NULL ? "required" : "cpu";
  tenon_device device = SENTINEL;
  failures = 0;
  fail_at(at);
  if (!WORKED(tenon_device_open(type, 0, &device))) {
    CHECK(device == SENTINEL);
    OK(tenon_device_open(type, 0, &device));
  }
  size_t before = 0;
  if (plugin == NULL) {
    /* Queries of the device must not be the calls that fail. */
    const long left = atomic_exchange(&until_failure, 0);
    before = free_memory(device);
    atomic_store(&until_failure, left);
  }
  use(device);
  if (plugin == NULL) {
    const long left = atomic_exchange(&until_failure, 0);
    CHECK(free_memory(device) == before);
    atomic_store(&until_failure, left);
  }
  if (!WORKED(tenon_device_close(device))) {
    const tenon_status again = tenon_device_close(device);
    CHECK(again == TENON_SUCCESS || again == TENON_INVALID_HANDLE);
  }
  WORKED(tenon_shutdown());
  const int reached = failures > 0;
  CHECK(failures <= 1);
  fail_at(0);
  return reached;
}

int main(int argc, char** argv) {
  const char* plugin = argc > 1 ? argv[1] : NULL;
  if (plugin != NULL) {
    void* library = dlopen(plugin, RTLD_NOW);
    CHECK(library != NULL);
    *(void**)&plugin_fails = dlsym(library, "required_fail");
    CHECK(plugin_fails != NULL);
  }
  CHECK(!run(plugin, 0));
  long calls = 0, quiet = 0;
  /* Some failures are not reported, such as that of a query for a hint; many of these happen during shutdown. */
  for (long at = 1; quiet < 12; ++at) {
    const int told = run(plugin, at);
    calls += told;
    quiet = told ? 0 : quiet + 1;
  }
  fprintf(stderr, "%ld calls made to fail\n", calls);
  CHECK(calls > 20);
  puts("done");
  return 0;
}
