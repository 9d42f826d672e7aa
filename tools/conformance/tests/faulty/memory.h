/* Memory: every live block is known. */
#pragma once

#include "core.h"

enum kind { DEVICE_MEMORY, PINNED_MEMORY, UNIFIED_MEMORY };

struct block {
  char* start;
  size_t size;
  int device;
  enum kind kind;
};
static struct block blocks[BLOCKS];
static size_t used[DEVICES];

static size_t rounded(size_t size) {
  return size < UNIT ? UNIT : (size + UNIT - 1) / UNIT * UNIT;
}

/* The block in which all of the range lies; pinned memory is not device memory. */
static struct block* block_of(int device, const void* address, size_t size) {
  const char* start = address;
  for (int i = 0; i < BLOCKS; ++i) {
    struct block* block = &blocks[i];
    if (block->start != NULL && block->kind != PINNED_MEMORY && block->device == device && start >= block->start &&
        start <= block->start + block->size && size <= (size_t)(block->start + block->size - start)) {
      return block;
    }
  }
  return NULL;
}

static bool is_pinned(const void* address) {
  const char* start = address;
  for (int i = 0; i < BLOCKS; ++i) {
    if (blocks[i].start != NULL && blocks[i].kind == PINNED_MEMORY && start >= blocks[i].start &&
        start < blocks[i].start + blocks[i].size) {
      return true;
    }
  }
  return false;
}

static bool is_range(C_Device device, const void* address, size_t size) {
  if (size == 0) {
    return true;
  }
  pthread_mutex_lock(&lock);
  bool found = block_of(device->id, address, size) != NULL;
  pthread_mutex_unlock(&lock);
  return found;
}

static C_Status allocate_kind(C_Device device, void** ptr, size_t size, enum kind kind) {
  if (fault("writes-on-failure") && ptr != NULL) {
    *ptr = (void*)0x1234;
  }
  if (!is_device(device) || ptr == NULL) {
    return C_ERROR;
  }
  size_t room = size > BUDGET ? 0 : rounded(size);
  pthread_mutex_lock(&lock);
  size_t* count = &used[device->id];
  struct block* slot = NULL;
  for (int i = 0; i < BLOCKS && slot == NULL; ++i) {
    slot = blocks[i].start == NULL ? &blocks[i] : NULL;
  }
  char* start = NULL;
  if (room > 0 && slot != NULL && BUDGET - *count >= room) {
    start = aligned_alloc(UNIT, room + UNIT);
  }
  if (start != NULL) {
    if (fault("misaligned")) {
      start += 4;
    }
    *slot = (struct block){start, size, device->id, kind};
    *count += room;
  }
  pthread_mutex_unlock(&lock);
  if (start == NULL && fault("out-of-memory-is-an-error")) {
    return C_FAILED;
  }
  if (kind != DEVICE_MEMORY || !fault("address-not-written")) {
    *ptr = start;
  }
  return C_SUCCESS;
}

static void wait_for_all(int device);

static C_Status deallocate_kind(C_Device device, void* ptr, size_t size, enum kind kind) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  if (ptr == NULL) {
    return fault("null-free-is-an-error") ? C_ERROR : C_SUCCESS;
  }
  if (!fault("free-does-not-wait")) {
    for (int id = 0; id < DEVICES; ++id) {
      wait_for_all(id);
    }
  }
  pthread_mutex_lock(&lock);
  C_Status status = C_ERROR;
  for (int i = 0; i < BLOCKS; ++i) {
    struct block* block = &blocks[i];
    bool is_it = block->start == ptr && block->kind == kind && block->device == device->id;
    if (is_it && block->size == size) {
      memset(ptr, 0xDB, size);
      free(fault("misaligned") ? block->start - 4 : block->start);
      block->start = NULL;
      if (!fault("statistics-leak")) {
        used[device->id] -= rounded(size);
      }
      status = C_SUCCESS;
      break;
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

static C_Status device_memory_allocate(C_Device device, void** ptr, size_t size) {
  return allocate_kind(device, ptr, size, DEVICE_MEMORY);
}
static C_Status device_memory_deallocate(C_Device device, void* ptr, size_t size) {
  return deallocate_kind(device, ptr, size, DEVICE_MEMORY);
}
static C_Status host_memory_allocate(C_Device device, void** ptr, size_t size) {
  return allocate_kind(device, ptr, size, PINNED_MEMORY);
}
static C_Status host_memory_deallocate(C_Device device, void* ptr, size_t size) {
  return deallocate_kind(device, ptr, size, PINNED_MEMORY);
}

static C_Status device_memory_stats(C_Device device, size_t* total, size_t* free_memory) {
  if (!is_device(device) || total == NULL || free_memory == NULL) {
    return C_ERROR;
  }
  pthread_mutex_lock(&lock);
  *total = BUDGET;
  *free_memory = BUDGET - used[device->id];
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status device_min_chunk_size(C_Device device, size_t* size) {
  if (!is_device(device) || size == NULL) {
    return C_ERROR;
  }
  if (fault("answer-half-written")) {
    *(unsigned*)size = UNIT;
    return C_SUCCESS;
  }
  *size = UNIT;
  return C_SUCCESS;
}
