/* Validation by the API, and layers of the program's own. */
#include "check.h"

static int before_calls, after_calls, finished, failed_after;
static const char* refuse;

static tenon_status before(void* user_data, const tenon_call* call, uint64_t* note) {
  CHECK(user_data == &before_calls && call->count <= 16);
  ++before_calls;
  *note = 40 + call->count;
  if (strcmp(call->function, "memory_copy_h2d") == 0) {
    CHECK(call->count == 4);
    CHECK(strcmp(call->params[0].name, "device") == 0 && call->params[0].kind == TENON_PARAM_KIND_ID);
    CHECK(strcmp(call->params[0].type, "DeviceId") == 0 && call->params[0].direction == TENON_DIRECTION_IN);
    CHECK(strcmp(call->params[1].name, "dst") == 0 && call->params[1].kind == TENON_PARAM_KIND_POINTER);
    CHECK(call->params[1].direction == TENON_DIRECTION_OUT);
    CHECK(strcmp(call->params[3].name, "size") == 0 && call->params[3].kind == TENON_PARAM_KIND_UNSIGNED);
    CHECK(call->arguments[3] == 8);
  }
  return refuse != NULL && strcmp(call->function, refuse) == 0 ? TENON_OUT_OF_MEMORY : TENON_SUCCESS;
}

static void after(void* user_data, const tenon_call* call, uint64_t note, tenon_status status) {
  CHECK(user_data == &before_calls && note == 40 + call->count);
  ++after_calls;
  failed_after += status != TENON_SUCCESS;
  if (strcmp(call->function, "device_memory_allocate") == 0 && status == TENON_SUCCESS) {
    CHECK(call->arguments[1] != 0);
  }
}

static void finish(void* user_data) {
  CHECK(user_data == &before_calls);
  ++finished;
}

/* Goes to another device of the plugin from inside of a call. */
static tenon_device elsewhere;

static tenon_status wander(void* user_data, const tenon_call* call, uint64_t* note) {
  (void)user_data;
  (void)note;
  if (elsewhere != NULL && strcmp(call->function, "query_stream") == 0) {
    tenon_device to = elsewhere, unused;
    elsewhere = NULL;
    OK(tenon_synchronize_device(to));
    GIVES(TENON_BUSY, tenon_device_open(NULL, 0, &unused));
    GIVES(TENON_BUSY, tenon_shutdown());
  }
  return TENON_SUCCESS;
}

int main(void) {
  const tenon_layer layer = {sizeof layer, "counting", &before_calls, before, after, finish};
  const tenon_layer wandering = {.size = sizeof wandering, .name = "wandering", .before = wander};
  GIVES(TENON_INVALID_ARGUMENT, tenon_layers_enable("no_such_layer"));
  GIVES(TENON_INVALID_ARGUMENT, tenon_layers_enable(NULL));
  OK(tenon_layers_enable("validate"));
  GIVES(TENON_INVALID_ARGUMENT, tenon_layer_register(NULL));
  const tenon_layer nameless = {.size = sizeof nameless};
  GIVES(TENON_INVALID_ARGUMENT, tenon_layer_register(&nameless));
  OK(tenon_layer_register(&layer));
  OK(tenon_layer_register(&wandering));

  tenon_device device;
  OK(tenon_device_open(NULL, 0, &device));
  GIVES(TENON_BUSY, tenon_layers_enable(""));
  GIVES(TENON_BUSY, tenon_layer_register(&layer));
  CHECK(before_calls > 0 && before_calls == after_calls);

  /* A rule of validation; the inner layer and the device do not see the call. */
  void* memory;
  tenon_error error;
  char bytes[8] = "1234567";
  OK(tenon_device_memory_allocate(device, &memory, 8));
  OK(tenon_memory_copy_h2d(device, memory, bytes, 8));
  OK(tenon_device_memory_deallocate(device, memory, 8));
  int seen = before_calls;
  GIVES(TENON_REFUSED, tenon_device_memory_deallocate(device, memory, 8));
  CHECK(before_calls == seen);
  OK(tenon_error_last(&error));
  CHECK(strcmp(error.layer, "validate") == 0 && error.rule != NULL && error.rule[0] == 'V');
  CHECK(error.plugin_message == NULL && strstr(tenon_error_text(), error.rule) != NULL);
  GIVES(TENON_REFUSED, tenon_memory_copy_d2h(device, bytes, memory, 8));

  /* A call that the program's layer refuses returns the layer's status. */
  refuse = "device_memory_allocate";
  failed_after = 0;
  memory = NULL;
  GIVES(TENON_OUT_OF_MEMORY, tenon_device_memory_allocate(device, &memory, 8));
  CHECK(memory == NULL && failed_after == 0);
  OK(tenon_error_last(&error));
  CHECK(strcmp(error.layer, "counting") == 0 && error.rule == NULL);
  refuse = NULL;

  /* The current device is what it was, whatever a layer does. */
  size_t count;
  OK(tenon_device_count(NULL, &count));
  if (count > 1) {
    tenon_device second, current;
    tenon_plugin plugin;
    bool done;
    OK(tenon_plugin_find(NULL, &plugin));
    OK(tenon_device_open(NULL, 1, &second));
    OK(tenon_synchronize_device(device));
    elsewhere = second;
    OK(tenon_query_stream(device, NULL, &done));
    CHECK(elsewhere == NULL);
    OK(tenon_get_device(plugin, &current));
    CHECK(current == device);
    OK(tenon_synchronize_device(device));
  }

  /* A leak is reported at the end. */
  OK(tenon_device_memory_allocate(device, &memory, 12345));
  OK(tenon_shutdown());
  CHECK(finished == 1);
  puts("done");
  return 0;
}
