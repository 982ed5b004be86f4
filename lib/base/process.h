/*
 * process.h - what other accounts can see of a process of ours, and starting
 * the programs that the administrator names.
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
 * Tokens, documents, and signed URLs are in our memory: no core file, no
 * debugger, no TLS key log, and nothing below /proc/PID but what every process
 * shows; new files are the user's own (umask 077). To be called again after a
 * change of user, which resets some of it. What the kernel refuses stays as it
 * is.
 */
void dx_process_protect(void);

/*
 * Lowers a resource limit of this process (RLIMIT_CPU and others, setrlimit(2))
 * to `soft` and `hard`; what is lower already stays. False if it cannot.
 */
bool dx_process_limit(int resource, rlim_t soft, rlim_t hard);

/*
 * Removes argv[first] and what follows from the process list, which every
 * account can read: titles, users, and file names are there. The array then has
 * copies, which stay until the process ends. What cannot be copied for lack of
 * memory stays; call it before anything keeps a pointer to an argument.
 */
void dx_process_hide_arguments(int argc, char **argv, int first);

/*
 * Splits a directive such as TokenCommand at blanks, in place, into at most
 * DX_PROCESS_WORDS words, with NULL after the last one. Returns how many there
 * are; 0 if there are more.
 */
#define DX_PROCESS_WORDS 64
size_t dx_process_split(char *line, char *words[DX_PROCESS_WORDS + 1]);

/*
 * Starts a program without a shell, as the leader of a process group. Its
 * environment has PATH and `variables` (of the form "NAME=value", with NULL
 * after the last one), its stdin and stderr are /dev/null, and its stdout is
 * out_fd (-1: /dev/null); it gets no other descriptor, and no signal is blocked
 * or ignored. The caller waits for *ret_pid. Returns 0 or an errno.
 */
#define DX_PROCESS_VARIABLES 8
int dx_process_start(char *const *words, char *const *variables, int out_fd,
                     pid_t *ret_pid);

/*
 * In a child after fork(): it ends with its parent, no signal is blocked, and
 * of the parent's descriptors it keeps stdin, stdout, stderr, and these two.
 */
void dx_process_begin_child(int fd, int other_fd);

/* Kills a program with its group, and waits for it; *ret_status is that of
 * waitpid(2). */
void dx_process_kill(pid_t pid, int *ret_status);

#endif
