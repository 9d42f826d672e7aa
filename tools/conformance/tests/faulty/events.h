/* Events: the count of records, and how many of them are done. */
#pragma once

#include "streams.h"

static C_Status create_event(C_Device device, C_Event* event) {
  static int next = 0;
  if (!is_device(device) || event == NULL) {
    return C_ERROR;
  }
  pthread_mutex_lock(&lock);
  int index = -1;
  for (int tries = 0; tries < EVENTS && index < 0; ++tries) {
    next = (next + 1) % EVENTS;
    /* A wait that is queued may still look at the counts. */
    index = !events[next].alive && events[next].done >= events[next].recorded ? next : -1;
  }
  if (fault("few-events") && next > 5000) {
    index = -1;
  }
  if (index >= 0) {
    struct event* made = &events[index];
    made->alive = true;
    made->device = device->id;
    made->done = made->recorded;
    made->origin = -1;
    made->done_at = 0;
    *event = event_handle(index);
  }
  pthread_mutex_unlock(&lock);
  return index >= 0 ? C_SUCCESS : C_FAILED;
}

static C_Status destroy_event(C_Device device, C_Event event) {
  pthread_mutex_lock(&lock);
  int index = event_of(device, event);
  if (index >= 0) {
    events[index].alive = false;
    if (fault("destroyed-event-is-done")) {
      events[index].done = events[index].recorded;
      pthread_cond_broadcast(&changed);
    }
  }
  pthread_mutex_unlock(&lock);
  return index >= 0 ? C_SUCCESS : C_ERROR;
}

static C_Status record_event(C_Device device, C_Stream stream, C_Event event) {
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  int mark = event_of(device, event);
  if (mark >= 0) {
    events[mark].origin = streams[index].origin;
  }
  if (mark >= 0 && streams[index].origin < 0) {
    queue(index, (struct work){.what = MARK, .event = mark, .record = ++events[mark].recorded});
    if (fault("record-is-done-at-once")) {
      events[mark].done = events[mark].recorded;
    }
  }
  pthread_mutex_unlock(&lock);
  return mark >= 0 ? C_SUCCESS : C_ERROR;
}

static C_Status stream_wait_event(C_Device device, C_Stream stream, C_Event event) {
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  int mark = event_of(device, event);
  if (mark >= 0 && events[mark].origin >= 0) {
    /* From now on the stream belongs to the capture, whose work is one list, in order. */
    streams[index].origin = events[mark].origin;
  } else if (mark >= 0 && !fault("wait-ignored")) {
    queue(index, (struct work){.what = WAIT, .event = mark, .record = events[mark].recorded});
    if (fault("wait-blocks-the-caller")) {
      unsigned long record = events[mark].recorded;
      while (events[mark].done < record) {
        pthread_cond_wait(&changed, &lock);
      }
    }
  }
  pthread_mutex_unlock(&lock);
  return mark >= 0 ? C_SUCCESS : C_ERROR;
}

static C_Status query_event(C_Device device, C_Event event) {
  pthread_mutex_lock(&lock);
  int index = event_of(device, event);
  bool done = index >= 0 && events[index].done >= events[index].recorded;
  bool fresh = index >= 0 && events[index].recorded == 0;
  pthread_mutex_unlock(&lock);
  if (index >= 0 && fault("fresh-event-is-not-done") && fresh) {
    return C_FAILED;
  }
  return index < 0 ? C_ERROR : done ? C_SUCCESS : C_FAILED;
}

static C_Status synchronize_event(C_Device device, C_Event event) {
  pthread_mutex_lock(&lock);
  int index = event_of(device, event);
  if (index >= 0) {
    unsigned long record = events[index].recorded;
    while (events[index].done < record) {
      pthread_cond_wait(&changed, &lock);
    }
  }
  pthread_mutex_unlock(&lock);
  if (index >= 0 && fault("event-waits-for-the-device")) {
    wait_for_all(device->id);
  }
  return index >= 0 ? C_SUCCESS : C_ERROR;
}

/* The status with which the time of an event is refused, if it is. The lock is held. */
static C_Status time_of(int index, int64_t* time) {
  if (index < 0 || events[index].origin >= 0) {
    return C_ERROR;
  }
  struct event* event = &events[index];
  if (event->done < event->recorded && !fault("time-of-the-previous-record")) {
    return C_FAILED;
  }
  *time = event->done_at;
  return event->done_at == 0 && !fault("fresh-event-has-a-time") ? C_ERROR : C_SUCCESS;
}

static C_Status event_elapsed_time(C_Device device, C_Event start, C_Event end, int64_t* elapsed) {
  if (elapsed == NULL) {
    return C_ERROR;
  }
  int64_t from, to;
  pthread_mutex_lock(&lock);
  C_Status status = time_of(event_of(device, start), &from);
  if (status == C_SUCCESS) {
    status = time_of(event_of(device, end), &to);
  }
  pthread_mutex_unlock(&lock);
  if (status == C_SUCCESS) {
    *elapsed = fault("time-is-at-least-1") && to <= from ? 1 : to - from;
  }
  return status;
}
