/* A header for the tests of `codegen import`. */

#ifndef IMPORT_H
#define IMPORT_H

#include <stddef.h>
#include <stdint.h>

/** The outcome of a call. */
typedef enum kit_error { KIT_OK = 0, KIT_BROKEN = -1, KIT_NO_ROOM = 2 /* there is no room */ } kit_error_t;

/** An open kit. */
typedef struct kit kit_t;

/** A tool of a kit. */
typedef struct kit_tool_st* kit_tool;

/** Where a tool is. */
typedef struct kit_place {
  /** Its row. */
  int32_t row;
  double depth[3]; // how deep it is
  char label[16];
} kit_place;

/** A struct that cannot be described. */
typedef struct kit_bits {
  unsigned low : 4;
} kit_bits;

/** A list whose length the header does not say. */
typedef struct kit_list {
  size_t length;
  int items[];
} kit_list;

/** Is called for each tool. */
typedef void (*kit_visitor)(kit_tool tool, void* user_data);

/**
 * @brief Opens a kit.
 * @param path where it is
 * @param kit the kit
 * @return the outcome
 */
kit_error_t kit_open(const char* path, kit_t** kit);

/** Closes a kit. */
void kit_close(kit_t* kit);

/** To count the tools. It is `fast`. */
kit_error_t kit_count(const kit_t* kit, size_t* count);

/** Is called with a tool whose name is that of another type. */
typedef void (*kit_named)(kit_tool kit, void* user_data);

kit_error_t kit_name_all(kit_t* kit, kit_named named, void* user_data);
kit_error_t kit_visit(kit_t* kit, kit_visitor visitor, void* user_data);
kit_error_t kit_read(kit_t* kit, void* data, size_t size);
kit_error_t kit_write(kit_t* kit, const void* data, size_t size);
kit_error_t kit_weigh(kit_t* kit, const float* weights, uint32_t num_weights, float* total);
kit_error_t kit_move(kit_t* kit, kit_tool tool, const kit_place* place);
const char* kit_name(const kit_t* kit);
kit_tool kit_first(kit_t* kit);
kit_bits* kit_bits_of(kit_t* kit);
const kit_list* kit_list_of(kit_t* kit);
int kit_log(const char* format, ...);

#endif
