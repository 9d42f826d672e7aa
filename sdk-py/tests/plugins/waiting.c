/* The device of `required.c`, without functions to query whether work is done. Callers can only wait, until
 * `waiting_set(1)` is called. */
#define InitPlugin init_required
#include "required.c"
#undef InitPlugin

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t opened = PTHREAD_COND_INITIALIZER;
static int is_open;
static int waiters;

void waiting_set(int);
int waiting_count(void);

void waiting_set(int to) {
  pthread_mutex_lock(&gate);
  is_open = to;
  pthread_cond_broadcast(&opened);
  pthread_mutex_unlock(&gate);
}

int waiting_count(void) {
  pthread_mutex_lock(&gate);
  int count = waiters;
  pthread_mutex_unlock(&gate);
  return count;
}

static C_Status wait_until_open(void) {
  pthread_mutex_lock(&gate);
  ++waiters;
  while (!is_open) {
    pthread_cond_wait(&opened, &gate);
  }
  --waiters;
  pthread_mutex_unlock(&gate);
  return C_SUCCESS;
}

static C_Status synchronize_device_waiting(C_Device device) {
  (void)device;
  return wait_until_open();
}

static C_Status synchronize_event_waiting(C_Device device, C_Event event) {
  (void)device;
  (void)event;
  return wait_until_open();
}

void InitPlugin(CustomRuntimeParams* params) {
  static char name[] = "waiting";
  init_required(params);
  if (params->device_type == NULL) {
    return;
  }
  C_DeviceInterface* table = params->interface;
  table->synchronize_device = synchronize_device_waiting;
  table->synchronize_event = synchronize_event_waiting;
  params->device_type = name;
}
