/*
 * fuzz.h - what the fuzz targets share. A target passes the bytes that it gets
 * to functions of the project and checks what must hold whatever they are.
 *
 * With libFuzzer (make fuzz), the bytes are made up; in `make check`,
 * replay.c passes the files of tests/fuzz/corpus/TARGET. What fails ends the
 * process.
 */
#ifndef DX_FUZZ_H
#define DX_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The target; always 0. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the process unless it is true. */
#define HOLDS(condition) fuzz_holds((condition), #condition)
void fuzz_holds(bool is_true, const char *condition);

/* What is left of an input. */
struct fuzz_input {
  const uint8_t *at;
  size_t left;
};

/*
 * The next line, or the rest, as a text without its line feed; a NUL ends it,
 * too. The caller frees. Exactly as long as it has to be, so that a read beyond
 * its end is found.
 */
char *fuzz_line(struct fuzz_input *in);
char *fuzz_rest(struct fuzz_input *in);

/* The number that the next line begins with, modulo `bound`. */
unsigned fuzz_number(struct fuzz_input *in, unsigned bound);

/* A file in memory with these bytes, at its beginning. The caller closes. */
int fuzz_file(const void *bytes, size_t size);

/* A directory of this process, removed at its end, and its path. */
int fuzz_dirfd(void);
const char *fuzz_dir(void);

/* Makes these bytes the file `name` in it, mode 0600, and its path, which the
 * caller frees. */
void fuzz_put(const char *name, const void *bytes, size_t size);
char *fuzz_path(const char *name);

#endif
