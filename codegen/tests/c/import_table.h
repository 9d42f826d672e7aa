/* A header with a table for the tests of `codegen import`. */

#ifndef IMPORT_TABLE_H
#define IMPORT_TABLE_H

#include <stddef.h>
#include <stdint.h>

/** The outcome of a call. */
typedef enum kit_error { KIT_OK = 0, KIT_BROKEN = -1 } kit_error;

/** An open kit. */
typedef struct kit kit_t;

/** Is called when the kit ends. */
typedef void (*kit_ended)(kit_t* kit);

/** The functions of a plugin. */
typedef struct kit_api {
  size_t size;
  /** The version of the plugin. */
  uint32_t version;
  /** Opens a kit. */
  kit_error (*open)(const char* path, kit_t** kit);
  /** Closes a kit. */
  kit_error (*close)(kit_t* kit);
  void* reserved_kits[4];
  uint64_t limit;
  /** Reads bytes. */
  kit_error (*read)(kit_t* kit, void* data, size_t size);
  kit_ended ended;
} kit_api;

/** Returns the table. */
const kit_api* kit_get_api(void);
kit_error kit_register(const kit_api* api);
const char* kit_version(void);

#endif
