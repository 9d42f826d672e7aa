/* A device with the thirteen functions that a host needs and no other: host memory, two devices, nothing asynchronous.
 *
 * It checks the addresses of copies against its allocations, so that a wrong address is an error. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/device_ext.h"

/* Pieces keep a distance, so that an address that leaves one a little does not lie in the next. */
enum { DEVICES = 2, MOST = 65536, DISTANCE = 256 };

struct piece {
  char* begin;
  size_t size;
  int device;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct piece pieces[MOST];
static size_t count;
static _Thread_local int current;
static _Thread_local char message[128];

const char* tenon_last_error(void);
const char* tenon_last_error(void) {
  return message;
}

/* Makes one call fail, the so manieth from now, before it has done anything; 0: none. */
void required_fail(long at);
static _Atomic(long) calls_until_failure;

void required_fail(long at) {
  calls_until_failure = at;
}

static int fails(void) {
  return calls_until_failure > 0 && --calls_until_failure == 0;
}

static C_Status wrong(const char* what) {
  snprintf(message, sizeof message, "required: %s", what);
  return C_ERROR;
}

static int is_device(C_Device device) {
  return device != NULL && device->id >= 0 && device->id < DEVICES;
}

#define FAIL_IF_TOLD()                       \
  do {                                       \
    if (fails()) {                           \
      return wrong("told to fail"), C_FAILED; \
    }                                        \
  } while (0)

static C_Status known(C_Device device) {
  return is_device(device) ? C_SUCCESS : wrong("there is no such device");
}

static C_Status synchronize_device(C_Device device) {
  FAIL_IF_TOLD();
  return known(device);
}

/* Returns true if an allocation of the device contains a range. */
static int holds(C_Device device, const void* address, size_t size) {
  int found = 0;
  pthread_mutex_lock(&lock);
  for (size_t i = 0; i < count && !found; ++i) {
    const char* at = address;
    const struct piece* piece = &pieces[i];
    found = piece->device == device->id && at >= piece->begin && at <= piece->begin + piece->size &&
            size <= (size_t)(piece->begin + piece->size - at);
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static C_Status set_device(C_Device device) {
  FAIL_IF_TOLD();
  if (!is_device(device)) {
    return wrong("there is no such device");
  }
  current = device->id;
  return C_SUCCESS;
}

static C_Status get_device(C_Device device) {
  FAIL_IF_TOLD();
  device->id = current;
  return C_SUCCESS;
}

static C_Status get_device_count(size_t* devices) {
  FAIL_IF_TOLD();
  *devices = DEVICES;
  return C_SUCCESS;
}

static C_Status get_device_list(size_t* devices) {
  FAIL_IF_TOLD();
  for (size_t id = 0; id < DEVICES; ++id) {
    devices[id] = id;
  }
  return C_SUCCESS;
}

static C_Status create_event(C_Device device, C_Event* event) {
  FAIL_IF_TOLD();
  *event = malloc(1);
  return known(device);
}

static C_Status record_event(C_Device device, C_Stream stream, C_Event event) {
  FAIL_IF_TOLD();
  (void)stream;
  (void)event;
  return known(device);
}

static C_Status synchronize_event(C_Device device, C_Event event) {
  FAIL_IF_TOLD();
  (void)event;
  return known(device);
}

static C_Status destroy_event(C_Device device, C_Event event) {
  FAIL_IF_TOLD();
  free(event);
  return known(device);
}

static C_Status allocate(C_Device device, void** ptr, size_t size) {
  FAIL_IF_TOLD();
  *ptr = NULL;
  if (!is_device(device)) {
    return wrong("there is no such device");
  }
  if (size > ((size_t)1 << 32)) {
    return C_SUCCESS;
  }
  char* block = malloc(DISTANCE + size + DISTANCE);
  pthread_mutex_lock(&lock);
  if (block != NULL && count < MOST) {
    *ptr = block + DISTANCE;
    pieces[count++] = (struct piece){*ptr, size, device->id};
  } else {
    free(block);
  }
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status deallocate(C_Device device, void* ptr, size_t size) {
  FAIL_IF_TOLD();
  if (ptr == NULL) {
    return C_SUCCESS;
  }
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < count && !(pieces[i].begin == ptr && pieces[i].size == size && pieces[i].device == device->id)) {
    ++i;
  }
  const int found = i < count;
  if (found) {
    pieces[i] = pieces[--count];
    free((char*)ptr - DISTANCE);
  }
  pthread_mutex_unlock(&lock);
  return found ? C_SUCCESS : wrong("the memory is not of this device");
}

static C_Status copy_h2d(C_Device device, void* dst, const void* src, size_t size) {
  FAIL_IF_TOLD();
  if (size > 0 && !holds(device, dst, size)) {
    return wrong("the destination is not of this device");
  }
  if (size > 0) {
    memcpy(dst, src, size);
  }
  return C_SUCCESS;
}

static C_Status copy_d2h(C_Device device, void* dst, const void* src, size_t size) {
  FAIL_IF_TOLD();
  if (size > 0 && !holds(device, src, size)) {
    return wrong("the source is not of this device");
  }
  if (size > 0) {
    memcpy(dst, src, size);
  }
  return C_SUCCESS;
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "required";
  if (params->size != sizeof(CustomRuntimeParams) || params->interface->size != sizeof(C_DeviceInterface)) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->set_device = set_device;
  table->get_device = get_device;
  table->get_device_count = get_device_count;
  table->get_device_list = get_device_list;
  table->synchronize_device = synchronize_device;
  table->create_event = create_event;
  table->record_event = record_event;
  table->synchronize_event = synchronize_event;
  table->destroy_event = destroy_event;
  table->device_memory_allocate = allocate;
  table->device_memory_deallocate = deallocate;
  table->memory_copy_h2d = copy_h2d;
  table->memory_copy_d2h = copy_d2h;
  TENON_DEVICE_STATE_VERSION(params);
  params->device_type = name;
}
