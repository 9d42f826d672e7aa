/* Every fallback of a plugin with the required functions only is called once, and does what the spec says. */
#include "check.h"

static const char* const by_the_library[] = {"initialize", "finalize", "init_device", "deinit_device"};

static int is_the_librarys(const char* function) {
  for (size_t i = 0; i < sizeof by_the_library / sizeof *by_the_library; ++i) {
    if (strcmp(by_the_library[i], function) == 0) {
      return 1;
    }
  }
  return 0;
}

static void memory(tenon_device device, tenon_device other) {
  char there[300], back[300];
  void *first, *second, *of_other;
  memset(there, 5, sizeof there);
  OK(tenon_device_memory_allocate(device, &first, sizeof there));
  OK(tenon_device_memory_allocate(device, &second, sizeof there));
  OK(tenon_device_memory_allocate(other, &of_other, sizeof there));
  OK(tenon_device_memory_set(device, first, 5, sizeof there));
  OK(tenon_memory_copy_d2d(device, second, first, sizeof there));
  OK(tenon_memory_copy_p2p(other, device, of_other, second, sizeof there));
  OK(tenon_memory_copy_d2h(other, back, of_other, sizeof back));
  CHECK(memcmp(there, back, sizeof back) == 0);

  void* pinned;
  OK(tenon_host_memory_allocate(device, &pinned, sizeof there));
  memset(pinned, 7, sizeof there);
  OK(tenon_memory_copy_h2d(device, first, pinned, sizeof there));
  OK(tenon_memory_copy_d2h(device, back, first, sizeof back));
  CHECK(memcmp(pinned, back, sizeof back) == 0);
  GIVES(TENON_ERROR, tenon_host_memory_deallocate(device, pinned, sizeof there - 1));
  OK(tenon_host_memory_deallocate(device, pinned, sizeof there));

  tenon_stream stream, of_others;
  OK(tenon_create_stream(device, &stream));
  OK(tenon_create_stream(other, &of_others));
  CHECK(stream == NULL);
  memset(there, 6, sizeof there);
  OK(tenon_async_memory_copy_h2d(device, stream, first, there, sizeof there));
  OK(tenon_async_memory_copy_d2d(device, stream, second, first, sizeof there));
  OK(tenon_async_memory_copy_p2p(other, device, of_others, of_other, second, sizeof there));
  OK(tenon_async_memory_copy_d2h(other, of_others, back, of_other, sizeof back));
  OK(tenon_synchronize_stream(other, of_others));
  CHECK(memcmp(there, back, sizeof back) == 0);
  OK(tenon_async_memory_fill(device, stream, (char*)first + 1, "word", 4, 296));
  OK(tenon_synchronize_stream(device, stream));
  OK(tenon_memory_copy_d2h(device, back, first, sizeof back));
  CHECK(back[0] == 6 && memcmp(back + 1, "wordword", 8) == 0 && memcmp(back + 289, "wordword", 8) == 0 &&
        back[297] == 6);
  CHECK(tenon_async_memory_fill(device, stream, first, "word", 3, 297) == TENON_ERROR);

  tenon_event event;
  bool done = false;
  OK(tenon_create_event(device, &event));
  OK(tenon_record_event(device, stream, event));
  OK(tenon_stream_wait_event(device, stream, event));
  OK(tenon_query_event(device, event, &done));
  CHECK(done);
  int64_t time = 0;
  GIVES(TENON_UNSUPPORTED, tenon_event_elapsed_time(device, event, event, &time));
  done = false;
  OK(tenon_query_stream(device, stream, &done));
  CHECK(done);
  OK(tenon_destroy_event(device, event));
  OK(tenon_destroy_stream(other, of_others));
  OK(tenon_destroy_stream(device, stream));
  OK(tenon_device_memory_deallocate(device, first, sizeof there));
  OK(tenon_device_memory_deallocate(device, second, sizeof there));
  OK(tenon_device_memory_deallocate(other, of_other, sizeof there));
}

static void questions(tenon_device device) {
  size_t number = 99, total = 99, free_memory = 99;
  bool yes = true;
  uint32_t grid[3] = {9, 9, 9};
#define IS(expected, function)      \
  do {                              \
    number = 99;                    \
    OK(function(device, &number));  \
    CHECK(number == (expected));    \
  } while (0)
  IS(0, tenon_get_compute_capability);
  IS(0, tenon_get_runtime_version);
  IS(0, tenon_get_driver_version);
  IS(256, tenon_device_min_chunk_size);
  IS(0, tenon_device_extra_padding_size);
  IS(0, tenon_get_multi_process);
  IS(0, tenon_get_max_threads_per_mp);
  IS(0, tenon_get_max_threads_per_block);
  /* These divide the free memory, which the device does not state. */
  tenon_error error;
  GIVES(TENON_FAILED, tenon_device_init_alloc_size(device, &number));
  GIVES(TENON_FAILED, tenon_device_realloc_size(device, &number));
  GIVES(TENON_FAILED, tenon_device_max_alloc_size(device, &number));
  GIVES(TENON_FAILED, tenon_device_max_chunk_size(device, &number));
  OK(tenon_error_last(&error));
  CHECK(error.plugin_message == NULL && strstr(error.message, "no free memory") != NULL);
  OK(tenon_device_memory_stats(device, &total, &free_memory));
  CHECK(total == 0 && free_memory == 0);
  OK(tenon_get_max_grid_dim_size(device, grid));
  CHECK(grid[0] == 0 && grid[1] == 0 && grid[2] == 0);
  OK(tenon_is_float16_supported(device, &yes));
  CHECK(!yes);
  yes = true;
  OK(tenon_is_bfloat16_supported(device, &yes));
  CHECK(!yes);
  yes = true;
  OK(tenon_is_dnn_supported(device, &yes));
  CHECK(!yes);
  /* Its memory is the host's, as it happens; but no table promises that. */
  tenon_device_info info;
  OK(tenon_device_get_info(device, &info));
  CHECK(!info.host_accessible);
}

static void nothing_to_do(tenon_plugin plugin, tenon_device device) {
  int place, allocator, handle;
  tenon_eigen_device eigen = (tenon_eigen_device)(void*)&handle;
  OK(tenon_init_eigen_device(plugin, (tenon_place)(void*)&place, &eigen, NULL, (tenon_allocator)(void*)&allocator));
  CHECK(eigen == NULL);
  OK(tenon_destroy_eigen_device(device, &eigen));
  OK(tenon_xccl_group_start(plugin));
  OK(tenon_xccl_group_end(plugin));
  OK(tenon_blas_set_math_mode(device, (tenon_blas_handle)(void*)&handle, 0));
  OK(tenon_destroy_blas_handle(device, (tenon_blas_handle)(void*)&handle));
  OK(tenon_destroy_blaslt_handle(device, (tenon_blas_lt_handle)(void*)&handle));
  OK(tenon_cuda_graph_destroy(plugin, (tenon_graph)(void*)&handle));
  OK(tenon_cuda_graph_exec_destroy(plugin, (tenon_graph_exec)(void*)&handle));
}

int main(int argc, char** argv) {
  CHECK(argc == 2);
  tenon_plugin plugin;
  tenon_device device, other;
  OK(tenon_load_plugin(argv[1], NULL, &plugin));
  OK(tenon_plugin_open_device(plugin, 0, &device));
  OK(tenon_plugin_open_device(plugin, 1, &other));
  memory(device, other);
  questions(device);
  nothing_to_do(plugin, device);

  size_t count = 0, of_other = 0, fallbacks = 0;
  OK(tenon_device_report(device, NULL, &count));
  of_other = count;
  tenon_report_entry* entries = calloc(count, sizeof *entries);
  tenon_report_entry* entries_of_other = calloc(count, sizeof *entries);
  OK(tenon_device_report(device, entries, &count));
  OK(tenon_device_report(other, entries_of_other, &of_other));
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].availability == TENON_AVAILABILITY_FALLBACK) {
      CHECK(entries[i].fallback != NULL && entries[i].fallback[0] != '\0');
      ++fallbacks;
      const int called = entries[i].calls + entries_of_other[i].calls > 0;
      if (!called && !is_the_librarys(entries[i].function)) {
        fprintf(stderr, "the fallback of `%s` is not called here\n", entries[i].function);
        return 1;
      }
    }
  }
  CHECK(fallbacks > 40);
  free(entries);
  free(entries_of_other);
  OK(tenon_shutdown());
  puts("done");
  return 0;
}
