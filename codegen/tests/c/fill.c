// Fills the table of every release from one table of the newest.

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "tenon/device_ext.h"

// NOLINTNEXTLINE: a check that stays in when assertions are compiled out.
#define CHECK(condition)                                      \
  do {                                                        \
    if (!(condition)) {                                       \
      fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
      return 1;                                               \
    }                                                         \
  } while (0)

// Functions of a table that are not null.
static size_t filled(const void* table, size_t size) {
  size_t count = 0;
  for (size_t at = sizeof(size_t); at < size; at += sizeof(void*)) {
    uintptr_t word;
    memcpy(&word, (const char*)table + at, sizeof word);
    count += word != 0;
  }
  return count;
}

#define RESERVED(table)                                                                                   \
  (sizeof (table).reserved_dev_api + sizeof (table).reserved_mem_api + sizeof (table).reserved_info_api + \
   sizeof (table).reserved_ccl_api + sizeof (table).reserved_profiler_api + sizeof (table).reserved_other_api)

// A host of one release: memory that held something before, and the sizes.
#define HOST(Table, Params, release_constant, changed)                                                    \
  do {                                                                                                    \
    Table table;                                                                                          \
    Params params;                                                                                        \
    memset(&table, 0xff, sizeof table);                                                                   \
    memset(&params, 0, sizeof params);                                                                    \
    table.size = sizeof table;                                                                            \
    params.size = sizeof params;                                                                          \
    params.interface = (void*)&table;                                                                     \
    CHECK(tenon_device_fill((CustomRuntimeParams*)(void*)&params, &functions) == (release_constant));     \
    CHECK(table.size == sizeof table);                                                                    \
    CHECK(params.version.minor == 1);                                                                     \
    CHECK(table.initialize == functions.initialize);                                                      \
    CHECK(table.stream_wait_event == functions.stream_wait_event);                                        \
    CHECK(table.async_memory_copy_p2p == functions.async_memory_copy_p2p);                                \
    CHECK(table.device_realloc_size == functions.device_realloc_size);                                    \
    CHECK(table.xccl_get_unique_id_size == functions.xccl_get_unique_id_size);                            \
    CHECK(table.xccl_all_to_all == functions.xccl_all_to_all);                                            \
    CHECK(table.profiler_collect_trace_data == functions.profiler_collect_trace_data);                    \
    CHECK(table.blas_axpby == functions.blas_axpby);                                                      \
    CHECK((table.get_driver_version == NULL) == ((changed) > 0));                                         \
    const size_t slots = (sizeof table - sizeof(size_t) - RESERVED(table)) / sizeof(void*);               \
    CHECK(filled(&table, sizeof table) == slots - (changed));                                             \
  } while (0)

int main(void) {
  // Every slot has another value, so that each has to come to its own place.
  C_DeviceInterface functions;
  for (uintptr_t at = 0; at < sizeof functions; at += sizeof at) {
    const uintptr_t value = at + 1;
    memcpy((char*)&functions + at, &value, sizeof value);
  }
  HOST(C_DeviceInterface_v2_6, CustomRuntimeParams_v2_6, TENON_DEVICE_RELEASE_2_6, 3);
  HOST(C_DeviceInterface_v3_0, CustomRuntimeParams, TENON_DEVICE_RELEASE_3_0, 3);
  HOST(C_DeviceInterface_v3_1, CustomRuntimeParams, TENON_DEVICE_RELEASE_3_1, 0);
  HOST(C_DeviceInterface_v3_2, CustomRuntimeParams, TENON_DEVICE_RELEASE_3_2, 0);
  HOST(C_DeviceInterface, CustomRuntimeParams, TENON_DEVICE_RELEASE_3_3, 0);

  // Sizes of no release, and of two: nothing is written.
  C_DeviceInterface table;
  CustomRuntimeParams params;
  memset(&table, 0, sizeof table);
  memset(&params, 0, sizeof params);
  params.size = sizeof params;
  params.interface = &table;
  table.size = sizeof table + sizeof(void*);
  CHECK(tenon_device_fill(&params, &functions) == TENON_DEVICE_RELEASE_UNKNOWN);
  table.size = TENON_DEVICE_SIZE_3_3;
  params.size = sizeof(CustomRuntimeParams_v2_6);
  CHECK(tenon_device_fill(&params, &functions) == TENON_DEVICE_RELEASE_UNKNOWN);
  CHECK(filled(&table, sizeof table) == 0 && params.version.minor == 0);
  params.interface = NULL;
  CHECK(tenon_device_fill(&params, &functions) == TENON_DEVICE_RELEASE_UNKNOWN);
  return 0;
}
