/*
 * sandbox.h - restricts a process that parses hostile bytes: it may only
 * compute, allocate memory, and read and write files that are open already, or
 * run one other program.
 *
 * Three independent layers: seccomp (an allow-list of system calls), without
 * which nothing may be parsed; Landlock without rules, if the kernel supports
 * it; and limits of descriptors and processes. They are permanent, also for
 * child processes. The process must have only one thread.
 */
#ifndef DX_SANDBOX_H
#define DX_SANDBOX_H

#define DX_SANDBOX_SECCOMP 1u
#define DX_SANDBOX_LANDLOCK 2u
#define DX_SANDBOX_BOTH (DX_SANDBOX_SECCOMP | DX_SANDBOX_LANDLOCK)

/* For the administrator of a computer without seccomp. */
#define DX_SANDBOX_MISSING                                                  \
  "documents cannot be opened safely: the kernel does not support seccomp " \
  "filters (CONFIG_SECCOMP_FILTER); enable them, or set 'Sandbox optional'"
#define DX_SANDBOX_OPTIONAL                                             \
  "'Sandbox optional' is set, and the kernel does not support seccomp " \
  "filters: documents are parsed without a sandbox"

/* Enters the sandbox; returns the layers of the kernel that are active. */
unsigned dx_sandbox_enter(void);

/*
 * The same for a process that then runs another program, which parses hostile
 * bytes with libraries of its own (execve(2); with RLIMIT_NPROC of 0 it starts
 * no further process, unless it runs as root). It has no sockets, no signals
 * to others, no debugger, and no mounts; with Landlock, it can only read the
 * system's programs, libraries, fonts, and their configuration, and change
 * files in the directory `scratch`. Descriptors that are open stay usable.
 */
unsigned dx_sandbox_enter_program(const char *scratch);

/* The layers that dx_sandbox_enter() would return, as found by a child process;
 * 0 also if none could be started. Blocks for its few milliseconds. */
unsigned dx_sandbox_test(void);

/* "seccomp and Landlock", "seccomp", "Landlock", or "none". */
const char *dx_sandbox_text(unsigned layers);

#endif
