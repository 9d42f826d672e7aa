/* Shared by all parts of the device: its sizes, its faults, and its one lock.
 *
 * Everything is behind that lock, but for the work itself.
 */
#pragma once

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tenon/device_ext.h"

enum {
  DEVICES = 2,
  STREAMS = 4096,
  EVENTS = 32768,
  BLOCKS = 8192,
  GRAPHS = 256,
  UNIT = 64,
};
static const size_t BUDGET = (size_t)256 << 20;

static bool fault(const char* name) {
  const char* chosen = getenv("FAULT");
  return chosen != NULL && strcmp(chosen, name) == 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static _Thread_local int thread_device = 0;
static int process_device = 0;

static bool is_device(C_Device device) {
  return device != NULL && device->id >= 0 && device->id < DEVICES;
}
