/*
 * sandbox.h - gives up everything that a process which parses hostile bytes
 * does not need: it may compute, allocate memory, and read and write what is
 * open already. It can open no file, whatever its mode, create none, map no
 * code, use no network, start no program or process, and signal or trace no
 * other.
 *
 * Three independent layers: seccomp (an allow-list of system calls, by
 * libseccomp) does all of that, and without it nothing is to be parsed.
 * Landlock without a single rule is added where the kernel has it, with
 * everything that its version can deny. Limits of descriptors and processes,
 * which every kernel has, deny new ones.
 *
 * There is no way back, not even for child processes. Not for threads.
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
