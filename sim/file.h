/*
 * file.h - small errands on files and folders.
 *
 * Failures are printed on standard error, with file name and reason.
 */
#ifndef SIM_FILE_H
#define SIM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The whole file, with a NUL after it, to be freed by the caller; NULL when
 * it cannot be read or has more than `max` bytes.
 */
char *sim_file_read(const char *path, size_t max, size_t *ret_len);

/* Writes all of it, going on after short writes. errno is set on failure. */
bool sim_write_all(int fd, const char *data, size_t len);

/* Puts `text` at `path` through a temporary file and a rename. */
bool sim_file_replace(const char *path, const char *text);

/*
 * The absolute path of `dir`, which is made if missing; of a fresh temporary
 * folder if `dir` is NULL. To be freed by the caller; NULL on failure.
 */
char *sim_dir_open(const char *dir);

/* Removes a folder and the files in it; folders in it stay. */
void sim_dir_remove(const char *dir);

#endif
