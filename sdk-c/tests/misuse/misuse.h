/* Small programs that break one rule each, or none, and what they have in common. */
#ifndef MISUSE_H
#define MISUSE_H

#include <semaphore.h>
#include <stdint.h>

#include "../programs/check.h"

/* A program of a few lines. */
struct misuse {
  const char* name;
  /* The mistake in a few words. */
  const char* mistake;
  /* The rule that reports it, or the status that the library answers by itself; NULL: nothing does. Empty if there is
   * no mistake. */
  const char* caught_by;
  /* If nothing does: the reason. */
  const char* reason;
  void (*body)(void);
};

extern const struct misuse memory_misuses[], free_misuses[], handle_misuses[], order_misuses[], leak_misuses[],
    correct_programs[];

/* Two devices of one plugin, with two streams on the first. */
extern tenon_device device, other;
extern tenon_stream one, two;

/* Makes a call that is expected to be refused: shows the status that the library answers. */
#define TRY(call) answered(call)
void answered(tenon_status status);

char* device_memory(size_t size);
char* pinned_memory(size_t size);
char* unified_memory(size_t size);
char* pool_block(size_t size, tenon_stream stream);
tenon_buffer buffer_of(size_t size, char** address);
tenon_event new_event(void);

/* Keeps a stream from going on until it is let go. */
void hold(tenon_stream stream);
void let_go(void);

/* True if the next call to destroy a stream lets go. */
extern bool destroys_held_stream;

#endif
