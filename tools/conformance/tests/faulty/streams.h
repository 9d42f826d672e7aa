/* Streams: a thread each, and a list of work. */
#pragma once

#include "memory.h"

enum what { COPY, CALL, MARK, WAIT };

struct work {
  enum what what;
  void* dst;
  const void* src;
  size_t size;
  C_Callback callback;
  void* user_data;
  int event;
  unsigned long record;
  struct work* next;
};

struct stream {
  bool alive;
  bool running;
  int device;
  pthread_t thread;
  struct work* first;
  struct work** last;
  bool busy;
  int origin; /* The stream whose capture takes its work; -1 for none. */
  struct work* captured;
  struct work** captured_last;
};
static struct stream streams[STREAMS];
static int next_stream = DEVICES;

struct event {
  bool alive;
  int device;
  unsigned long recorded; /* How often it was recorded. */
  unsigned long done;     /* The latest of these records that is done. */
  int origin;             /* The capture in which it was recorded last, by its stream; -1 for none. */
  int64_t done_at;        /* When that record was done, in nanoseconds; 0 before the first. */
};
static struct event events[EVENTS];

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static C_Stream stream_handle(int index) {
  return (C_Stream)(size_t)(0x51000000 + index * 16);
}

/* The index of a live stream; -1 for another. The default stream of a device is null. */
static int stream_of(C_Device device, C_Stream stream) {
  if (!is_device(device)) {
    return -1;
  }
  if (stream == NULL) {
    return device->id;
  }
  size_t index = ((size_t)stream - 0x51000000) / 16;
  if (index < DEVICES || index >= STREAMS || stream != stream_handle((int)index)) {
    return -1;
  }
  return streams[index].alive && streams[index].device == device->id ? (int)index : -1;
}

/* Whether it is a live stream of any device. */
static bool is_stream(C_Stream stream) {
  bool found = false;
  pthread_mutex_lock(&lock);
  for (int id = 0; id < DEVICES; ++id) {
    struct C_Device_st device = {.id = id};
    found |= stream_of(&device, stream) >= 0;
  }
  pthread_mutex_unlock(&lock);
  return found;
}

static C_Event event_handle(int index) {
  return (C_Event)(size_t)(0xE7000000 + (size_t)index * 16);
}

static int event_of(C_Device device, C_Event event) {
  size_t index = ((size_t)event - 0xE7000000) / 16;
  if (!is_device(device) || index >= EVENTS || event != event_handle((int)index)) {
    return -1;
  }
  return events[index].alive && events[index].device == device->id ? (int)index : -1;
}

static void copy_bytes(void* dst, const void* src, size_t size) {
  if (size > 0) {
    memmove(dst, src, size);
  }
}

/* Runs one piece of work, with the lock held on entry and on return. */
static void run_work(int index, struct work* work) {
  struct event* event = &events[work->event];
  switch (work->what) {
    case COPY:
      pthread_mutex_unlock(&lock);
      copy_bytes(work->dst, work->src, work->size);
      pthread_mutex_lock(&lock);
      break;
    case CALL: {
      pthread_mutex_unlock(&lock);
      struct C_Device_st device = {streams[index].device};
      C_Stream stream = index < DEVICES ? NULL : stream_handle(index);
      for (int times = fault("callback-twice") ? 2 : 1; times > 0; --times) {
        C_Status status = fault("callback-status-unset") ? C_FAILED : C_SUCCESS;
        work->callback(&device, stream, work->user_data, &status);
      }
      pthread_mutex_lock(&lock);
      break;
    }
    case MARK:
      if (event->done < work->record) {
        event->done = work->record;
        event->done_at = now();
      }
      break;
    case WAIT:
      while (event->done < (fault("wait-moves-with-the-event") ? event->recorded : work->record)) {
        pthread_cond_wait(&changed, &lock);
      }
      break;
  }
}

static void* stream_main(void* argument) {
  int index = (int)(size_t)argument;
  struct stream* stream = &streams[index];
  pthread_mutex_lock(&lock);
  while (stream->running || stream->first != NULL) {
    struct work* work = stream->first;
    if (work == NULL) {
      pthread_cond_wait(&changed, &lock);
      continue;
    }
    stream->first = work->next;
    if (stream->first == NULL) {
      stream->last = &stream->first;
    }
    stream->busy = true;
    run_work(index, work);
    free(work);
    stream->busy = false;
    pthread_cond_broadcast(&changed);
  }
  pthread_mutex_unlock(&lock);
  return NULL;
}

static void start_stream(int index, int device) {
  struct stream* stream = &streams[index];
  *stream = (struct stream){.alive = true, .running = true, .device = device, .origin = -1};
  stream->last = &stream->first;
  pthread_create(&stream->thread, NULL, stream_main, (void*)(size_t)index);
}

static struct work* queue_at(struct work*** last, struct work work) {
  struct work* made = malloc(sizeof *made);
  *made = work;
  made->next = NULL;
  **last = made;
  *last = &made->next;
  return made;
}

/* Puts work into a stream, or into its capture. The lock is held. */
static void queue(int index, struct work work) {
  struct stream* stream = &streams[index];
  if (stream->origin >= 0) {
    queue_at(&streams[stream->origin].captured_last, work);
    if (!fault("capture-runs")) {
      return;
    }
  }
  if (fault("copies-run-early") && work.what == COPY) {
    copy_bytes(work.dst, work.src, work.size);
    return;
  }
  if (fault("callbacks-overtake") && work.what == CALL && stream->first != NULL) {
    struct work* made = malloc(sizeof *made);
    *made = work;
    made->next = stream->first;
    stream->first = made;
    return;
  }
  queue_at(&stream->last, work);
  pthread_cond_broadcast(&changed);
}

static bool is_idle(int index) {
  return streams[index].first == NULL && !streams[index].busy;
}

static void wait_for(int index) {
  while (!is_idle(index)) {
    pthread_cond_wait(&changed, &lock);
  }
}

static void wait_for_all(int device) {
  pthread_mutex_lock(&lock);
  for (int i = 0; i < STREAMS; ++i) {
    if (streams[i].device == device && streams[i].last != NULL) {
      wait_for(i);
    }
  }
  pthread_mutex_unlock(&lock);
}

/* Looks a stream up and leaves the lock held; -1, without the lock, where there is none. */
static int enter(C_Device device, C_Stream stream) {
  pthread_mutex_lock(&lock);
  int index = stream_of(device, stream);
  if (index < 0) {
    pthread_mutex_unlock(&lock);
  }
  return index;
}

static C_Status create_stream(C_Device device, C_Stream* stream) {
  if (!is_device(device) || stream == NULL) {
    return C_ERROR;
  }
  if (fault("stream-not-written")) {
    return C_SUCCESS;
  }
  pthread_mutex_lock(&lock);
  /* Numbers come round again late, so that a stale handle stays one for long. */
  int index = next_stream;
  while (streams[index].alive || streams[index].last != NULL) {
    index = index + 1 < STREAMS ? index + 1 : DEVICES;
  }
  next_stream = index + 1 < STREAMS ? index + 1 : DEVICES;
  start_stream(index, device->id);
  pthread_mutex_unlock(&lock);
  *stream = stream_handle(index);
  return C_SUCCESS;
}

static C_Status destroy_stream(C_Device device, C_Stream stream) {
  if (is_device(device) && stream == NULL) {
    return C_SUCCESS;
  }
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  if (fault("destroy-drops-work")) {
    streams[index].first = NULL;
    streams[index].last = &streams[index].first;
  }
  streams[index].alive = false;
  streams[index].running = false;
  pthread_cond_broadcast(&changed);
  pthread_t thread = streams[index].thread;
  pthread_mutex_unlock(&lock);
  pthread_join(thread, NULL);
  pthread_mutex_lock(&lock);
  streams[index].last = NULL;
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status synchronize_stream(C_Device device, C_Stream stream) {
  int index = enter(device, stream);
  if (index < 0 && fault("stale-stream-crashes") && stream != NULL) {
    return *(C_Status*)(void*)stream;
  }
  if (index < 0 && fault("stale-stream-hangs") && stream != NULL) {
    for (;;) {
      nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    }
  }
  if (index < 0) {
    return C_ERROR;
  }
  if (!fault("synchronize-does-not-wait")) {
    wait_for(index);
  }
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status query_stream(C_Device device, C_Stream stream) {
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  bool idle = is_idle(index) || fault("query-lies");
  pthread_mutex_unlock(&lock);
  return idle ? C_SUCCESS : C_FAILED;
}

static C_Status stream_add_callback(C_Device device, C_Stream stream, C_Callback callback, void* user_data) {
  if (fault("callback-although-refused") && !is_device(device)) {
    C_Status status = C_SUCCESS;
    callback(device, stream, user_data, &status);
    return C_ERROR;
  }
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  queue(index, (struct work){.what = CALL, .callback = callback, .user_data = user_data});
  pthread_mutex_unlock(&lock);
  return C_SUCCESS;
}

static C_Status synchronize_device(C_Device device) {
  if (!is_device(device)) {
    return C_ERROR;
  }
  if (fault("synchronize-device-skips-streams")) {
    pthread_mutex_lock(&lock);
    wait_for(device->id);
    pthread_mutex_unlock(&lock);
    return C_SUCCESS;
  }
  wait_for_all(device->id);
  return C_SUCCESS;
}
