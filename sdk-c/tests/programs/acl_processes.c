/* Memory, notifies and events of two processes, their permissions, and processes that die. */

#define _POSIX_C_SOURCE 200809L

#include <acl/acl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define EXPECT(what)                                                         \
  do {                                                                       \
    if (!(what)) {                                                           \
      const char* why = aclGetRecentErrMsg();                                \
      printf("line %d: %s\n%s\n", __LINE__, #what, why ? why : "");          \
      exit(1);                                                               \
    }                                                                        \
  } while (0)
#define OK(call) EXPECT((call) == ACL_SUCCESS)
#define REFUSED(call, words)                                                 \
  do {                                                                       \
    EXPECT((call) == ACL_ERROR_RT_PARAM_INVALID);                            \
    const char* why = aclGetRecentErrMsg();                                  \
    if (why == NULL || strstr(why, words) == NULL) {                         \
      printf("line %d: %s\n", __LINE__, why ? why : "no message");           \
      exit(1);                                                               \
    }                                                                        \
  } while (0)

enum { SIZE = 10000, KEY_SIZE = 65, PATIENCE = 30 };

/* The message of one process to the other. */
struct told {
  char key[KEY_SIZE];
  char other_key[KEY_SIZE];
  uint64_t handle;
  aclrtIpcEventHandle event;
};

/* The ends of two pipes. */
struct peer {
  pid_t process;
  int from, to;
};

static void send_to(struct peer peer, struct told told) {
  EXPECT(write(peer.to, &told, sizeof told) == sizeof told);
}

static struct told wait_for(struct peer peer) {
  struct told told;
  EXPECT(read(peer.from, &told, sizeof told) == sizeof told);
  return told;
}

static void begin(void) {
  /* A process whose peer has failed ends too. */
  alarm(PATIENCE);
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
}

static void end(void) {
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

/* Starts a process with the other ends of the pipes. */
static struct peer start(void (*run)(struct peer)) {
  int there[2], back[2];
  EXPECT(pipe(there) == 0 && pipe(back) == 0);
  struct peer child = {0, back[0], there[1]}, parent = {getpid(), there[0], back[1]};
  child.process = fork();
  EXPECT(child.process >= 0);
  if (child.process == 0) {
    begin();
    run(parent);
    end();
    exit(0);
  }
  return child;
}

static void stop(struct peer peer) {
  int status = 0;
  EXPECT(waitpid(peer.process, &status, 0) == peer.process && status == 0);
}

static void* allocate(int value) {
  void* memory = NULL;
  OK(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemset(memory, SIZE, value, SIZE));
  return memory;
}

static void holds(const void* memory, int value) {
  unsigned char bytes[SIZE];
  OK(aclrtMemcpy(bytes, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < SIZE; ++i) EXPECT(bytes[i] == value);
}

static struct told exported(void* memory, uint64_t flag) {
  struct told told;
  memset(&told, 0, sizeof told);
  OK(aclrtIpcMemGetExportKey(memory, SIZE, told.key, sizeof told.key, flag));
  return told;
}

/* Imports while it is not listed, then while it is; writes in stream order, and sees what the other process writes. */
static void imports(struct peer peer) {
  struct told told = wait_for(peer);
  void* memory = NULL;
  REFUSED(aclrtIpcMemImportByKey(&memory, told.key, 0), "has not listed this process");
  send_to(peer, told);
  wait_for(peer);
  OK(aclrtIpcMemImportByKey(&memory, told.key, 0));
  void* again = NULL;
  OK(aclrtIpcMemImportByKey(&again, told.key, 0));
  EXPECT(again == memory);
  OK(aclrtIpcMemClose(told.key));
  holds(memory, 3);
  EXPECT(aclrtFree(memory) == ACL_ERROR_RT_PARAM_INVALID);
  EXPECT(aclrtMemset(memory, SIZE + 1, 0, SIZE + 1) == ACL_ERROR_RT_PARAM_INVALID);
  aclrtStream stream;
  OK(aclrtCreateStream(&stream));
  void* own = allocate(4);
  OK(aclrtMemcpyAsync(memory, SIZE, own, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  send_to(peer, told);
  wait_for(peer);
  holds(memory, 5);
  /* The other process has freed its memory and uses the pages for something else. */
  send_to(peer, told);
  wait_for(peer);
  holds(memory, 5);
  OK(aclrtIpcMemClose(told.key));
  REFUSED(aclrtIpcMemImportByKey(&memory, told.key, 0), "does not share this memory");
  OK(aclrtFree(own));
  OK(aclrtDestroyStream(stream));
}

static void share(void) {
  struct peer peer = start(imports);
  begin();
  void* memory = allocate(3);
  struct told told = exported(memory, 0);
  struct told same = exported(memory, 0);
  EXPECT(strcmp(told.key, same.key) == 0);
  send_to(peer, told);
  wait_for(peer);
  int32_t processes[] = {(int32_t)peer.process};
  OK(aclrtIpcMemSetImportPid(told.key, processes, 1));
  send_to(peer, told);
  wait_for(peer);
  holds(memory, 4);
  OK(aclrtMemset(memory, SIZE, 5, SIZE));
  send_to(peer, told);
  wait_for(peer);
  OK(aclrtFree(memory));
  for (int i = 0; i < 8; ++i) OK(aclrtFree(allocate(6)));
  send_to(peer, told);
  stop(peer);
  end();
}

/* Exports memory and waits to be killed. */
static void exports(struct peer peer) {
  void* memory = allocate(7);
  send_to(peer, exported(memory, 1));
  wait_for(peer);
}

/* Memory that another process has exported stays mapped when that process dies. */
static void survive(void) {
  struct peer peer = start(exports);
  begin();
  struct told told = wait_for(peer);
  void* memory = NULL;
  OK(aclrtIpcMemImportByKey(&memory, told.key, 0));
  EXPECT(kill(peer.process, SIGKILL) == 0 && waitpid(peer.process, NULL, 0) == peer.process);
  holds(memory, 7);
  OK(aclrtMemset(memory, SIZE, 8, SIZE));
  holds(memory, 8);
  OK(aclrtIpcMemClose(told.key));
  REFUSED(aclrtIpcMemImportByKey(&memory, told.key, 0), "has ended");
  end();
}

/* Maps physical memory at new addresses. */
static void* mapped(aclrtDrvMemHandle physical, size_t size) {
  void* range = NULL;
  OK(aclrtReserveMemAddress(&range, size, 0, NULL, 0));
  OK(aclrtMapMem(range, size, 0, physical, 0));
  return range;
}

static void unmap(void* range, aclrtDrvMemHandle physical) {
  OK(aclrtUnmapMem(range));
  OK(aclrtReleaseMemAddress(range));
  OK(aclrtFreePhysical(physical));
}

enum { PHYSICAL_SIZE = 2 << 20 };

static void imports_physical(struct peer peer) {
  struct told told = wait_for(peer);
  aclrtDrvMemHandle physical = NULL;
  REFUSED(aclrtMemImportFromShareableHandle(told.handle + 1, 0, &physical), "does not share this memory");
  OK(aclrtMemImportFromShareableHandle(told.handle, 0, &physical));
  void* range = mapped(physical, PHYSICAL_SIZE);
  holds(range, 1);
  OK(aclrtMemset(range, SIZE, 2, SIZE));
  unmap(range, physical);
  void* memory = NULL;
  OK(aclrtIpcMemImportByKey(&memory, told.key, 0));
  holds(memory, 2);
  OK(aclrtIpcMemClose(told.key));
}

static void share_physical(void) {
  struct peer peer = start(imports_physical);
  begin();
  aclrtPhysicalMemProp prop;
  memset(&prop, 0, sizeof prop);
  prop.location.type = ACL_MEM_LOCATION_TYPE_DEVICE;
  prop.memAttr = ACL_HBM_MEM_HUGE;
  aclrtDrvMemHandle physical = NULL;
  OK(aclrtMallocPhysical(&physical, PHYSICAL_SIZE, &prop, 0));
  void* range = mapped(physical, PHYSICAL_SIZE);
  OK(aclrtMemset(range, SIZE, 1, SIZE));
  struct told told = exported(range, 1);
  OK(aclrtMemExportToShareableHandle(physical, ACL_MEM_HANDLE_TYPE_NONE, 0, &told.handle));
  int32_t processes[] = {(int32_t)peer.process};
  OK(aclrtMemSetPidToShareableHandle(told.handle, processes, 1));
  send_to(peer, told);
  stop(peer);
  holds(range, 2);
  unmap(range, physical);
  end();
}

enum { ROUNDS = 200 };

/* Waits for one notify and sets the other, in turns. */
static void answers(struct peer peer) {
  struct told told = wait_for(peer);
  aclrtNotify ping = NULL, pong = NULL;
  OK(aclrtNotifyImportByKey(&ping, told.key, 0));
  REFUSED(aclrtNotifyImportByKey(&pong, told.other_key, 0), "has not listed this process");
  send_to(peer, told);
  wait_for(peer);
  OK(aclrtNotifyImportByKey(&pong, told.other_key, 0));
  aclrtStream stream;
  OK(aclrtCreateStream(&stream));
  for (int i = 0; i < ROUNDS; ++i) {
    OK(aclrtWaitAndResetNotify(ping, stream, 0));
    OK(aclrtRecordNotify(pong, stream));
  }
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtWaitAndResetNotify(ping, stream, 1));
  EXPECT(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_WAIT_TIMEOUT);
  /* The other process destroys the notify that this one waits for. */
  OK(aclrtWaitAndResetNotify(ping, stream, 0));
  send_to(peer, told);
  EXPECT(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_INVALID_HANDLE);
  OK(aclrtDestroyNotify(ping));
  OK(aclrtDestroyNotify(pong));
  OK(aclrtDestroyStream(stream));
}

static void share_notifies(void) {
  struct peer peer = start(answers);
  begin();
  aclrtNotify ping = NULL, pong = NULL, used = NULL;
  aclrtStream stream;
  OK(aclrtCreateNotify(&ping, ACL_NOTIFY_DEFAULT));
  OK(aclrtCreateNotify(&pong, ACL_NOTIFY_DEFAULT));
  OK(aclrtCreateNotify(&used, ACL_NOTIFY_DEFAULT));
  OK(aclrtCreateStream(&stream));
  struct told told;
  memset(&told, 0, sizeof told);
  OK(aclrtWaitAndResetNotify(used, stream, 0));
  EXPECT(aclrtNotifyGetExportKey(used, told.key, KEY_SIZE, 0) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  OK(aclrtRecordNotify(used, NULL));
  OK(aclrtSynchronizeStream(stream));
  OK(aclrtNotifyGetExportKey(ping, told.key, KEY_SIZE, ACL_RT_NOTIFY_EXPORT_FLAG_DISABLE_PID_VALIDATION));
  OK(aclrtNotifyGetExportKey(pong, told.other_key, KEY_SIZE, 0));
  send_to(peer, told);
  wait_for(peer);
  int32_t processes[] = {(int32_t)peer.process};
  OK(aclrtNotifySetImportPid(pong, processes, 1));
  send_to(peer, told);
  for (int i = 0; i < ROUNDS; ++i) {
    OK(aclrtRecordNotify(ping, stream));
    OK(aclrtWaitAndResetNotify(pong, stream, 0));
  }
  OK(aclrtSynchronizeStream(stream));
  wait_for(peer);
  OK(aclrtDestroyNotify(ping));
  stop(peer);
  OK(aclrtDestroyNotify(pong));
  OK(aclrtDestroyNotify(used));
  OK(aclrtDestroyStream(stream));
  end();
}

/* Opens an event of another process, waits for it in a stream, and records it. */
static void waits(struct peer peer) {
  struct told told = wait_for(peer);
  aclrtEvent event = NULL;
  aclrtEventRecordedStatus status;
  aclrtStream stream;
  OK(aclrtCreateStream(&stream));
  OK(aclrtIpcOpenEventHandle(told.event, &event));
  OK(aclrtQueryEventStatus(event, &status));
  EXPECT(status == ACL_EVENT_RECORDED_STATUS_NOT_READY);
  EXPECT(aclrtSynchronizeEventWithTimeout(event, 10) == ACL_ERROR_RT_EVENT_SYNC_TIMEOUT);
  void* memory = allocate(0);
  OK(aclrtStreamWaitEvent(stream, event));
  OK(aclrtMemsetAsync(memory, SIZE, 1, SIZE, stream));
  holds(memory, 0);
  send_to(peer, told);
  OK(aclrtSynchronizeStream(stream));
  holds(memory, 1);
  OK(aclrtQueryEventStatus(event, &status));
  EXPECT(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtSynchronizeEvent(event));
  send_to(peer, told);
  /* The next record never completes, as its process dies. */
  wait_for(peer);
  EXPECT(kill(peer.process, SIGKILL) == 0);
  OK(aclrtStreamWaitEvent(stream, event));
  EXPECT(aclrtSynchronizeStream(stream) == ACL_ERROR_RT_INVALID_HANDLE);
  OK(aclrtDestroyEvent(event));
  OK(aclrtFree(memory));
  OK(aclrtDestroyStream(stream));
}

static void records(struct peer peer) {
  aclrtEvent event = NULL, plain = NULL;
  aclrtNotify gate = NULL;
  aclrtStream stream;
  struct told told;
  memset(&told, 0, sizeof told);
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateNotify(&gate, ACL_NOTIFY_DEFAULT));
  OK(aclrtCreateEvent(&plain));
  REFUSED(aclrtIpcGetEventHandle(plain, &told.event), "without the flag");
  OK(aclrtCreateEventExWithFlag(&event, ACL_EVENT_IPC));
  OK(aclrtWaitAndResetNotify(gate, stream, 0));
  OK(aclrtRecordEvent(event, stream));
  OK(aclrtIpcGetEventHandle(event, &told.event));
  send_to(peer, told);
  wait_for(peer);
  OK(aclrtRecordNotify(gate, NULL));
  wait_for(peer);
  aclrtEventRecordedStatus status;
  OK(aclrtQueryEventStatus(event, &status));
  EXPECT(status == ACL_EVENT_RECORDED_STATUS_COMPLETE);
  OK(aclrtWaitAndResetNotify(gate, stream, 0));
  OK(aclrtRecordEvent(event, stream));
  send_to(peer, told);
  wait_for(peer);
}

/* The process that records is the child, so that it can be killed. */
static void share_events(void) {
  struct peer peer = start(records);
  begin();
  waits(peer);
  EXPECT(waitpid(peer.process, NULL, 0) == peer.process);
  end();
}

/* Each part runs in a process of its own, as a process that forks must not have opened a device. */
static void alone(void (*part)(void)) {
  pid_t process = fork();
  EXPECT(process >= 0);
  if (process == 0) {
    part();
    exit(0);
  }
  int status = 0;
  EXPECT(waitpid(process, &status, 0) == process && status == 0);
}

int main(void) {
  setvbuf(stdout, NULL, _IONBF, 0);
  alone(share);
  alone(survive);
  alone(share_physical);
  alone(share_notifies);
  alone(share_events);
  puts("done");
  return 0;
}
