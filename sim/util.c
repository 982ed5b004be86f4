/*
 * util.c - memory, clock, IDs, JSON and files.
 */
#include "sim/sim.h"

#include <err.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define TIME_CHARS 10

void *sim_new(void *memory)
{
  if (memory == NULL) {
    warn("no memory");
    _exit(EX_UNAVAILABLE); /* stopping would wait for this thread */
  }
  return memory;
}

char *sim_text(const char *format, ...)
{
  char *text = NULL;
  va_list args;
  int n;

  va_start(args, format);
  n = vasprintf(&text, format, args);
  va_end(args);
  return sim_new(n < 0 ? NULL : text);
}

int64_t sim_now_ms(void)
{
  struct timespec ts;

  (void)clock_gettime(CLOCK_MONOTONIC, &ts);
  return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

void sim_id_new(char ret_id[SIM_ID_BYTES])
{
  static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
  unsigned char random[SIM_ID_LEN] = {0};
  struct timespec ts;
  uint64_t ms;

  (void)clock_gettime(CLOCK_REALTIME, &ts);
  (void)!getrandom(random, sizeof(random), 0);
  ms = (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
  for (int i = TIME_CHARS - 1; i >= 0; i--, ms /= 32)
    ret_id[i] = alphabet[ms % 32];
  for (int i = TIME_CHARS; i < SIM_ID_LEN; i++)
    ret_id[i] = alphabet[random[i] % 32];
  ret_id[SIM_ID_LEN] = '\0';
}

const char *sim_text_of(const cJSON *json, const char *name)
{
  const char *s =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(json, name));

  return s == NULL ? "" : s;
}

char *sim_read_file(const char *path, size_t *ret_len)
{
  FILE *file = fopen(path, "re");
  char *data = sim_new(calloc(1, SIM_FILE_BYTES_MAX + 2));

  if (file != NULL)
    errno = EFBIG; /* unless it cannot be read */
  if (file == NULL ||
      (*ret_len = fread(data, 1, SIM_FILE_BYTES_MAX + 1, file)) >
          SIM_FILE_BYTES_MAX ||
      ferror(file))
    err(EX_UNAVAILABLE, "cannot read '%s'", path);
  (void)fclose(file);
  return data;
}
