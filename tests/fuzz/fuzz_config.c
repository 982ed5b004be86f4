/*
 * fuzz_config.c - docextract.conf. What was read is printed, and reads back
 * the same.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/config/config.h"

struct text {
  char *bytes;
  size_t len;
};

static struct text printed(const struct dx_config *config)
{
  struct text text = {NULL, 0};
  FILE *out = open_memstream(&text.bytes, &text.len);

  HOLDS(out != NULL);
  HOLDS(dx_config_print(config, out, NULL) == DX_OK);
  HOLDS(fclose(out) == 0);
  return text;
}

static void print_anonymous(const struct dx_config *config)
{
  FILE *out = fopen("/dev/null", "w");

  HOLDS(out != NULL);
  dx_config_print_anonymous(config, out);
  (void)fclose(out);
}

static void print_and_load(const struct dx_config *config)
{
  struct text once = printed(config);
  struct dx_config *again = NULL;
  char *path = fuzz_path("again.conf");
  struct dx_err err;

  fuzz_put("again.conf", once.bytes, once.len);
  HOLDS(dx_config_load(path, &again, NULL, &err) == DX_OK);
  HOLDS(again->service_count == config->service_count &&
        strcmp(again->spool_dir, config->spool_dir) == 0);
  dx_config_free(&again);
  free(once.bytes);
  free(path);
  print_anonymous(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct dx_config *config = NULL;
  struct dx_config_notes notes = {0};
  struct dx_err err;
  char *path = fuzz_path("conf");

  fuzz_put("conf", data, size);
  if (dx_config_load(path, &config, &notes, &err) == DX_OK)
    print_and_load(config);
  dx_config_free(&config);
  dx_config_notes_release(&notes);
  free(path);
  return 0;
}
