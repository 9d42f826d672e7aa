#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tenon/tenon.h>

static bool verbose;
static int differences;

/* Memory that could not be allocated has no parts. */
static void* at(void* base, size_t offset) { return base ? (unsigned char*)base + offset : NULL; }

static void put(void* to, const void* from, size_t size) {
  if (to) memcpy(to, from, size);
}

/* Prints a call that has another result than when it was recorded. */
static void differ(unsigned long long call, const char* what) {
  printf("call %llu: %s\n", call, what);
  ++differences;
}

static void check_status(unsigned long long call, tenon_status status, bool succeeds) {
  if ((status == TENON_SUCCESS) == succeeds) return;
  differ(call, succeeds ? tenon_error_text() : "success, but the recorded call failed");
}

/* Compares bytes with the recorded ones by their hash: FNV-1a with 128 bits. */
static void check_bytes(unsigned long long call, const void* bytes, size_t size, uint64_t high, uint64_t low) {
  __extension__ typedef unsigned __int128 number;
  const number factor = ((number)1 << 88) + 0x13b;
  if (!bytes && size) {
    differ(call, "there is no memory to compare");
    return;
  }
  number hash = ((number)0x6c62272e07bb0142u << 64) + 0x62b821756295c58du;
  for (size_t i = 0; i < size; ++i) hash = (hash ^ ((const unsigned char*)bytes)[i]) * factor;
  if (hash != ((number)high << 64) + low) differ(call, "other bytes in a copy to the host");
}

/* In the place of the program's callbacks. */
static void no_callback(tenon_device device, tenon_stream stream, void* user_data, tenon_status* status) {
  (void)device, (void)stream, (void)user_data, (void)status;
}

/* Makes a call. With the option -v, prints it first. */
#define CALL(number, succeeds, call)                                                   \
  do {                                                                                 \
    if (verbose) fprintf(stderr, "%llu %s\n", (unsigned long long)(number), #call);    \
    check_status(number, call, succeeds);                                              \
  } while (0)
