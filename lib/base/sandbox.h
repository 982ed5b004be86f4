/*
 * sandbox.h - gives up everything that a process which parses hostile bytes
 * does not need: it may compute, allocate memory, and read and write what is
 * open already. It can open no file, whatever its mode, create none, use no
 * network, start no program or process, signal or trace nobody.
 *
 * Two independent layers: seccomp (an allow-list of system calls, by
 * libseccomp), and Landlock without a single rule (no file at all). Either
 * protects files alone, in case a kernel does not offer the other.
 *
 * There is no way back, not even for child processes. Not for threads.
 */
#ifndef DX_SANDBOX_H
#define DX_SANDBOX_H

#define DX_SANDBOX_SECCOMP 1u
#define DX_SANDBOX_LANDLOCK 2u
#define DX_SANDBOX_BOTH (DX_SANDBOX_SECCOMP | DX_SANDBOX_LANDLOCK)

/* Enters the sandbox; returns the layers that are active. A process that has
 * none goes on without: this kernel offers neither. */
unsigned dx_sandbox_enter(void);

/* "seccomp and Landlock", "seccomp", "Landlock", or "none". */
const char *dx_sandbox_text(unsigned layers);

#endif
