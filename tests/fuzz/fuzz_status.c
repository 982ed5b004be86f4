/*
 * fuzz_status.c - the status socket in both directions. The first line is a
 * request; the rest is what a server responds, as commands and
 * docextract-notify read it.
 */
#include "tests/fuzz/fuzz.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/base/json.h"
#include "lib/base/utf8.h"
#include "lib/control/channel.h"
#include "lib/control/status.h"
#include "lib/spool/sentence.h"

static void read_request(const char *line)
{
  struct dx_message message;

  if (dx_message_parse(line, strlen(line), &message, NULL) != DX_OK)
    return;
  if (message.verb != DX_VERB_SHOW)
    return;
  HOLDS(message.count == 2 && strchr(message.words[0], ' ') == NULL);
  HOLDS(dx_utf8_is_plain(message.words[1]));
}

/* The job of a line is one that can be shown, and sent again. */
static void read_job(const struct cJSON *line)
{
  char sentence[DX_SENTENCE_BYTES], *text;
  struct dx_job *job = NULL, *again = NULL;
  struct cJSON *same;
  struct dx_err err;
  size_t len;

  if (dx_status_read_job(line, &job, &err) != DX_OK)
    return;
  dx_job_sentence(job, sentence);
  HOLDS(dx_job_state(job) < DX_ST_COUNT && dx_job_status(job)[0] != '\0');
  text = dx_status_job_line(job, true);
  HOLDS(text != NULL);
  len = strlen(text);
  HOLDS(text[len - 1] == '\n' && strchr(text, '\n') == text + len - 1);
  same = dx_json_parse(text, len, &err);
  HOLDS(same != NULL && dx_status_read_job(same, &again, &err) == DX_OK);
  HOLDS(strcmp(again->key, job->key) == 0 &&
        again->submission_count == job->submission_count);
  dx_json_free(&same);
  dx_job_free(&again);
  free(text);
  text = dx_status_job_line(job, false);
  HOLDS(text != NULL);
  free(text);
  dx_job_free(&job);
}

static void read_responses(char *bytes, size_t len)
{
  FILE *in = len > 0 ? fmemopen(bytes, len, "r") : NULL;
  struct cJSON *line = NULL;
  struct dx_err err = {.code = DX_OK};
  enum dx_code code;

  if (in == NULL)
    return;
  while ((code = dx_status_line(in, &line, &err)) == DX_OK && line != NULL) {
    read_job(line);
    dx_json_free(&line);
  }
  HOLDS(line == NULL);
  HOLDS(code == DX_OK || (err.code == code && code < DX_CODE_COUNT));
  (void)fclose(in);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct fuzz_input in = {data, size};
  char *request = fuzz_line(&in), *responses;
  size_t len = in.left;

  responses = fuzz_rest(&in);
  read_request(request);
  read_responses(responses, len);
  free(request);
  free(responses);
  return 0;
}
