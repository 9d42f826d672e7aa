/* Pipelines copies on two streams: one copies pieces to the device while the other copies pieces back.
 *
 *   cc -std=c11 pipeline.c $(pkg-config --cflags --libs ascendcl) -o pipeline && ./pipeline
 *
 * Events order the streams and measure the total time.
 */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>

static void require(aclError status) {
  if (status != ACL_SUCCESS) {
    const char* message = aclGetRecentErrMsg();
    fprintf(stderr, "%d: %s\n", status, message != NULL ? message : "no message");
    exit(EXIT_FAILURE);
  }
}

enum { PIECES = 16, PIECE = 1 << 18 };

static uint32_t* pinned(void) {
  void* memory = NULL;
  require(aclrtMallocHost(&memory, PIECES * PIECE * sizeof(uint32_t)));
  return (uint32_t*)memory;
}

int main(void) {
  const size_t bytes = PIECE * sizeof(uint32_t);
  require(aclInit(NULL));
  require(aclrtSetDevice(0));

  uint32_t* sent = pinned();
  uint32_t* received = pinned();
  for (uint32_t i = 0; i < PIECES * PIECE; ++i) {
    sent[i] = i;
    received[i] = 0;
  }
  /* Two buffers on the device, so that a piece is copied in while the previous one is copied out. */
  void* places[2];
  aclrtEvent arrived[2];
  aclrtEvent left[2];
  for (int i = 0; i < 2; ++i) {
    require(aclrtMalloc(&places[i], bytes, ACL_MEM_MALLOC_HUGE_FIRST));
    require(aclrtCreateEventExWithFlag(&arrived[i], ACL_EVENT_SYNC));
    require(aclrtCreateEventExWithFlag(&left[i], ACL_EVENT_SYNC));
  }
  aclrtStream in = NULL;
  aclrtStream out = NULL;
  require(aclrtCreateStream(&in));
  require(aclrtCreateStream(&out));
  aclrtEvent start = NULL;
  aclrtEvent end = NULL;
  require(aclrtCreateEventWithFlag(&start, ACL_EVENT_TIME_LINE));
  require(aclrtCreateEventWithFlag(&end, ACL_EVENT_TIME_LINE));

  require(aclrtRecordEvent(start, in));
  for (int piece = 0; piece < PIECES; ++piece) {
    const int place = piece % 2;
    uint32_t* from = sent + (size_t)piece * PIECE;
    uint32_t* to = received + (size_t)piece * PIECE;
    /* An event that was never recorded counts as done, so the first two pieces do not wait. */
    require(aclrtStreamWaitEvent(in, left[place]));
    require(aclrtMemcpyAsync(places[place], bytes, from, bytes, ACL_MEMCPY_HOST_TO_DEVICE, in));
    require(aclrtRecordEvent(arrived[place], in));
    require(aclrtStreamWaitEvent(out, arrived[place]));
    require(aclrtMemcpyAsync(to, bytes, places[place], bytes, ACL_MEMCPY_DEVICE_TO_HOST, out));
    require(aclrtRecordEvent(left[place], out));
  }
  require(aclrtRecordEvent(end, out));
  /* All work above is only queued. `out` waits for `in`, so it is enough to wait for `out`. */
  require(aclrtSynchronizeEvent(end));

  size_t wrong = 0;
  for (uint32_t i = 0; i < PIECES * PIECE; ++i) {
    wrong += received[i] != i;
  }
  float milliseconds = 0;
  require(aclrtEventElapsedTime(&milliseconds, start, end));
  printf("%d pieces of %zu bytes, %d wrong\n", PIECES, bytes, (int)wrong);
  printf("%.3f ms\n", (double)milliseconds);

  require(aclrtDestroyEvent(start));
  require(aclrtDestroyEvent(end));
  require(aclrtDestroyStream(in));
  require(aclrtDestroyStream(out));
  for (int i = 0; i < 2; ++i) {
    require(aclrtDestroyEvent(arrived[i]));
    require(aclrtDestroyEvent(left[i]));
    require(aclrtFree(places[i]));
  }
  require(aclrtFreeHost(sent));
  require(aclrtFreeHost(received));
  require(aclrtResetDevice(0));
  require(aclFinalize());
  return wrong == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
