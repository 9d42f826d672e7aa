/* A device in plain C11 that is correct, unless the environment selects an error.
 *
 * Two devices of host memory, streams with a thread each, events by the count of records, collectives of the processes of
 * one machine. The environment
 * variable FAULT selects one typical error of plugins; without it, every case passes. Each error is where a
 * plugin would make it, behind `fault("…")`.
 *
 * Handles are numbers that are looked up and never dereferenced, so that stale handles are detected.
 */
#define _GNU_SOURCE
#include <unistd.h>

#include "graphs.h"
#include "hostile.h"
/* For tests of a device that has none. */
#ifndef WITHOUT_COLLECTIVES
#include "collectives.h"
#endif

static C_Status set_device(C_Device device) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  thread_device = device->id;
  process_device = device->id;
  return C_SUCCESS;
}

static C_Status get_device(C_Device device) {
  if (device == NULL) {
    return C_ERROR;
  }
  device->id = fault("one-current-device") ? process_device : thread_device;
  return C_SUCCESS;
}

static C_Status get_device_count(size_t* count) {
  if (count == NULL) {
    return C_ERROR;
  }
  *count = fault("countless-devices") ? (size_t)1 << 31 : DEVICES;
  return C_SUCCESS;
}

static C_Status get_device_list(size_t* devices) {
  be_hostile();
  if (devices == NULL) {
    return C_ERROR;
  }
  for (size_t id = 0; id < (fault("list-too-long") ? DEVICES + 1 : DEVICES); ++id) {
    devices[id] = fault("list-from-one") ? id + 1 : id;
  }
  return fault("no-status") ? (C_Status)17 : C_SUCCESS;
}

/* A program that outlives the process and holds its standard error, as a driver's daemon may. */
static void leave_a_helper(void) {
  if (fork() == 0) {
    execlp("sleep", "sleep", "3600", (char*)NULL);
    _exit(1);
  }
}

static C_Status initialize(void) {
  if (fault("leaves-a-helper")) {
    leave_a_helper();
  }
  for (int id = 0; id < DEVICES; ++id) {
    start_stream(id, id);
  }
  return C_SUCCESS;
}

static C_Status finalize(void) {
  if (fault("threads-survive")) {
    return C_SUCCESS;
  }
  if (fault("hangs-in-finalize")) {
    pthread_mutex_lock(&lock);
    pthread_cond_wait(&changed, &lock);
  }
  for (int i = 0; i < STREAMS; ++i) {
    pthread_mutex_lock(&lock);
    bool alive = streams[i].alive;
    streams[i].alive = streams[i].running = false;
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    if (alive) {
      pthread_join(streams[i].thread, NULL);
    }
  }
  return C_SUCCESS;
}

/* The names in the variable FILLED, as if those slots held the spec's fallbacks. */
__attribute__((visibility("default"))) const char* tenon_fallbacks(void) {
  return getenv("FILLED");
}

__attribute__((visibility("default"))) const TenonDeviceExtension* tenon_device_extension(void) {
  static const TenonDeviceExtension extension = {
      .size = sizeof(TenonDeviceExtension),
      .major = TENON_DEVICE_EXTENSION_MAJOR_VERSION,
      .minor = TENON_DEVICE_EXTENSION_MINOR_VERSION,
      .event_elapsed_time = event_elapsed_time,
  };
  return &extension;
}

__attribute__((visibility("default"))) void InitPlugin(CustomRuntimeParams* params) {
  static char name[32] = "faulty";
  if (fault("odd-name")) {
    strcpy(name, "\033[31mred");
  }
  if (fault("crashes-on-load")) {
    abort();
  }
  if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->initialize = initialize;
  table->finalize = finalize;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->synchronize_device = fault("no-synchronize-device") ? NULL : synchronize_device;
  table->create_stream = create_stream;
  table->destroy_stream = destroy_stream;
  table->query_stream = query_stream;
  table->synchronize_stream = synchronize_stream;
  table->stream_add_callback = stream_add_callback;
  table->stream_wait_event = stream_wait_event;
  table->create_event = create_event;
  table->destroy_event = destroy_event;
  table->record_event = record_event;
  table->query_event = query_event;
  table->synchronize_event = synchronize_event;
  table->device_memory_allocate = device_memory_allocate;
  table->device_memory_deallocate = device_memory_deallocate;
  table->device_memory_set = device_memory_set;
  table->device_memory_stats = device_memory_stats;
  table->device_min_chunk_size = device_min_chunk_size;
  table->host_memory_allocate = host_memory_allocate;
  table->host_memory_deallocate = host_memory_deallocate;
  table->memory_copy_h2d = memory_copy_h2d;
  table->memory_copy_d2h = memory_copy_d2h;
  table->memory_copy_d2d = memory_copy_d2d;
  table->memory_copy_p2p = memory_copy_p2p;
  table->async_memory_copy_h2d = async_memory_copy_h2d;
  table->async_memory_copy_d2h = async_memory_copy_d2h;
  table->async_memory_copy_d2d = async_memory_copy_d2d;
  table->async_memory_copy_p2p = async_memory_copy_p2p;
#ifndef WITHOUT_COLLECTIVES
  table->xccl_get_comm_name = get_comm_name;
  table->xccl_get_unique_id_size = get_unique_id_size;
  table->xccl_get_unique_id = get_unique_id;
  table->xccl_comm_init_rank = comm_init_rank;
  table->xccl_destroy_comm = destroy_comm;
  table->xccl_all_reduce = all_reduce;
  table->xccl_broadcast = broadcast;
  table->xccl_reduce = reduce;
  table->xccl_all_gather = all_gather;
  table->xccl_reduce_scatter = reduce_scatter;
  table->xccl_group_start = group_start;
  table->xccl_group_end = group_end;
  table->xccl_send = send_message;
  table->xccl_recv = receive_message;
#endif
  table->cuda_stream_begin_capture = begin_capture;
  table->cuda_stream_end_captrue = end_capture;
  table->cuda_graph_instantiate = graph_instantiate;
  table->cuda_graph_launch = graph_launch;
  table->cuda_graph_destroy = graph_destroy;
  table->cuda_graph_exec_destroy = graph_exec_destroy;
  table->cuda_graph_get_nodes = graph_get_nodes;
  if (getenv("WITHOUT_ASYNC_P2P") != NULL) {
    table->async_memory_copy_p2p = NULL;
  }
  TENON_DEVICE_STATE_VERSION(params);
  params->device_type = name;
}
