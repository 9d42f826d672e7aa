/* Graphs: a list of work, handed out again at each launch. */
#pragma once

#include "copies.h"

struct graph {
  bool alive;
  bool is_exec;
  struct work* first;
  size_t count;
};
static struct graph graphs[GRAPHS];

static size_t graph_handle(int index) {
  return 0x6A000000 + (size_t)index * 16;
}

static int graph_of(const void* handle, bool is_exec) {
  size_t index = ((size_t)handle - 0x6A000000) / 16;
  bool is_one = index < GRAPHS && (size_t)handle == graph_handle((int)index);
  return is_one && graphs[index].alive && graphs[index].is_exec == is_exec ? (int)index : -1;
}

static int new_graph(const struct work* from, bool is_exec) {
  for (int i = 0; i < GRAPHS; ++i) {
    if (graphs[i].alive) {
      continue;
    }
    graphs[i] = (struct graph){.alive = true, .is_exec = is_exec};
    struct work** last = &graphs[i].first;
    for (; from != NULL; from = from->next) {
      if (is_exec && fault("graph-drops-a-node") && from->next == NULL) {
        break;
      }
      queue_at(&last, *from);
      graphs[i].count += 1;
    }
    return i;
  }
  return -1;
}

static C_Status begin_capture(C_Device device, C_Stream stream, C_StreamCaptureMode mode) {
  (void)mode;
  int index = stream == NULL ? -1 : enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  struct stream* it = &streams[index];
  C_Status status = it->origin >= 0 ? C_ERROR : C_SUCCESS;
  if (status == C_SUCCESS) {
    it->origin = index;
    it->captured = NULL;
    it->captured_last = &it->captured;
  }
  pthread_mutex_unlock(&lock);
  return status;
}

static C_Status end_capture(C_Device device, C_Stream stream, C_CudaGraph* graph) {
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  C_Status status = C_ERROR;
  if (streams[index].origin == index && graph != NULL) {
    for (int i = 0; i < STREAMS; ++i) {
      streams[i].origin = streams[i].origin == index ? -1 : streams[i].origin;
    }
    for (int i = 0; i < EVENTS; ++i) {
      events[i].origin = events[i].origin == index ? -1 : events[i].origin;
    }
    int made = new_graph(streams[index].captured, false);
    status = made < 0 ? C_FAILED : C_SUCCESS;
    if (made >= 0) {
      *graph = (C_CudaGraph)graph_handle(made);
    }
  }
  pthread_mutex_unlock(&lock);
  return status;
}

static C_Status graph_instantiate(C_GraphExec* exec, C_CudaGraph* graph, void** node, char* log, size_t size) {
  (void)node, (void)log, (void)size;
  pthread_mutex_lock(&lock);
  int from = graph_of(*graph, false);
  int made = from < 0 ? -1 : new_graph(graphs[from].first, true);
  pthread_mutex_unlock(&lock);
  if (made < 0) {
    return C_ERROR;
  }
  *exec = (C_GraphExec)graph_handle(made);
  return C_SUCCESS;
}

static C_Status graph_launch(C_Device device, C_GraphExec exec, C_Stream stream) {
  int index = enter(device, stream);
  if (index < 0) {
    return C_ERROR;
  }
  int graph = graph_of(exec, true);
  for (const struct work* work = graph < 0 ? NULL : graphs[graph].first; work != NULL; work = work->next) {
    queue(index, *work);
  }
  pthread_mutex_unlock(&lock);
  return graph < 0 ? C_ERROR : C_SUCCESS;
}

static C_Status forget_graph(const void* handle, bool is_exec) {
  pthread_mutex_lock(&lock);
  int index = graph_of(handle, is_exec);
  if (index >= 0) {
    graphs[index].alive = false;
    for (struct work* work = graphs[index].first; work != NULL;) {
      struct work* next = work->next;
      free(work);
      work = next;
    }
  }
  pthread_mutex_unlock(&lock);
  return index < 0 ? C_ERROR : C_SUCCESS;
}

static C_Status graph_destroy(C_CudaGraph graph) {
  return forget_graph(graph, false);
}
static C_Status graph_exec_destroy(C_GraphExec exec) {
  return forget_graph(exec, true);
}

static C_Status graph_get_nodes(C_CudaGraph graph, C_CudaGraphNode* nodes, size_t* count) {
  pthread_mutex_lock(&lock);
  int index = graph_of(graph, false);
  size_t all = index < 0 ? 0 : graphs[index].count;
  pthread_mutex_unlock(&lock);
  if (index < 0) {
    return C_ERROR;
  }
  size_t room = nodes == NULL || *count > all ? all : *count;
  for (size_t i = 0; nodes != NULL && i < room; ++i) {
    nodes[i] = (C_CudaGraphNode)(graph_handle(index) + i + 1);
  }
  *count = room;
  return C_SUCCESS;
}
