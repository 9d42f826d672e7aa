/* A program in the manner of those that are written for Ascend: it has to compile as C and as C++, without a warning. */
#include "acl/acl.h"

#include <stdio.h>

#define CHECK(call)                                                                      \
  do {                                                                                   \
    aclError error = (call);                                                             \
    if (error != ACL_SUCCESS) {                                                          \
      const char* text = aclGetRecentErrMsg();                                           \
      printf("%s: %d (%s)\n", #call, error, text != NULL ? text : "without a message");  \
      return error;                                                                      \
    }                                                                                    \
  } while (0)

static void done(void* user_data) { *(int*)user_data = 1; }

static const char* told(aclError error) {
  switch (error) {
    case ACL_ERROR_NONE:
      return "success";
    case ACL_ERROR_RT_PARAM_INVALID:
      return "a wrong argument";
    default:
      return "a failure";
  }
}

int main(void) {
  int ret = aclInit(NULL);
  if (ret != ACL_ERROR_NONE && ret != ACL_ERROR_REPEAT_INITIALIZE) {
    puts(told(ret));
    return 1;
  }
  aclrtContext context = NULL;
  aclrtStream stream = NULL;
  aclrtEvent event = NULL;
  void *device = NULL, *host = NULL;
  int flag = 0;
  float elapsed = 0;
  CHECK(aclrtSetDevice(0));
  CHECK(aclrtCreateContext(&context, 0));
  CHECK(aclrtCreateStream(&stream));
  CHECK(aclrtCreateEvent(&event));
  CHECK(aclrtMalloc(&device, 256, ACL_MEM_MALLOC_HUGE_FIRST));
  CHECK(aclrtMallocHost(&host, 256));
  CHECK(aclrtMemcpyAsync(device, 256, host, 256, ACL_MEMCPY_HOST_TO_DEVICE, stream));
  CHECK(aclrtLaunchCallback(done, &flag, ACL_CALLBACK_NO_BLOCK, stream));
  CHECK(aclrtRecordEvent(event, stream));
  CHECK(aclrtSynchronizeStream(stream));
  CHECK(aclrtEventElapsedTime(&elapsed, event, event));
  aclDataBuffer* buffer = aclCreateDataBuffer(device, 256);
  const aclDataBuffer* view = buffer;
  int64_t dims[2] = {8, 8};
  aclTensorDesc* desc = aclCreateTensorDesc(ACL_FLOAT, 2, dims, ACL_FORMAT_ND);
  printf("%p %zu %f\n", aclGetDataBufferAddr(view), aclGetTensorDescSize(desc), (double)elapsed);
  return aclFinalize();
}
