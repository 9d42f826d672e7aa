/* Calls that fail while a process and a thread end, after the thread-local values were destroyed. */

#include <acl/acl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <tenon/tenon.h>

static int failures;

static void expect(int is_so, int line) {
  if (!is_so) {
    printf("line %d\n", line);
    failures++;
  }
}
#define EXPECT(what) expect((what), __LINE__)

/* A call that leaves a message, if the thread can still store one. */
static void fail(void) {
  aclrtStream stale = (aclrtStream)(size_t)12345;
  EXPECT(aclrtSetDevice(-1) != ACL_SUCCESS);
  EXPECT(aclrtDestroyStream(stale) != ACL_SUCCESS);
  EXPECT(aclFinalize() != ACL_SUCCESS);
  EXPECT(tenon_device_close((tenon_device)(size_t)12345) != TENON_SUCCESS);
}

static void late(void) {
  fail();
  puts(failures == 0 ? "done" : "failed");
  fflush(stdout);
}

static void behind_the_thread(void* key) {
  (void)key;
  fail();
}

static void* thread(void* key) {
  fail();
  EXPECT(pthread_setspecific(*(pthread_key_t*)key, key) == 0);
  return NULL;
}

int main(void) {
  pthread_key_t key;
  pthread_t other;
  EXPECT(atexit(late) == 0);
  EXPECT(pthread_key_create(&key, behind_the_thread) == 0);
  EXPECT(pthread_create(&other, NULL, thread, &key) == 0);
  EXPECT(pthread_join(other, NULL) == 0);
  fail();
  EXPECT(aclGetRecentErrMsg() != NULL);
  return 0;
}
