// A plugin as people write them, against the header that a release of PaddlePaddle ships.
//
// RELEASE is that release without its dot. What a plugin does with the sizes and the table differs, and so it does here:
//
//   CHECK_…  which sizes it compares: BOTH, UPSTREAM (the macro of the header), TABLE, TABLE_AT_LEAST, PARAMS,
//            PARAMS_AT_LEAST, UNKNOWN, or NONE
//   CLEAR_…  how it clears the table: OWN (by its own sizeof), STATED (by the host's), COPY (assigns a whole struct), or
//            NOTHING
//   FILL_…   what it fills beyond the required: MOVED (what other releases have elsewhere, or call otherwise),
//            CAPABILITY (what others call otherwise), PROFILER
//   and mistakes: each is named where it is made.
#include <stdint.h>

#include <cstdlib>
#include <cstring>

#include "paddle/phi/backends/device_ext.h"

namespace {

int current = 0;
int entered = 0;

C_Status initialize() { return C_SUCCESS; }

C_Status set_device(const C_Device device) {
  if (device->id < 0) return C_ERROR;
  current = device->id;
  return C_SUCCESS;
}

C_Status get_device(const C_Device device) {
  device->id = current;
  return C_SUCCESS;
}

// How often the entry point has filled a table: more than once is a mistake of the host.
C_Status get_device_count(size_t* count) {
  *count = entered;
  return C_SUCCESS;
}

C_Status get_device_list(size_t* devices) {
  devices[0] = 0;
  return C_SUCCESS;
}

C_Status create_event(const C_Device, C_Event* event) {
  static char all;
  *event = reinterpret_cast<C_Event>(&all);
  return C_SUCCESS;
}

C_Status record_event(const C_Device, C_Stream, C_Event) { return C_SUCCESS; }

C_Status event_call(const C_Device, C_Event) { return C_SUCCESS; }

C_Status allocate(const C_Device, void** ptr, size_t size) {
  *ptr = malloc(size);
  return C_SUCCESS;
}

C_Status deallocate(const C_Device, void* ptr, size_t) {
  free(ptr);
  return C_SUCCESS;
}

C_Status copy(const C_Device, void* dst, const void* src, size_t size) {
  memcpy(dst, src, size);
  return C_SUCCESS;
}

#ifdef FILL_MOVED
#if RELEASE >= 31
C_Status get_runtime_version(const C_Device device, size_t* version) {
  *version = RELEASE * 100 + device->id;
  return C_SUCCESS;
}
#else
C_Status get_runtime_version(size_t* version) {
  *version = RELEASE * 100;
  return C_SUCCESS;
}
#endif

C_Status unique_id_size(size_t* size) {
  *size = RELEASE;
  return C_SUCCESS;
}
#endif

#ifdef FILL_CAPABILITY
#if RELEASE >= 31
C_Status get_compute_capability(const C_Device, size_t* capability) {
#else
C_Status get_compute_capability(size_t* capability) {
#endif
  *capability = RELEASE;
  return C_SUCCESS;
}
#endif

#ifdef FILL_PROFILER
C_Status profiler_call(C_Profiler, void**) { return C_SUCCESS; }
C_Status profiler_step(C_Profiler, void*) { return C_SUCCESS; }
C_Status profiler_collect(C_Profiler, uint64_t, void*) { return C_SUCCESS; }
#endif

void fill(C_DeviceInterface* table) {
#ifndef LEAVE_OUT_EVENTS
  table->create_event = create_event;
  table->record_event = record_event;
  table->destroy_event = event_call;
  table->synchronize_event = event_call;
#endif
  table->initialize = initialize;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy;
  table->memory_copy_d2h = copy;
#ifdef FILL_MOVED
  table->get_runtime_version = get_runtime_version;
  table->xccl_get_unique_id_size = unique_id_size;
#endif
#ifdef FILL_CAPABILITY
  table->get_compute_capability = get_compute_capability;
#endif
#ifdef FILL_PROFILER
  table->profiler_initialize = profiler_call;
  table->profiler_finalize = profiler_step;
  table->profiler_prepare_tracing = profiler_step;
  table->profiler_start_tracing = profiler_step;
  table->profiler_stop_tracing = profiler_step;
  table->profiler_collect_trace_data = profiler_collect;
#endif
}

}  // namespace

#ifndef NO_ENTRY
extern "C" void InitPlugin(CustomRuntimeParams* params) {
#if defined(CHECK_BOTH)
  if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) return;
#elif defined(CHECK_UPSTREAM)
  PADDLE_CUSTOM_RUNTIME_CHECK_VERSION(params);
#elif defined(CHECK_TABLE)
  if (params->interface->size != sizeof(C_DeviceInterface)) return;
#elif defined(CHECK_TABLE_AT_LEAST)
  if (params->interface->size < sizeof(C_DeviceInterface)) return;
#elif defined(CHECK_PARAMS)
  if (params->size != sizeof(CustomRuntimeParams)) return;
#elif defined(CHECK_PARAMS_AT_LEAST)
  if (params->size < sizeof(CustomRuntimeParams)) return;
#elif defined(CHECK_UNKNOWN)
  // As a release that is not known would.
  if (params->interface->size != 1200) return;
#elif !defined(CHECK_NONE)
#error "say what is checked"
#endif

  ++entered;
#if defined(CLEAR_OWN)
  memset(reinterpret_cast<void*>(params->interface), 0, sizeof(C_DeviceInterface));
#elif defined(CLEAR_STATED)
  memset(reinterpret_cast<void*>(params->interface), 0, params->interface->size);
#elif defined(CLEAR_COPY)
  static C_DeviceInterface table;
  table.size = sizeof(C_DeviceInterface);
  *params->interface = table;
#elif !defined(CLEAR_NOTHING)
#error "say what is cleared"
#endif

  static char type[] = DEVICE_TYPE;
  static char sub_type[] = "v1";
  params->version.major = PADDLE_CUSTOM_RUNTIME_MAJOR_VERSION;
  params->version.minor = PADDLE_CUSTOM_RUNTIME_MINOR_VERSION;
  params->version.patch = PADDLE_CUSTOM_RUNTIME_PATCH_VERSION;
  params->device_type = type;
  params->sub_device_type = sub_type;

#ifdef OLD_VERSION
  params->version.patch = 0;
#endif
#ifdef NO_TYPE
  params->device_type = nullptr;
#endif
#ifdef EMPTY_TYPE
  type[0] = 0;
#endif
#ifdef COLOURED_TYPE
  static char coloured[] = "\033[31mnpu";
  params->device_type = coloured;
#endif
#ifdef FILL_NOTHING
  return;
#endif
#ifdef OWN_TABLE
  static C_DeviceInterface own;
  params->interface = &own;
#endif
  fill(params->interface);
#ifdef STATES_SIZE
  params->interface->size = sizeof(C_DeviceInterface);
#endif
#ifdef TOO_FAR
  // As a release with a larger table would.
  reinterpret_cast<void**>(params->interface)[sizeof(C_DeviceInterface) / sizeof(void*) + 3] =
      reinterpret_cast<void*>(initialize);
#endif
#ifdef PAST_THE_PARAMS
  reinterpret_cast<void**>(params)[13] = type;
#endif
}
#endif

#ifdef CALLS_ANOTHER_HOST
// Only some other host has it.
extern "C" void only_another_host_has_this();
extern "C" void calls_it() { only_another_host_has_this(); }
#endif

#ifdef PROMISES
extern "C" const uint8_t tenon_checks_both_sizes = 1;
#endif

#ifdef TELLS
extern "C" const char* tenon_last_error() { return "the fan is stuck"; }
#endif

#ifdef OTHER_ENTRY
extern "C" void OTHER_ENTRY() {}
#endif
