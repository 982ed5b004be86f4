/*
 * process.h - what other accounts can see of a process of ours.
 *
 * Blocking: never. Errors: none; what the kernel refuses stays as it is.
 */
#ifndef DX_PROCESS_H
#define DX_PROCESS_H

/*
 * Tokens, documents, and signed URLs are in our memory: no core file, no
 * debugger, no TLS key log, and nothing below /proc/PID but what every process
 * shows; new files are the user's own (umask 077). To be called again after a
 * change of user, which resets some of it.
 */
void dx_process_protect(void);

/*
 * Takes argv[first] and what follows out of the process list, which every
 * account can read: titles, users, and file names are there. The array then has
 * copies, which stay until the process ends. What cannot be copied for lack of
 * memory stays; to be called before anything keeps a pointer to an argument.
 */
void dx_process_hide_arguments(int argc, char **argv, int first);

#endif
