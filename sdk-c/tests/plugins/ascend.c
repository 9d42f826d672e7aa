/* A stand-in for a vendor's libascendcl.so, and with CALLER for the vendor's library that calls it. */

#include <stdint.h>

int aclrtGetDeviceCount(uint32_t* count);
int vendor_count(void);

#ifdef CALLER
int vendor_count(void) {
  uint32_t count = 0;
  return aclrtGetDeviceCount(&count) == 0 ? (int)count : -1;
}
#else
int aclrtGetDeviceCount(uint32_t* count) {
  *count = 77;
  return 0;
}
#endif
