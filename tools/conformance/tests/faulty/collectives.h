/* Collectives of processes on one machine, over a file that they map. float32 is the only type of reductions. */
#pragma once

#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "copies.h"

enum {
  MEMBERS = 8,
  COMMS = 64,
  ID = 16,
  DEFERRED = 16,
};
/* What a member may contribute to a collective, or put into a message. */
static const size_t SLOT = (size_t)2 << 20;

/* The file begins with it. Then come a slot for each member, and one for the messages of each pair. */
struct group {
  atomic_uint joined;
  atomic_uint waiting;
  atomic_uint round;
  atomic_uint full[MEMBERS][MEMBERS];
};

struct comm {
  bool alive;
  size_t rank, ranks;
  char path[32];
  struct group* group;
};
static struct comm comms[COMMS];

static const size_t HEAD = 4096;

static size_t file_size(void) {
  return HEAD + SLOT * (MEMBERS + MEMBERS * MEMBERS);
}

static float* slot(struct comm* comm, size_t rank) {
  return (float*)((char*)comm->group + HEAD + SLOT * rank);
}

static void* message(struct comm* comm, size_t from, size_t to) {
  return (char*)comm->group + HEAD + SLOT * (MEMBERS + from * MEMBERS + to);
}

static void pause_briefly(void) {
  nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
}

static C_Status get_unique_id_size(size_t* size) {
  *size = ID;
  return C_SUCCESS;
}

static C_Status get_unique_id(C_CCLRootId* id) {
  static int count = 0;
  pthread_mutex_lock(&lock);
  int number = ++count;
  pthread_mutex_unlock(&lock);
  if (id == NULL || id->sz < ID) {
    return C_ERROR;
  }
  char text[64];
  snprintf(text, sizeof text, "%07d-%07d", (int)getpid() % 10000000, number % 10000000);
  memcpy(id->data, text, ID);
  return C_SUCCESS;
}

static C_Status comm_init_rank(size_t ranks, C_CCLRootId* id, size_t rank, C_CCLComm* made) {
  if (rank >= ranks || ranks > MEMBERS || id == NULL || id->sz < ID || made == NULL) {
    return C_ERROR;
  }
  struct comm comm = {.alive = true, .rank = rank, .ranks = ranks};
  snprintf(comm.path, sizeof comm.path, "/tmp/faulty-%.*s", ID - 1, (const char*)id->data);
  int file = open(comm.path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)file_size()) != 0) {
    return C_FAILED;
  }
  comm.group = mmap(NULL, file_size(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (comm.group == MAP_FAILED) {
    return C_FAILED;
  }
  atomic_fetch_add(&comm.group->joined, 1);
  while (atomic_load(&comm.group->joined) < ranks) {
    pause_briefly();
  }
  /* Everybody has opened it. */
  unlink(comm.path);
  pthread_mutex_lock(&lock);
  int index = 0;
  while (index < COMMS && comms[index].alive) {
    ++index;
  }
  if (index == COMMS || (fault("one-group-only") && index > 0)) {
    pthread_mutex_unlock(&lock);
    return C_ERROR;
  }
  comms[index] = comm;
  pthread_mutex_unlock(&lock);
  *made = (C_CCLComm)(size_t)(0xCC000000 + (size_t)index * 16);
  return C_SUCCESS;
}

static struct comm* comm_of(C_CCLComm comm) {
  size_t index = ((size_t)comm - 0xCC000000) / 16;
  return index < COMMS && comms[index].alive ? &comms[index] : NULL;
}

static C_Status destroy_comm(C_CCLComm handle) {
  struct comm* comm = comm_of(handle);
  if (comm == NULL) {
    return C_ERROR;
  }
  munmap(comm->group, file_size());
  comm->alive = false;
  return C_SUCCESS;
}

static C_Status get_comm_name(C_CCLComm handle, char* name) {
  struct comm* comm = comm_of(handle);
  if (comm == NULL) {
    return C_ERROR;
  }
  if (fault("name-without-end")) {
    memset(name, 'n', 128);
  } else {
    strcpy(name, comm->path);
  }
  return C_SUCCESS;
}

enum operation { ALL_REDUCE, REDUCE, BROADCAST, ALL_GATHER, REDUCE_SCATTER, SEND, RECV };

/* A collective, or a message, that a stream will come to. */
struct collective {
  enum operation operation;
  struct comm* comm;
  const void* from;
  void* to;
  size_t count, bytes, peer;
  C_CCLReduceOp op;
  C_Stream stream;
};

static void barrier(struct comm* comm) {
  struct group* group = comm->group;
  unsigned round = atomic_load(&group->round);
  if (atomic_fetch_add(&group->waiting, 1) + 1 == comm->ranks) {
    atomic_store(&group->waiting, 0);
    atomic_fetch_add(&group->round, 1);
  }
  while (atomic_load(&group->round) == round) {
    pause_briefly();
  }
}

static float reduced(const struct collective* call, size_t index) {
  struct comm* comm = call->comm;
  size_t ranks = fault("sums-all-but-the-last") ? comm->ranks - 1 : comm->ranks;
  float result = slot(comm, 0)[index];
  for (size_t rank = 1; rank < ranks; ++rank) {
    float other = slot(comm, rank)[index];
    switch (call->op) {
      case MAX:
        result = other > result ? other : result;
        break;
      case MIN:
        result = other < result && !fault("minimum-is-the-first") ? other : result;
        break;
      case PRODUCT:
        result *= other;
        break;
      default:
        result += other;
    }
  }
  return call->op == AVG ? result / (float)comm->ranks : result;
}

/* Computes what this member gets, when the slots of all are full. */
static void compute(const struct collective* call) {
  struct comm* comm = call->comm;
  size_t rank = comm->rank, count = call->count;
  float* to = call->to;
  switch (call->operation) {
    case REDUCE:
      if (rank != call->peer && !fault("reduce-writes-everywhere")) {
        return;
      }
      /* Falls through. */
    case ALL_REDUCE:
      for (size_t i = 0; i < count; ++i) {
        to[i] = reduced(call, i);
      }
      return;
    case BROADCAST:
      memcpy(to, slot(comm, fault("root-is-always-0") ? 0 : call->peer), call->bytes);
      return;
    case ALL_GATHER:
      for (size_t from = 0; from < comm->ranks; ++from) {
        size_t place = fault("gathers-backwards") ? comm->ranks - 1 - from : from;
        memcpy((char*)to + place * call->bytes, slot(comm, from), call->bytes);
      }
      return;
    case REDUCE_SCATTER:
      for (size_t i = 0; i < count; ++i) {
        to[i] = reduced(call, (fault("scatters-the-first-part") ? 0 : rank) * count + i);
      }
      return;
    default:
      return;
  }
}

static void run_collective(const struct collective* call) {
  struct comm* comm = call->comm;
  atomic_uint* full = NULL;
  switch (call->operation) {
    case SEND:
      full = &comm->group->full[comm->rank][call->peer];
      while (atomic_load(full) != 0) {
        pause_briefly();
      }
      memcpy(message(comm, comm->rank, call->peer), call->from, call->bytes);
      atomic_store(full, 1);
      return;
    case RECV:
      full = &comm->group->full[call->peer][comm->rank];
      while (atomic_load(full) == 0) {
        pause_briefly();
      }
      memcpy(call->to, message(comm, call->peer, comm->rank), call->bytes - (fault("messages-lack-a-byte") ? 1 : 0));
      atomic_store(full, 0);
      return;
    default: {
      size_t parts = call->operation == REDUCE_SCATTER ? comm->ranks : 1;
      memcpy(slot(comm, comm->rank), call->from, call->bytes * parts);
      barrier(comm);
      compute(call);
      barrier(comm);
    }
  }
}

static void collective_callback(C_Device device, C_Stream stream, void* user_data, C_Status* status) {
  (void)device, (void)stream, (void)status;
  run_collective(user_data);
  free(user_data);
}

/* What the thread has called since the bracket was opened. */
static _Thread_local int brackets = 0;
static _Thread_local struct collective deferred[DEFERRED];
static _Thread_local size_t deferred_count = 0;

static C_Status queue_collective(struct collective call) {
  if (fault("collectives-run-at-once")) {
    run_collective(&call);
    return C_SUCCESS;
  }
  struct C_Device_st device = {.id = thread_device};
  struct collective* kept = malloc(sizeof *kept);
  *kept = call;
  return stream_add_callback(&device, call.stream, collective_callback, kept);
}

static C_Status begin_collective(struct collective call) {
  if (call.comm == NULL || call.bytes * call.comm->ranks > SLOT * MEMBERS) {
    return C_ERROR;
  }
  if (brackets > 0 && deferred_count < DEFERRED && !fault("bracket-does-nothing")) {
    deferred[deferred_count++] = call;
    return C_SUCCESS;
  }
  return queue_collective(call);
}

static C_Status group_start(void) {
  ++brackets;
  return C_SUCCESS;
}

static C_Status group_end(void) {
  if (brackets == 0 || --brackets > 0) {
    return brackets == 0 ? C_SUCCESS : C_ERROR;
  }
  C_Status status = C_SUCCESS;
  /* A message waits for nobody if all are sent first. */
  for (int sends = 1; sends >= 0; --sends) {
    for (size_t i = 0; i < deferred_count; ++i) {
      if ((deferred[i].operation == SEND) == (sends == 1) && queue_collective(deferred[i]) != C_SUCCESS) {
        status = C_ERROR;
      }
    }
  }
  deferred_count = 0;
  return status;
}

static size_t size_of_type(C_DataType type) {
  switch (type) {
    case FLOAT64:
    case INT64:
      return 8;
    case FLOAT32:
    case INT32:
      return 4;
    case FLOAT16:
    case BFLOAT16:
    case INT16:
      return 2;
    default:
      return 1;
  }
}

static C_Status all_reduce(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp op, C_CCLComm comm,
                           C_Stream stream) {
  if (type != FLOAT32) {
    return C_FAILED;
  }
  return begin_collective((struct collective){.operation = ALL_REDUCE, .comm = comm_of(comm), .from = from, .to = to,
                                              .count = count, .bytes = count * 4, .op = op, .stream = stream});
}

static C_Status reduce(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp op, size_t root,
                       C_CCLComm comm, C_Stream stream) {
  if (type != FLOAT32) {
    return C_FAILED;
  }
  return begin_collective((struct collective){.operation = REDUCE, .comm = comm_of(comm), .from = from, .to = to,
                                              .count = count, .bytes = count * 4, .peer = root, .op = op,
                                              .stream = stream});
}

static C_Status broadcast(void* data, size_t count, C_DataType type, size_t root, C_CCLComm comm, C_Stream stream) {
  return begin_collective((struct collective){.operation = BROADCAST, .comm = comm_of(comm), .from = data, .to = data,
                                              .count = count, .bytes = count * size_of_type(type), .peer = root,
                                              .stream = stream});
}

static C_Status all_gather(void* from, void* to, size_t count, C_DataType type, C_CCLComm comm, C_Stream stream) {
  return begin_collective((struct collective){.operation = ALL_GATHER, .comm = comm_of(comm), .from = from, .to = to,
                                              .count = count, .bytes = count * size_of_type(type),
                                              .stream = stream});
}

static C_Status reduce_scatter(void* from, void* to, size_t count, C_DataType type, C_CCLReduceOp op, C_CCLComm comm,
                               C_Stream stream) {
  if (type != FLOAT32) {
    return C_FAILED;
  }
  return begin_collective((struct collective){.operation = REDUCE_SCATTER, .comm = comm_of(comm), .from = from,
                                              .to = to, .count = count, .bytes = count * 4, .op = op,
                                              .stream = stream});
}

static C_Status send_message(void* data, size_t count, C_DataType type, size_t to, C_CCLComm comm, C_Stream stream) {
  return begin_collective((struct collective){.operation = SEND, .comm = comm_of(comm), .from = data, .count = count,
                                              .bytes = count * size_of_type(type), .peer = to, .stream = stream});
}

static C_Status receive_message(void* data, size_t count, C_DataType type, size_t from, C_CCLComm comm,
                                C_Stream stream) {
  return begin_collective((struct collective){.operation = RECV, .comm = comm_of(comm), .to = data, .count = count,
                                              .bytes = count * size_of_type(type), .peer = from, .stream = stream});
}
