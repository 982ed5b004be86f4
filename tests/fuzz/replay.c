/*
 * replay.c - main() of a fuzz target without libFuzzer: passes it each file
 * below tests/fuzz/corpus/TARGET, or those that are named. Prints what cmocka
 * prints, for tests/helper/cmocka.sh.
 */
#include "tests/fuzz/fuzz.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/buf.h"

static FILE *report; /* the user's stdout, which a target may replace */

static void replay(const char *path)
{
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  struct stat st;
  uint8_t *bytes;

  fprintf(report, "[ RUN      ] %s\n", path);
  (void)fflush(report);
  HOLDS(fd >= 0 && fstat(fd, &st) == 0);
  bytes = malloc((size_t)st.st_size + 1);
  HOLDS(bytes != NULL && read(fd, bytes, (size_t)st.st_size + 1) == st.st_size);
  (void)close(fd);
  (void)LLVMFuzzerTestOneInput(bytes, (size_t)st.st_size);
  free(bytes);
  fprintf(report, "[       OK ] %s\n", path);
}

static int is_seed(const struct dirent *entry)
{
  return entry->d_name[0] != '.';
}

/* False if there is none. */
static bool replay_all(const char *dir)
{
  struct dirent **seeds = NULL;
  int i, count = scandir(dir, &seeds, is_seed, alphasort);

  for (i = 0; i < count; i++) {
    struct dx_buf path = {0};

    dx_buf_printf(&path, "%s/%s", dir, seeds[i]->d_name);
    free(seeds[i]);
    replay(dx_buf_text(&path));
    dx_buf_release(&path);
  }
  free(seeds);
  return count > 0;
}

int main(int argc, char **argv)
{
  const char *top = getenv("srcdir"); /* set by make check */
  const char *name = strrchr(argv[0], '/');
  struct dx_buf dir = {0};
  bool any;
  int i;

  report = fdopen(dup(STDOUT_FILENO), "w");
  HOLDS(report != NULL);
  for (i = 1; i < argc; i++)
    replay(argv[i]);
  if (argc > 1)
    return EXIT_SUCCESS;
  name = name != NULL ? name + 1 : argv[0];
  dx_buf_printf(&dir, "%s/tests/fuzz/corpus/%s", top != NULL ? top : ".",
                name + strlen("fuzz_"));
  any = replay_all(dx_buf_text(&dir));
  if (!any)
    fprintf(stderr, "no seeds in '%s'\n", dx_buf_text(&dir));
  dx_buf_release(&dir);
  return any ? EXIT_SUCCESS : EXIT_FAILURE;
}
