/* `misuse list` prints the table; `misuse NAME` runs one of its programs. */
#include "misuse.h"

tenon_device device, other;
tenon_stream one, two;
bool destroys_held_stream;

static const struct misuse* const tables[] = {memory_misuses, free_misuses, handle_misuses,
                                              order_misuses,  leak_misuses, correct_programs};
enum { TABLES = sizeof tables / sizeof *tables };

void answered(tenon_status status) {
  if (status != TENON_SUCCESS) {
    printf("answered %s\n", tenon_status_name(status));
  }
}

char* device_memory(size_t size) {
  void* memory;
  OK(tenon_device_memory_allocate(device, &memory, size));
  return memory;
}

char* pinned_memory(size_t size) {
  void* memory;
  OK(tenon_host_memory_allocate(device, &memory, size));
  return memory;
}

char* unified_memory(size_t size) {
  void* memory;
  OK(tenon_unified_memory_allocate(device, &memory, size));
  return memory;
}

char* pool_block(size_t size, tenon_stream stream) {
  void* memory;
  OK(tenon_pool_allocate(device, size, stream, &memory));
  return memory;
}

tenon_buffer buffer_of(size_t size, char** address) {
  tenon_buffer buffer;
  void* begin;
  OK(tenon_buffer_create(device, size, one, &buffer));
  OK(tenon_buffer_address(buffer, &begin));
  *address = begin;
  return buffer;
}

tenon_event new_event(void) {
  tenon_event event;
  OK(tenon_create_event(device, &event));
  return event;
}

static sem_t gate;

static void wait_at_gate(tenon_device gated, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)gated;
  (void)stream;
  (void)user_data;
  *status = sem_wait(&gate) == 0 ? TENON_SUCCESS : TENON_FAILED;
}

void hold(tenon_stream stream) {
  CHECK(sem_init(&gate, 0, 0) == 0);
  OK(tenon_stream_add_callback(device, stream, wait_at_gate, NULL));
}

void let_go(void) {
  CHECK(sem_post(&gate) == 0);
}

/* Lets the gate go once the call to destroy a stream has passed the validation: the device may wait in there. */
static tenon_status before(void* user_data, const tenon_call* call, uint64_t* note) {
  (void)user_data;
  (void)note;
  if (destroys_held_stream && strcmp(call->function, "destroy_stream") == 0) {
    destroys_held_stream = false;
    let_go();
  }
  return TENON_SUCCESS;
}

static void list(void) {
  for (size_t table = 0; table < TABLES; ++table) {
    for (const struct misuse* row = tables[table]; row->name != NULL; ++row) {
      printf("%s\t%s\t%s\t%s\n", row->name, row->mistake, row->caught_by != NULL ? row->caught_by : "-",
             row->reason != NULL ? row->reason : "");
    }
  }
}

static void run(const struct misuse* row) {
  const tenon_layer layer = {.size = sizeof layer, .name = "gate", .before = before};
  OK(tenon_layer_register(&layer));
  OK(tenon_device_open("cpu", 0, &device));
  OK(tenon_device_open("cpu", 1, &other));
  OK(tenon_create_stream(device, &one));
  OK(tenon_create_stream(device, &two));
  row->body();
  /* A program may have destroyed or closed them itself. */
  if (one != NULL) {
    OK(tenon_destroy_stream(device, one));
  }
  if (two != NULL) {
    OK(tenon_destroy_stream(device, two));
  }
  tenon_shutdown();
  puts("done");
}

int main(int count, char** arguments) {
  CHECK(count == 2);
  if (strcmp(arguments[1], "list") == 0) {
    list();
    return 0;
  }
  for (size_t table = 0; table < TABLES; ++table) {
    for (const struct misuse* row = tables[table]; row->name != NULL; ++row) {
      if (strcmp(arguments[1], row->name) == 0) {
        run(row);
        return 0;
      }
    }
  }
  fprintf(stderr, "there is no program %s\n", arguments[1]);
  return 1;
}
