/*
 * sandbox.h - gives up everything that a process which parses hostile bytes
 * does not need: it may compute, allocate memory, and read and write what is
 * open already, and nothing else.
 *
 * Three independent layers: seccomp (an allow-list of system calls), without
 * which nothing is to be parsed; Landlock without a single rule, where the
 * kernel has it; and limits of descriptors and processes. There is no way back,
 * not even for child processes. Not for threads.
 */
#ifndef DX_SANDBOX_H
#define DX_SANDBOX_H

#define DX_SANDBOX_SECCOMP 1u
#define DX_SANDBOX_LANDLOCK 2u
#define DX_SANDBOX_BOTH (DX_SANDBOX_SECCOMP | DX_SANDBOX_LANDLOCK)

/* For the administrator of a computer without seccomp. */
#define DX_SANDBOX_MISSING                                                \
  "documents cannot be opened safely: the kernel does not offer seccomp " \
  "filters (CONFIG_SECCOMP_FILTER); enable them, or set 'Sandbox optional'"
#define DX_SANDBOX_OPTIONAL                                           \
  "'Sandbox optional' is set, and the kernel does not offer seccomp " \
  "filters: documents are parsed without a sandbox"

/* Enters the sandbox; returns the layers of the kernel that are active. */
unsigned dx_sandbox_enter(void);

/* "seccomp and Landlock", "seccomp", "Landlock", or "none". */
const char *dx_sandbox_text(unsigned layers);

#endif
