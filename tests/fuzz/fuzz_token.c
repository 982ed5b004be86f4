/*
 * fuzz_token.c - what the sources of tokens provide. The first line chooses:
 * 0 a file, 1 the output of a command, 2 a key for the algorithm whose number
 * is in the second line.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/policy.h"
#include "daemon/service/token.h"

static void get(const struct dx_service *service)
{
  struct dx_token token = {.service = service, .stop_fd = -1};
  const char *text = NULL, *p;
  struct dx_err err;

  if (dx_token_get(&token, 0, &text, &err) == DX_OK) {
    HOLDS(text[0] != '\0' && strlen(text) <= DX_TOKEN_MAX_BYTES);
    for (p = text; *p != '\0'; p++)
      HOLDS(*p > ' ' && *p <= '~');
  }
  dx_token_forget(&token);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *path = fuzz_path("token");
  char command[128];
  struct dx_service service = {.token_lifetime_ms = 300000};

  (void)snprintf(command, sizeof(command), "/bin/cat %s", path);
  service.token = (enum dx_token_source)fuzz_number(&in, 3);
  if (service.token == DX_TOKEN_KEY)
    service.token_algorithm = (enum dx_algorithm)fuzz_number(&in, DX_ALG_COUNT);
  service.token_file = service.token_key_file = path;
  service.token_command = command;
  fuzz_put("token", in.at, in.left);
  get(&service);
  free(path);
  return 0;
}
