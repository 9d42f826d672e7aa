/* The ACL interface beside the library's own, on whatever device there is. */

#define _POSIX_C_SOURCE 200809L /* for setenv */

#include <acl/acl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tenon/tenon.h>

#define EXPECT(what)                                                   \
  do {                                                                 \
    if (!(what)) {                                                     \
      const char* why = aclGetRecentErrMsg();                          \
      printf("line %d: %s\n%s\n", __LINE__, #what, why ? why : "");    \
      exit(1);                                                         \
    }                                                                  \
  } while (0)
#define OK(call) EXPECT((call) == ACL_SUCCESS)

enum { SIZE = 4096 };

static int order;

static void first(void* seen) { *(int*)seen = ++order; }

/* The result for a thread without a subscription. */
static void* serve(void* told) {
  *(aclError*)told = aclrtProcessReport(-1);
  return NULL;
}

/* Allocations, streams, events and callbacks, as far as they go on any device. */
static void work(void) {
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  aclrtStream stream;
  aclrtEvent start, end;
  void *device, *host;
  OK(aclrtCreateStream(&stream));
  OK(aclrtCreateEvent(&start));
  OK(aclrtCreateEvent(&end));
  OK(aclrtMalloc(&device, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT((uintptr_t)device % 64 == 0);
  OK(aclrtMallocHost(&host, SIZE));
  memset(host, 0, SIZE);

  OK(aclrtRecordEvent(start, stream));
  OK(aclrtMemsetAsync(device, SIZE, 0x11, SIZE, stream));
  OK(aclrtMemcpyAsync(host, SIZE, device, SIZE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  OK(aclrtRecordEvent(end, stream));
  OK(aclrtSynchronizeStream(stream));
  float ms = -1;
  OK(aclrtEventElapsedTime(&ms, start, end));
  EXPECT(ms >= 0);
  for (int i = 0; i < SIZE; ++i) EXPECT(((char*)host)[i] == 0x11);

  EXPECT(aclrtProcessReport(-1) == ACL_ERROR_RT_THREAD_SUBSCRIBE);
  int one = 0, two = 0;
  OK(aclrtSubscribeReport((uint64_t)pthread_self(), stream));
  OK(aclrtLaunchCallback(first, &one, ACL_CALLBACK_BLOCK, stream));
  OK(aclrtLaunchCallback(first, &two, ACL_CALLBACK_NO_BLOCK, stream));
  while (two == 0) OK(aclrtProcessReport(10000));
  EXPECT(one == 1 && two == 2);
  OK(aclrtUnSubscribeReport((uint64_t)pthread_self(), stream));
  pthread_t thread;
  aclError told = ACL_SUCCESS;
  EXPECT(pthread_create(&thread, NULL, serve, &told) == 0);
  EXPECT(pthread_join(thread, NULL) == 0);
  EXPECT(told == ACL_ERROR_RT_THREAD_SUBSCRIBE);
  int three = 0;
  OK(aclrtLaunchHostFunc(stream, first, &three));
  OK(aclrtSynchronizeStream(stream));
  EXPECT(three == 3);
  order = 0;

  OK(aclrtFree(device));
  OK(aclrtFreeHost(host));
  OK(aclrtDestroyEvent(start));
  OK(aclrtDestroyEvent(end));
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
}

/* Which devices are meant does not change while one is open. */
static void stay(void) {
  uint32_t count = 0;
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  EXPECT(setenv("TENON_ACL_DEVICE", "nobody", 1) == 0);
  OK(aclrtGetDeviceCount(&count));
  OK(aclrtSetDevice(0));
  OK(aclrtResetDevice(0));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  EXPECT(aclrtGetDeviceCount(&count) != ACL_SUCCESS);
  EXPECT(unsetenv("TENON_ACL_DEVICE") == 0);
}

/* The program ends the library under the interface. */
static void shut_down(void) {
  aclrtStream stream;
  void* memory;
  OK(aclrtSetDevice(0));
  OK(aclrtCreateStream(&stream));
  OK(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  EXPECT(tenon_shutdown() == TENON_SUCCESS);
  EXPECT(aclrtSynchronizeStream(stream) != ACL_SUCCESS);
  EXPECT(aclGetRecentErrMsg() != NULL);
  EXPECT(aclGetRecentErrMsg() == NULL);
  EXPECT(aclrtMemset(memory, SIZE, 0, SIZE) != ACL_SUCCESS);
  EXPECT(aclrtFree(memory) != ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(stream) != ACL_SUCCESS);
  (void)aclrtResetDevice(0);
  work();
}

/* Memory of the library's own is the device's for this interface too. */
static void share(const char* type) {
  tenon_device device;
  void *memory, *other;
  char sent[64], got[64];
  EXPECT(tenon_device_open(type, 0, &device) == TENON_SUCCESS);
  EXPECT(tenon_device_memory_allocate(device, &memory, 64) == TENON_SUCCESS);
  memset(sent, 7, sizeof sent);
  OK(aclrtSetDevice(0));
  OK(aclrtMalloc(&other, 64, ACL_MEM_MALLOC_NORMAL_ONLY));
  OK(aclrtMemcpy(memory, 64, sent, 64, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemcpy(other, 64, memory, 64, ACL_MEMCPY_DEVICE_TO_DEVICE));
  EXPECT(tenon_memory_copy_d2h(device, got, other, 64) == TENON_SUCCESS);
  EXPECT(memcmp(sent, got, 64) == 0);
  OK(aclrtFree(other));
  OK(aclrtResetDevice(0));
  EXPECT(tenon_device_memory_deallocate(device, memory, 64) == TENON_SUCCESS);
  EXPECT(tenon_device_close(device) == TENON_SUCCESS);
  EXPECT(tenon_shutdown() == TENON_SUCCESS);
}

int main(int argc, char** argv) {
  uint32_t count = 0;
  OK(aclrtGetDeviceCount(&count));
  EXPECT(count >= 1);
  for (int round = 0; round < 3; ++round) work();
  stay();
  shut_down();
  share(argc > 1 ? argv[1] : NULL);
  work();
  puts("done");
  return 0;
}
