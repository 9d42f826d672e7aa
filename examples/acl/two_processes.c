/* Two processes that share device memory: one exports it, the other imports it by its key and writes to it.
 *
 *   cc -std=c11 two_processes.c $(pkg-config --cflags --libs ascendcl) -o two_processes && ./two_processes
 */
#define _POSIX_C_SOURCE 200809L /* for fork and pipe */

#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 1024, SIZE = COUNT * sizeof(int), KEY_SIZE = 65 };

static void require(aclError status) {
  if (status != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    fprintf(stderr, "%d: %s\n", status, message != NULL ? message : "no message");
    exit(EXIT_FAILURE);
  }
}

/* Imports the memory whose key comes through the pipe, and doubles each number in it. */
static void import(int pipe) {
  char key[KEY_SIZE];
  if (read(pipe, key, sizeof key) != sizeof key) exit(EXIT_FAILURE);
  require(aclInit(NULL));
  require(aclrtSetDevice(0));
  void* there = NULL;
  require(aclrtIpcMemImportByKey(&there, key, 0));
  int numbers[COUNT];
  require(aclrtMemcpy(numbers, SIZE, there, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
  for (int i = 0; i < COUNT; ++i) numbers[i] *= 2;
  require(aclrtMemcpy(there, SIZE, numbers, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));
  require(aclrtIpcMemClose(key));
  require(aclrtResetDevice(0));
  require(aclFinalize());
}

int main(void) {
  int ends[2];
  if (pipe(ends) != 0) return EXIT_FAILURE;
  /* A process must not use a device that its parent has opened, so the fork comes first. */
  pid_t child = fork();
  if (child < 0) return EXIT_FAILURE;
  if (child == 0) {
    import(ends[0]);
    return EXIT_SUCCESS;
  }

  require(aclInit(NULL));
  require(aclrtSetDevice(0));
  int numbers[COUNT];
  for (int i = 0; i < COUNT; ++i) numbers[i] = i;
  void* memory = NULL;
  require(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  require(aclrtMemcpy(memory, SIZE, numbers, SIZE, ACL_MEMCPY_HOST_TO_DEVICE));

  /* Only the child may import the memory. */
  char key[KEY_SIZE] = "";
  require(aclrtIpcMemGetExportKey(memory, SIZE, key, sizeof key, ACL_RT_IPC_MEM_EXPORT_FLAG_DEFAULT));
  int32_t importer = (int32_t)child;
  require(aclrtIpcMemSetImportPid(key, &importer, 1));
  if (write(ends[1], key, sizeof key) != sizeof key) return EXIT_FAILURE;
  int status = 0;
  if (waitpid(child, &status, 0) != child || status != 0) return EXIT_FAILURE;

  require(aclrtMemcpy(numbers, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_HOST));
  int wrong = 0;
  for (int i = 0; i < COUNT; ++i) wrong += numbers[i] != 2 * i;
  require(aclrtIpcMemClose(key));
  require(aclrtFree(memory));
  require(aclrtResetDevice(0));
  require(aclFinalize());
  printf("%d numbers of two processes, %d wrong\n", COUNT, wrong);
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
