/* The basic sequence of a program: set a device, create a stream, copy data there and back, and release everything.
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

  /* Initialises the library, sets a device (with its default context and stream), and creates a stream. */
  require(aclInit(NULL));
  require(aclrtSetDevice(device));
  aclrtStream stream = NULL;
  require(aclrtCreateStream(&stream));

  /* A program on the host needs a buffer on both sides. A program that runs on the device needs only one. */
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

  /* Copies to the device synchronously, and back asynchronously. */
  memcpy(host, text, sizeof text);
  require(aclrtMemcpy(there, sizeof text, host, sizeof text, ACL_MEMCPY_HOST_TO_DEVICE));
  memset(host, 0, sizeof text);
  require(aclrtMemcpyAsync(host, sizeof text, there, sizeof text, ACL_MEMCPY_DEVICE_TO_HOST, stream));
  require(aclrtSynchronizeStream(stream));
  puts((const char*)host);

  /* Releases everything in reverse order. The default context and stream are released with the device. */
  require(aclrtFree(there));
  require(mode == ACL_HOST ? aclrtFreeHost(host) : aclrtFree(host));
  require(aclrtDestroyStream(stream));
  require(aclrtResetDevice(device));
  require(aclFinalize());
  return EXIT_SUCCESS;
}
