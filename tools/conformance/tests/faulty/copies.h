/* Copies, at once and queued. */
#pragma once

#include "events.h"

static C_Status memory_copy_h2d(C_Device device, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, dst, size) || (src == NULL && size > 0)) {
    return C_ERROR;
  }
  if (fault("zero-copy-of-null-is-an-error") && (dst == NULL || src == NULL)) {
    return C_ERROR;
  }
  copy_bytes(dst, src, fault("copy-drops-odd-bytes") ? size & ~(size_t)1 : size);
  return C_SUCCESS;
}

static C_Status memory_copy_d2h(C_Device device, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, src, size) || (dst == NULL && size > 0)) {
    return C_ERROR;
  }
  if (fault("nothing-is-read")) {
    return C_SUCCESS;
  }
  copy_bytes(dst, src, fault("copy-writes-past-the-end") && size == 64 ? size + 8 : size);
  return C_SUCCESS;
}

static C_Status memory_copy_d2d(C_Device device, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, dst, size) || !is_range(device, src, size)) {
    return C_ERROR;
  }
  if (fault("d2d-backwards")) {
    for (size_t i = 0; i < size; ++i) {
      ((char*)dst)[i] = ((const char*)src)[size - 1 - i];
    }
    return C_SUCCESS;
  }
  copy_bytes(dst, src, size);
  return C_SUCCESS;
}

static C_Status device_memory_set(C_Device device, void* ptr, unsigned char value, size_t size) {
  if (!is_device(device) || !is_range(device, ptr, size)) {
    return C_ERROR;
  }
  if (size > 0) {
    memset(ptr, value, fault("set-one-byte-short") ? size - 1 : size);
  }
  return C_SUCCESS;
}

static C_Status memory_copy_p2p(C_Device to, C_Device from, void* dst, const void* src, size_t size) {
  if (!is_device(to) || !is_device(from) || !is_range(to, dst, size) || !is_range(from, src, size)) {
    return C_ERROR;
  }
  copy_bytes(dst, src, size);
  return C_SUCCESS;
}

/* With memory that is not pinned the caller waits, so that it may free it. */
static C_Status queue_copy(C_Device home, C_Stream stream, void* dst, const void* src, size_t size,
                           const void* host) {
  int index = enter(home, stream);
  if (index < 0) {
    return C_ERROR;
  }
  queue(index, (struct work){.what = COPY, .dst = dst, .src = src, .size = size});
  if (host != NULL && !is_pinned(host) && !fault("pageable-does-not-wait")) {
    wait_for(index);
  }
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status async_memory_copy_h2d(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, dst, size) || (src == NULL && size > 0)) {
    return C_ERROR;
  }
  return queue_copy(device, stream, dst, src, size, src);
}

static C_Status async_memory_copy_d2h(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, src, size) || (dst == NULL && size > 0)) {
    return C_ERROR;
  }
  /* PaddlePaddle passes streams that do not exist. */
  if (!is_stream(stream) && !fault("unknown-stream-is-refused")) {
    wait_for_all(device->id);
    copy_bytes(dst, src, size);
    return C_SUCCESS;
  }
  return queue_copy(device, stream, dst, src, size, dst);
}

static C_Status async_memory_copy_d2d(C_Device device, C_Stream stream, void* dst, const void* src, size_t size) {
  if (!is_device(device) || !is_range(device, dst, size) || !is_range(device, src, size)) {
    return C_ERROR;
  }
  return queue_copy(device, stream, dst, src, size, NULL);
}

static C_Status async_memory_copy_p2p(C_Device to, C_Device from, C_Stream stream, void* dst, const void* src,
                                      size_t size) {
  if (!is_device(to) || !is_device(from) || !is_range(to, dst, size) || !is_range(from, src, size)) {
    return C_ERROR;
  }
  pthread_mutex_lock(&lock);
  C_Device home = stream_of(to, stream) >= 0 ? to : from;
  pthread_mutex_unlock(&lock);
  /* Hosts wait for nothing on the source. */
  if (to->id != from->id && home == to && !fault("peer-copy-does-not-wait")) {
    wait_for_all(from->id);
  }
  return queue_copy(home, stream, dst, src, size, NULL);
}
