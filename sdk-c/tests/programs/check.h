/* Shared by the programs of the tests: a check that says what was not as expected. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tenon/tenon.h"

#define CHECK(condition)                                                                     \
  do {                                                                                       \
    if (!(condition)) {                                                                      \
      fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                \
      fprintf(stderr, "last error: %s\n", tenon_error_text());                               \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

#define GIVES(status, call)                                                                  \
  do {                                                                                       \
    const tenon_status given = (call);                                                       \
    if (given != (status)) {                                                                 \
      fprintf(stderr, "%s:%d: %s gave %s, not %s\n", __FILE__, __LINE__, #call,              \
              tenon_status_name(given), tenon_status_name(status));                          \
      fprintf(stderr, "last error: %s\n", tenon_error_text());                               \
      exit(1);                                                                               \
    }                                                                                        \
  } while (0)

#define OK(call) GIVES(TENON_SUCCESS, call)

#endif
