// Uses the same headers as programs in C++ do: handles are addresses and errors are numbers.
#include <cstdint>
#include <type_traits>

#include "acl/acl.h"

static_assert(std::is_same<aclError, int>::value, "an error is a number");
static_assert(std::is_same<aclrtStream, void*>::value, "a stream is an address");

namespace {

int first_failure(int status, int other) { return status != ACL_SUCCESS ? status : other; }

}  // namespace

int main() {
  aclrtStream stream = nullptr;
  void* pointer = nullptr;
  aclError ret = aclrtMalloc(&pointer, 1024, ACL_MEM_MALLOC_HUGE_FIRST);
  if (ret != ACL_SUCCESS) {
    return ret;
  }
  auto kind = ACL_MEMCPY_DEVICE_TO_HOST;
  char host[1024] = {};
  const auto status = aclrtMemcpyAsync(host, sizeof host, pointer, 1024, kind, stream);
  auto thread = reinterpret_cast<std::uintptr_t>(stream);
  return first_failure(status, static_cast<int>(thread));
}
