/* What every program does: take a device and a stream, move data there and back, and give everything back in order.
 *
 *   cc -std=c11 sequence.c $(pkg-config --cflags --libs ascendcl) -o sequence && ./sequence
 */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void require(aclError status) {
  if (status != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    fprintf(stderr, "%d: %s\n", status, message != NULL ? message : "no message");
    exit(EXIT_FAILURE);
  }
}

int main(void) {
  const int32_t device = 0;
  const char text[] = "there and back again";

  /* Allocation: the library, the device with its default context and stream, a stream of one's own. */
  require(aclInit(NULL));
  require(aclrtSetDevice(device));
  aclrtStream stream = NULL;
  require(aclrtCreateStream(&stream));

  /* On a host, data needs a place on either side; on a device that runs the program itself, one is enough. */
  aclrtRunMode mode;
  require(aclrtGetRunMode(&mode));
  void* host = NULL;
  if (mode == ACL_HOST) {
    require(aclrtMallocHost(&host, sizeof text));
  } else {
    require(aclrtMalloc(&host, sizeof text, ACL_MEM_MALLOC_NORMAL_ONLY));
  }
  void* there = NULL;
  require(aclrtMalloc(&there, sizeof text, ACL_MEM_MALLOC_HUGE_FIRST));

  /* A synchronous copy there, an asynchronous one back. */
  memcpy(host, text, sizeof text);
  require(aclrtMemcpy(there, sizeof text, host, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
  memset(host, 0, sizeof text);
  require(aclrtMemcpyAsync(host, sizeof text, there, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  require(aclrtSynchronizeStream(stream));
  puts((const char*)host);

  /* Release, in the reverse order. The default context and stream go with the device. */
  require(aclrtFree(there));
  require(mode == ACL_HOST ? aclrtFreeHost(host) : aclrtFree(host));
  require(aclrtDestroyStream(stream));
  require(aclrtResetDevice(device));
  require(aclFinalize());
  return EXIT_SUCCESS;
}
