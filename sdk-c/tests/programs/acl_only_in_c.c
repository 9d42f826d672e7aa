/* Functions that exist in C and not in Python: observers, managed memory, buffers, copies between addresses
 * in memory. */
#include <acl/acl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXPECT(what)                                                   \
  do {                                                                 \
    if (!(what)) {                                                     \
      const char* why = aclGetRecentErrMsg();                          \
      fprintf(stderr, "line %d: %s\n%s\n", __LINE__, #what, why ? why : ""); \
      exit(1);                                                         \
    }                                                                  \
  } while (0)
#define OK(call) EXPECT((call) == ACL_SUCCESS)

enum { SIZE = 4096 };

/* Number of calls of each observer. */
struct told {
  int begun, ended, streams, devices;
  aclError answer;
};

static aclError begun(const char* config, size_t length, void* told) {
  EXPECT(strlen(config) == length);
  ++((struct told*)told)->begun;
  return ((struct told*)told)->answer;
}

static aclError ended(void* told) {
  ++((struct told*)told)->ended;
  return ACL_SUCCESS;
}

static void stream_told(aclrtStream stream, aclrtStreamState state, void* told) {
  EXPECT(stream != NULL);
  ((struct told*)told)->streams += state == ACL_RT_STREAM_STATE_CREATE_POST ? 1 : -1;
}

static void device_told(int32_t device, aclrtDeviceState state, void* told) {
  EXPECT(device == 1 && state <= ACL_RT_DEVICE_STATE_RESET_POST);
  ++((struct told*)told)->devices;
}

static void observers(void) {
  struct told told = {0, 0, 0, 0, ACL_ERROR_FAILURE};
  OK(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, begun, &told));
  OK(aclFinalizeCallbackRegister(ACL_REG_TYPE_OTHER, ended, &told));
  EXPECT(aclInit(NULL) == ACL_ERROR_FAILURE);
  told.answer = ACL_SUCCESS;
  OK(aclInit(NULL));
  OK(aclrtRegStreamStateCallback("further", stream_told, &told));
  OK(aclrtRegDeviceStateCallback("further", device_told, &told));
  OK(aclrtSetDevice(1));
  EXPECT(told.streams == 1 && told.devices == 2);
  aclrtStream stream = NULL;
  OK(aclrtCreateStream(&stream));
  EXPECT(told.streams == 2);
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(1));
  EXPECT(told.streams == 0 && told.devices == 4);
  OK(aclrtRegStreamStateCallback("further", NULL, NULL));
  OK(aclrtRegDeviceStateCallback("further", NULL, NULL));
  OK(aclFinalize());
  EXPECT(told.begun == 2 && told.ended == 1);
  OK(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begun));
  OK(aclFinalizeCallbackUnRegister(ACL_REG_TYPE_OTHER, ended));
  EXPECT(aclInitCallbackRegister(ACL_REG_TYPE_OTHER, NULL, NULL) == ACL_ERROR_INVALID_PARAM);
  EXPECT(aclInitCallbackUnRegister(ACL_REG_TYPE_OTHER, begun) == ACL_ERROR_INTERNAL_ERROR);
}

static void managed_memory(aclrtStream stream) {
  void* managed = NULL;
  OK(aclrtMemAllocManaged(&managed, SIZE, ACL_RT_MEM_ATTACH_GLOBAL));
  memset(managed, 7, SIZE);
  void* memory = NULL;
  OK(aclrtMalloc(&memory, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMemcpyAsync(memory, SIZE, managed, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  memset(managed, 0, SIZE);
  OK(aclrtMemcpyAsync(managed, SIZE, memory, SIZE, ACL_MEMCPY_DEVICE_TO_DEVICE, stream));
  OK(aclrtSynchronizeStream(stream));
  EXPECT(((char*)managed)[0] == 7 && ((char*)managed)[SIZE - 1] == 7);

  aclrtMemManagedLocation here = {ACL_MEM_LOCATIONTYPE_DEVICE, 0};
  OK(aclrtMemManagedAdvise(managed, SIZE, ACL_MEM_ADVISE_SET_PREFERRED_LOCATION, here));
  OK(aclrtMemManagedPrefetchAsync(managed, SIZE, here, 0, stream));
  int32_t place = -7, user = -7;
  aclrtMemManagedRangeAttribute asked[] = {ACL_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION,
                                           ACL_MEM_RANGE_ATTRIBUTE_ACCESSED_BY};
  void* answers[] = {&place, &user};
  size_t sizes[] = {sizeof place, sizeof user};
  OK(aclrtMemManagedGetAttrs(asked, 2, managed, SIZE, answers, sizes));
  EXPECT(place == 0 && user == -2);
  OK(aclrtFree(memory));
  OK(aclrtFree(managed));
}

static void buffers(void) {
  aclrtMbuf head = NULL, other = NULL, found = NULL;
  void* data = NULL;
  size_t size = 0;
  uint32_t count = 0;
  OK(aclrtAllocBuf(&head, 100));
  OK(aclrtGetBufData(head, &data, &size));
  EXPECT(size == 100);
  memset(data, 1, size);
  OK(aclrtSetBufDataLen(head, size));
  char note[4] = "abc";
  OK(aclrtSetBufUserData(head, note, sizeof note, 92));
  OK(aclrtCopyBufRef(head, &other));
  OK(aclrtAppendBufChain(head, other));
  OK(aclrtGetBufChainNum(head, &count));
  OK(aclrtGetBufFromChain(head, 1, &found));
  EXPECT(count == 2 && found == other);
  OK(aclrtGetBufUserData(found, note, 1, 94));
  EXPECT(note[0] == 'c');
  OK(aclrtFreeBuf(head));
  OK(aclrtGetBufDataLen(other, &size));
  EXPECT(size == 100);
  OK(aclrtFreeBuf(other));
}

static void addresses_in_memory(aclrtStream stream) {
  void *from = NULL, *to = NULL, **table = NULL;
  OK(aclrtMalloc(&from, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc(&to, SIZE, ACL_MEM_MALLOC_HUGE_FIRST));
  OK(aclrtMalloc((void**)&table, 2 * sizeof(void*), ACL_MEM_MALLOC_HUGE_FIRST));
  void* both[] = {to, from};
  OK(aclrtMemcpy(table, sizeof both, both, sizeof both, ACL_MEMCPY_HOST_TO_DEVICE));
  OK(aclrtMemset(from, SIZE, 5, SIZE));
  OK(aclrtMemset(to, SIZE, 0, SIZE));
  const void** source = (const void**)(table + 1);
  aclrtMemcpyKind kind = ACL_MEMCPY_INNER_DEVICE_TO_DEVICE;
  OK(aclrtMemcpyAsyncWithOffset(table, SIZE, 1, source, 2, 3, kind, stream));
  OK(aclrtSynchronizeStream(stream));
  char copied[4] = {9, 9, 9, 9};
  OK(aclrtMemcpy(copied, sizeof copied, to, sizeof copied, ACL_MEMCPY_DEVICE_TO_HOST));
  EXPECT(copied[0] == 0 && copied[1] == 5 && copied[2] == 5 && copied[3] == 0);
  void* all[] = {from, to, table};
  uint32_t are = 0;
  OK(aclrtCheckMemType(all, 3, ACL_RT_MEM_TYPE_DEV, &are, 0));
  EXPECT(are == 1);
  OK(aclrtFree(table));
  OK(aclrtFree(to));
  OK(aclrtFree(from));
}

/* Functions that need another machine fail with a message, and do not change their outputs. */
static void refused(aclrtStream stream) {
  aclrtLabel label = NULL;
  EXPECT(aclrtCreateLabel(&label) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT && label == NULL);
  EXPECT(aclrtSnapShotProcessLock(0, NULL) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  size_t size = 3;
  EXPECT(aclrtGetSymbolSize(&size, &size) == ACL_ERROR_API_NOT_SUPPORT && size == 3);
  aclmdlRI work = NULL;
  EXPECT(aclmdlRIBuildBegin(&work, 0) == ACL_ERROR_API_NOT_SUPPORT && work == NULL);
  uint32_t streams = 0;
  EXPECT(aclmdlRIGetStreams(&size, NULL, &streams) == ACL_ERROR_API_NOT_SUPPORT);
  uint64_t* number = NULL;
  EXPECT(aclmdlRICondHandleGetCondPtr(&size, &number) == ACL_ERROR_API_NOT_SUPPORT);
  EXPECT(aclrtStreamStop(stream) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  aclrtErrorInfo info;
  memset(&info, 1, sizeof info);
  OK(aclrtGetErrorVerbose(0, &info));
  EXPECT(info.errorType == ACL_RT_NO_ERROR && info.tryRepair == 0);
  EXPECT(aclrtRepairError(0, &info) == ACL_ERROR_RT_FEATURE_NOT_SUPPORT);
  EXPECT(strstr(aclGetRecentErrMsg(), "repair") != NULL);
}

int main(void) {
  observers();
  OK(aclInit(NULL));
  OK(aclrtSetDevice(0));
  aclrtStream stream = NULL;
  OK(aclrtCreateStream(&stream));
  managed_memory(stream);
  buffers();
  addresses_in_memory(stream);
  refused(stream);
  OK(aclrtDestroyStream(stream));
  OK(aclrtResetDevice(0));
  OK(aclFinalize());
  puts("done");
  return 0;
}
