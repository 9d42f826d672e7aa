/* Tests the errors of the ACL interface for invalid calls, from C and from C++: the code, the words, and
 * nothing worse. */
#include <acl/acl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(int holds, const char* what, int line) {
  if (!holds) {
    fprintf(stderr, "acl.c:%d: %s\n", line, what);
    exit(EXIT_FAILURE);
  }
}

#define REQUIRE(condition) require((condition) != 0, #condition, __LINE__)

/* The call answers the code, and says why with these words in it. Asking a second time finds nothing. */
static void refused(aclError status, aclError expected, const char* words, const char* call, int line) {
  if (status != expected) {
    fprintf(stderr, "acl.c:%d: %s answers %d, not %d\n", line, call, status, expected);
    exit(EXIT_FAILURE);
  }
  const char* message = aclGetRecentErrMsg();
  if (message == NULL || strstr(message, words) == NULL) {
    fprintf(stderr, "acl.c:%d: %s says `%s`, without `%s`\n", line, call, message ? message : "", words);
    exit(EXIT_FAILURE);
  }
  require(aclGetRecentErrMsg() == NULL, "the message is cleared", line);
}

#define REFUSED(call, expected, words) refused((call), (expected), (words), #call, __LINE__)

static void null_and_zero(void) {
  void* memory = NULL;
  REFUSED(aclrtMalloc(NULL, 16, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, "dev_ptr");
  REFUSED(aclrtMalloc(&memory, 0, ACL_MEM_MALLOC_HUGE_FIRST), ACL_ERROR_INVALID_PARAM, "size");
  REFUSED(aclrtMallocHost(&memory, 0), ACL_ERROR_INVALID_PARAM, "size");
  REFUSED(aclrtFree(NULL), ACL_ERROR_INVALID_PARAM, "dev_ptr");
  REFUSED(aclrtFreeHost(NULL), ACL_ERROR_INVALID_PARAM, "host_ptr");
  REFUSED(aclrtMemcpy(NULL, 4, &memory, 4, ACL_MEMCPY_HOST_TO_HOST), ACL_ERROR_INVALID_PARAM, "dst");
  REFUSED(aclrtDestroyStream(NULL), ACL_ERROR_INVALID_PARAM, "stream");
  REFUSED(aclrtSetCurrentContext(NULL), ACL_ERROR_INVALID_PARAM, "context");
  REFUSED(aclrtGetDevice(NULL), ACL_ERROR_INVALID_PARAM, "device_id");
  REFUSED(aclrtDestroyEvent(NULL), ACL_ERROR_INVALID_PARAM, "event");
}

static void made_up(void) {
  int nothing = 0;
  void* memory = NULL;
  REFUSED(aclrtSynchronizeStream(&nothing), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  REFUSED(aclrtSynchronizeEvent(&nothing), ACL_ERROR_RT_INVALID_HANDLE, "event");
  REFUSED(aclrtSetCurrentContext(&nothing), ACL_ERROR_RT_PARAM_INVALID, "context");
  REFUSED(aclrtFree(&nothing), ACL_ERROR_RT_PARAM_INVALID, "dev_ptr");
  REFUSED(aclrtSetDevice(-1), ACL_ERROR_RT_INVALID_DEVICEID, "-1");
  REFUSED(aclrtSetDevice(99), ACL_ERROR_RT_INVALID_DEVICEID, "99");
  REFUSED(aclrtMalloc(&memory, 16, (aclrtMemMallocPolicy)77), ACL_ERROR_INVALID_PARAM, "policy");
  REFUSED(aclrtSynchronizeStreamWithTimeout(NULL, 0), ACL_ERROR_INVALID_PARAM, "timeout");
}

static void out_of_bounds(void) {
  char host[64];
  void* memory = NULL;
  memset(host, 7, sizeof host);
  REQUIRE(aclrtMalloc(&memory, sizeof host, ACL_MEM_MALLOC_HUGE_FIRST) == ACL_SUCCESS);
  REQUIRE((uintptr_t)memory % 64 == 0);
  REFUSED(aclrtMemcpy(memory, 32, host, 33, ACL_MEMCPY_HOST_TO_DEVICE), ACL_ERROR_RT_PARAM_INVALID, "33");
  REFUSED(aclrtMemcpy(memory, 4, host, 4, (aclrtMemcpyKind)99), ACL_ERROR_INVALID_PARAM, "kind");
  REQUIRE(aclrtMemcpy(memory, sizeof host, host, 0, ACL_MEMCPY_HOST_TO_DEVICE) == ACL_SUCCESS);
  REFUSED(aclrtMemset(memory, 1 << 20, 0, 1 << 20), ACL_ERROR_RT_PARAM_INVALID, "allocation");
  REQUIRE(aclrtFree(memory) == ACL_SUCCESS);
  REFUSED(aclrtFree(memory), ACL_ERROR_RT_PARAM_INVALID, "dev_ptr");
}

static void of_another_context(void) {
  aclrtContext first = NULL;
  aclrtContext second = NULL;
  aclrtStream stream = NULL;
  REQUIRE(aclrtGetCurrentContext(&first) == ACL_SUCCESS);
  REQUIRE(aclrtCreateStream(&stream) == ACL_SUCCESS);
  REQUIRE(aclrtCreateContext(&second, 1) == ACL_SUCCESS);
  int32_t device = -1;
  REQUIRE(aclrtGetDevice(&device) == ACL_SUCCESS && device == 1);
  REFUSED(aclrtSynchronizeStream(stream), ACL_ERROR_RT_STREAM_CONTEXT, "stream");
  REQUIRE(aclrtDestroyContext(second) == ACL_SUCCESS);
  void* memory = NULL;
  REFUSED(aclrtMallocHost(&memory, 16), ACL_ERROR_RT_CONTEXT_NULL, "context");
  REQUIRE(aclrtSetCurrentContext(first) == ACL_SUCCESS);
  REQUIRE(aclrtDestroyStream(stream) == ACL_SUCCESS);
  REFUSED(aclrtDestroyStream(stream), ACL_ERROR_RT_INVALID_HANDLE, "stream");
  REFUSED(aclrtDestroyContext(first), ACL_ERROR_RT_CONTEXT_NULL, "context");
}

/* A thread starts without a context, and its messages are its own. */
static void* elsewhere(void* unused) {
  (void)unused;
  aclrtStream stream = NULL;
  REQUIRE(aclGetRecentErrMsg() == NULL);
  REFUSED(aclrtCreateStream(&stream), ACL_ERROR_RT_CONTEXT_NULL, "context");
  REFUSED(aclrtProcessReport(-1), ACL_ERROR_RT_THREAD_SUBSCRIBE, "thread");
  return NULL;
}

static void in_another_thread(void) {
  pthread_t thread;
  REQUIRE(aclrtSetDevice(99) == ACL_ERROR_RT_INVALID_DEVICEID);
  REQUIRE(pthread_create(&thread, NULL, elsewhere, NULL) == 0);
  pthread_join(thread, NULL);
  const char* message = aclGetRecentErrMsg();
  REQUIRE(message != NULL && strstr(message, "99") != NULL);
}

static void call(void* user_data) { *(int*)user_data += 1; }

static void without_a_thread(void) {
  int calls = 0;
  REFUSED(aclrtLaunchCallback(call, &calls, ACL_CALLBACK_BLOCK, NULL), ACL_ERROR_RT_STREAM_NO_CB_REG, "stream");
  REFUSED(aclrtLaunchCallback(NULL, &calls, ACL_CALLBACK_BLOCK, NULL), ACL_ERROR_INVALID_PARAM, "fn");
  REQUIRE(aclrtLaunchHostFunc(NULL, call, &calls) == ACL_SUCCESS);
  REQUIRE(aclrtSynchronizeStream(NULL) == ACL_SUCCESS);
  REQUIRE(calls == 1);
}

static void without_a_compiler(void) {
  uint32_t model = 0;
  REFUSED(aclmdlLoadFromFile("model.om", &model), ACL_ERROR_API_NOT_SUPPORT, "models");
}

int main(void) {
  REQUIRE(aclInit(NULL) == ACL_SUCCESS);
  REQUIRE(aclInit(NULL) == ACL_ERROR_REPEAT_INITIALIZE);
  (void)aclGetRecentErrMsg();
  REFUSED(aclrtResetDevice(0), ACL_ERROR_RT_CONTEXT_RELEASE_ERROR, "0");
  REQUIRE(aclrtSetDevice(0) == ACL_SUCCESS);

  null_and_zero();
  made_up();
  out_of_bounds();
  of_another_context();
  in_another_thread();
  without_a_thread();
  without_a_compiler();

  REQUIRE(aclrtResetDevice(0) == ACL_SUCCESS);
  uint64_t count = 9;
  REQUIRE(aclFinalizeReference(&count) == ACL_SUCCESS && count == 1);
  REQUIRE(aclFinalize() == ACL_SUCCESS);
  REFUSED(aclFinalize(), ACL_ERROR_REPEAT_FINALIZE, "initialis");
  puts("done");
  return EXIT_SUCCESS;
}
