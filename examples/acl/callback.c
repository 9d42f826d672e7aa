/* Runs stream callbacks in a thread of the program. The callbacks check each piece that is copied from the device.
 *
 *   cc -std=c11 callback.c $(pkg-config --cflags --libs ascendcl) -lpthread -o callback && ./callback
 */
#include <acl/acl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

static void require(aclError status) {
  if (status != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    fprintf(stderr, "%d: %s\n", status, message != NULL ? message : "no message");
    exit(EXIT_FAILURE);
  }
}

enum { PIECES = 8, PIECE = 4096 };

/* The input and the results of the callbacks. */
struct count {
  const uint8_t* piece;
  uint64_t sum;
  int calls;
};

static void add_up(void* user_data) {
  struct count* count = (struct count*)user_data;
  for (int i = 0; i < PIECE; ++i) {
    count->sum += count->piece[i];
  }
  count->calls += 1;
}

/* `aclrtProcessReport` fails in a thread that is not subscribed yet, so the thread waits for a start signal. */
static sem_t subscribed;

static void* serve(void* unused) {
  (void)unused;
  sem_wait(&subscribed);
  aclError status;
  do {
    status = aclrtProcessReport(-1);
  } while (status == ACL_SUCCESS);
  /* The expected end: the last stream was unsubscribed. Any other status is an error. */
  if (status != ACL_ERROR_RT_THREAD_SUBSCRIBE) {
    fprintf(stderr, "aclrtProcessReport: %d\n", status);
    exit(EXIT_FAILURE);
  }
  return NULL;
}

int main(void) {
  require(aclInit(NULL));
  require(aclrtSetDevice(0));
  aclrtStream stream = NULL;
  require(aclrtCreateStream(&stream));
  void* on_host = NULL;
  void* on_device = NULL;
  require(aclrtMallocHost(&on_host, PIECE));
  require(aclrtMalloc(&on_device, PIECE, ACL_MEM_MALLOC_NORMAL_ONLY));

  pthread_t thread;
  sem_init(&subscribed, 0, 0);
  if (pthread_create(&thread, NULL, serve, NULL) != 0) {
    return EXIT_FAILURE;
  }
  require(aclrtSubscribeReport((uint64_t)thread, stream));
  sem_post(&subscribed);

  struct count count;
  count.piece = (const uint8_t*)on_host;
  count.sum = 0;
  count.calls = 0;
  for (int piece = 1; piece <= PIECES; ++piece) {
    require(aclrtMemsetAsync(on_device, PIECE, piece, PIECE, stream));
    require(aclrtMemcpyAsync(on_host, PIECE, on_device, PIECE, ACL_MEMCPY_DEVICE_TO_HOST, stream));
    /* The stream must not copy the next piece before the callback has checked this one. */
    require(aclrtLaunchCallback(add_up, &count, ACL_CALLBACK_BLOCK, stream));
  }
  require(aclrtSynchronizeStream(stream));
  require(aclrtUnSubscribeReport((uint64_t)thread, stream));
  pthread_join(thread, NULL);
  sem_destroy(&subscribed);

  const uint64_t expected = (uint64_t)PIECE * PIECES * (PIECES + 1) / 2;
  printf("%d callbacks, sum %s\n", count.calls, count.sum == expected ? "right" : "wrong");

  require(aclrtFree(on_device));
  require(aclrtFreeHost(on_host));
  require(aclrtDestroyStream(stream));
  require(aclrtResetDevice(0));
  require(aclFinalize());
  return count.sum == expected ? EXIT_SUCCESS : EXIT_FAILURE;
}
