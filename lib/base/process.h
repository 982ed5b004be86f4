/*
 * process.h - hides the data of a process from other accounts, and starts the
 * programs that the administrator specifies.
 *
 * Blocking: never, except for dx_process_kill().
 */
#ifndef DX_PROCESS_H
#define DX_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/types.h>

/*
 * Protects the tokens, documents, and signed URLs in memory: no core file, no
 * debugger, no TLS key log, and below /proc/PID only what every process shows.
 * New files are private (umask 077). Call it again after a change of user,
 * which resets some of this. If the kernel refuses a step, it is skipped.
 */
void dx_process_protect(void);

/*
 * Lowers a resource limit of this process (RLIMIT_CPU and others, setrlimit(2))
 * to `soft` and `hard`; a lower limit is kept. False if that fails.
 */
bool dx_process_limit(unsigned resource, rlim_t soft, rlim_t hard);

/*
 * Removes argv[first] and later arguments, such as titles, users, and file
 * names, from the process list, which every account can read. The array then
 * has copies, which are never freed. If there is no memory for a copy, that
 * argument stays. Call it before any code keeps a pointer to an argument.
 */
void dx_process_hide_arguments(int argc, char **argv, int first);

/*
 * Splits a directive such as TokenCommand at blanks, in place, into at most
 * DX_PROCESS_WORDS words, with NULL after the last one. Returns their number; 0
 * if there are more.
 */
#define DX_PROCESS_WORDS 64
size_t dx_process_split(char *line, char *words[DX_PROCESS_WORDS + 1]);

/*
 * Starts a program without a shell, as the leader of a session, in "/". Its
 * environment has PATH and `variables` (of the form "NAME=value", with NULL
 * after the last one), its stdin is /dev/null, and its stdout and stderr are
 * out_fd and err_fd (-1: /dev/null), which are greater than 2; it gets no other
 * descriptor, and no signal is blocked or ignored. The caller waits for
 * *ret_pid. Returns 0 or an errno.
 */
#define DX_PROCESS_VARIABLES 8
int dx_process_start(char *const *words, char *const *variables, int out_fd,
                     int err_fd, pid_t *ret_pid);

/* Kills a program with its group, and waits for it. */
void dx_process_kill(pid_t pid);

#endif
