/* Hostile behaviour: what no author intends, and what a checker has to survive. */
#pragma once

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core.h"

/* In `throw.cpp`, if the plugin is linked with it. */
__attribute__((weak)) void throw_exception(void);

static void ignore(int number) {
  (void)number;
}

static int overflow(volatile int depth) {
  volatile char frame[4096];
  frame[0] = (char)depth;
  return depth < 0 ? 0 : overflow(depth + 1) + frame[0];
}

static void write_much(int file) {
  static const char line[] = "{\"case\": \"device.list\", \"outcome\": \"passed\"}\n\033[2J";
  for (int i = 0; i < 20000; ++i) {
    if (write(file, line, sizeof line - 1) < 0) {
      return;
    }
  }
}

/* Starts a program in a session of its own, whose parent ends at once. SECONDS tells it from others. */
static void start_daemon(void) {
  pid_t parent = fork();
  if (parent == 0) {
    if (setsid() >= 0 && fork() == 0) {
      execlp("sleep", "sleep", getenv("SECONDS"), (char*)NULL);
    }
    _exit(0);
  }
  waitpid(parent, NULL, 0);
}

/* Behaves as it is told to in the middle of a case. */
static void be_hostile(void) {
  if (fault("hangs")) {
    for (;;) {
      pause();
    }
  }
  if (fault("overflows-the-stack")) {
    overflow(0);
  }
  if (fault("exits-with-success")) {
    exit(0);
  }
  if (fault("leaves-at-once-with-success")) {
    _exit(0);
  }
  if (fault("closes-standard-output")) {
    close(1);
  }
  if (fault("closes-everything")) {
    for (int file = 0; file < 64; ++file) {
      close(file);
    }
  }
  if (fault("writes-much")) {
    write_much(1);
    write_much(2);
  }
  if (fault("kills-its-group")) {
    kill(0, SIGKILL);
  }
  if (fault("ignores-signals")) {
    for (int number = 1; number < 32; ++number) {
      signal(number, ignore);
    }
    for (;;) {
      pause();
    }
  }
  if (fault("throws")) {
    throw_exception();
  }
  if (fault("starts-a-daemon")) {
    start_daemon();
  }
  if (fault("starts-a-daemon-and-crashes")) {
    start_daemon();
    abort();
  }
  if (fault("starts-many-helpers")) {
    for (int i = 0; i < 20; ++i) {
      if (fork() == 0) {
        execlp("sleep", "sleep", "60", (char*)NULL);
        _exit(1);
      }
    }
  }
}

/* Runs when the process ends by `exit`. */
__attribute__((destructor)) static void end_badly(void) {
  if (fault("crashes-at-exit")) {
    raise(SIGSEGV);
  }
  if (fault("hangs-at-exit")) {
    for (;;) {
      pause();
    }
  }
  if (fault("fails-at-exit")) {
    _exit(7);
  }
}
