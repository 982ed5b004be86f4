/*
 * status.c - the lines that cupsd reads from our stderr; the only file of the
 * backend that prints. All users who can see the queue see INFO and ERROR,
 * which therefore contain only counts and times, no names or titles.
 */
#include "backend/backend.h"

#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/language.h"
#include "lib/base/log.h"
#include "lib/base/utf8.h"
#include "lib/spool/sentence.h"

#ifndef DX_TOGGLE_MS         /* tests build with a short one */
#define DX_TOGGLE_MS 1500000 /* 25 min; MaxJobTime may be 30 */
#endif

#define LINE_BYTES 1900 /* below CUPS_MAX_MESSAGE */
#define PROGRESS_STEP 5 /* percent between two lines */
#define READ_MS 1000    /* for cupsd to read the last lines */
#define READ_LOOK_MS 2

static bool is_set[DX_SR_COUNT];
static int64_t toggled_ms;
static int last_percent = -1;

static void status_put_line(const char *prefix, const char *text)
{
  char line[LINE_BYTES], cut[LINE_BYTES - 1];

  (void)snprintf(line, sizeof(line), "%s: %s", prefix, text);
  dx_utf8_copy(cut, sizeof(cut), line);
  (void)fprintf(stderr, "%s\n", cut);
}

/* One write per line: processes share the pipe to cupsd. All but DEBUG is for
 * users, or has no words. */
void status_say(const char *prefix, const char *format, ...)
{
  char text[LINE_BYTES], shown[LINE_BYTES];
  va_list args;

  va_start(args, format);
  (void)vsnprintf(text, sizeof(text), format, args);
  va_end(args);
  if (strcmp(prefix, "DEBUG") != 0)
    (void)dx_translate(text, shown, sizeof(shown));
  status_put_line(prefix, strcmp(prefix, "DEBUG") != 0 ? shown : text);
  (void)fflush(stderr);
}

static void log_line(enum dx_log_level level, const char *line)
{
  (void)level; /* WARNING and ERROR would replace the status message */
  status_say("DEBUG", "%s", line);
}

/* State reasons are set and cleared in pairs. */
static void status_set_reason(enum dx_state_reason reason, bool on)
{
  if (is_set[reason] == on || reason == DX_SR_NONE)
    return;
  is_set[reason] = on;
  toggled_ms = dx_monotonic_ms();
  status_say("STATE", "%c%s", on ? '+' : '-', dx_state_reasons[reason].keyword);
}

void status_start(void)
{
  char text[400] = "";
  size_t len = 0;
  int i;

  toggled_ms = dx_monotonic_ms();
  (void)setvbuf(stderr, NULL, _IOFBF, 4096);
  dx_log_to(log_line);
  /* An earlier run may have left a reason set. Clears all in one line, because
   * lines could be mixed with the output of a converter. */
  for (i = DX_SR_NONE + 1; i < DX_SR_COUNT; i++)
    len += (size_t)snprintf(text + len, sizeof(text) - len, "%c%s",
                            len > 0 ? ',' : '-', dx_state_reasons[i].keyword);
  status_say("STATE", "%s", text);
}

/* Both lines are logged, even at cupsd's default level. The last one is shown,
 * because both are sent with one write, which cupsd reads as a whole. */
void status_failure(const char *text, const char *log, ...)
{
  char line[DX_CHANNEL_LINE_BYTES];
  va_list args;

  va_start(args, log);
  (void)vsnprintf(line, sizeof(line), log, args);
  va_end(args);
  status_put_line("WARNING", line);
  status_say("ERROR", "%s", text);
}

/* INFO, because after an ERROR cupsd would not change the message of the print
 * job any more. If the wait fails, backend_end() logs the error. */
void status_not_ready(const struct dx_err *err)
{
  char what[DX_SENTENCE_BYTES];
  int i;

  for (i = DX_SR_NONE + 1; i < DX_SR_COUNT; i++)
    status_set_reason((enum dx_state_reason)i,
                      err != NULL && (enum dx_state_reason)i ==
                                         dx_code_rows[err->code].state_reason);
  if (err == NULL)
    return;
  dx_sentence(err->code, NULL, what);
  status_say("DEBUG", "%s: %s", dx_code_name(err->code), err->text);
  status_say("INFO", DX_SAY_NOT_READY, what);
}

static void show_upload(int percent)
{
  if (percent == last_percent ||
      (last_percent >= 0 && percent < last_percent + PROGRESS_STEP &&
       percent != 100))
    return;
  last_percent = percent;
  status_say("ATTR", "job-media-progress=%d", percent);
  status_say("INFO", DX_SAY_HERE " (%d%% sent)", percent);
}

void status_note(const struct dx_note *note, bool here)
{
  static const struct {
    enum dx_state_reason reason;
    bool is_on, has_time;
  } rows[DX_NOTE_COUNT] = {
      [DX_NOTE_WAITING] = {DX_SR_WAITING, true, true},
      [DX_NOTE_OVERDUE] = {DX_SR_OVERDUE, true, false},
      [DX_NOTE_DOWN] = {DX_SR_DOWN, true, true},
      [DX_NOTE_UP] = {DX_SR_DOWN, false, false},
      [DX_NOTE_ADMIN] = {DX_SR_CONFIG, true, false},
      [DX_NOTE_LOCAL] = {DX_SR_STORAGE, true, false},
      [DX_NOTE_LOCAL_OVER] = {DX_SR_STORAGE, false, false}};
  int64_t s = (dx_monotonic_ms() - note->since_ms) / 1000;
  char text[DX_SENTENCE_BYTES], time[32] = "";

  if (note->kind == DX_NOTE_WAITING && here)
    return; /* another document is being uploaded */
  status_set_reason(rows[note->kind].reason, rows[note->kind].is_on);
  /* A further step shows that what an administrator had to fix is over. */
  if (note->kind != DX_NOTE_ADMIN && note->kind != DX_NOTE_TOKEN)
    status_set_reason(DX_SR_CONFIG, false);
  if (note->kind == DX_NOTE_ADMIN)
    status_say("DEBUG", "%s: %s", dx_code_name(note->code), note->text);
  if (note->kind == DX_NOTE_UPLOADING)
    show_upload(note->total > 0 ? (int)(note->done * 100 / note->total) : 100);
  if (note->kind == DX_NOTE_UPLOADING ||
      note->kind == DX_NOTE_OVERDUE) /* it ends the print job */
    return;
  dx_wait_sentence(note->code, here, text);
  if (note->kind == DX_NOTE_LOCAL) {
    status_failure(text, "%s: %s", dx_code_name(note->code), note->text);
    return;
  }
  last_percent = -1; /* the upload is shown again */
  if (rows[note->kind].has_time && note->since_ms != 0)
    (void)snprintf(time, sizeof(time),
                   s < 120    ? " (%" PRId64 " s)"
                   : s < 7200 ? " (%" PRId64 " min)"
                              : " (%" PRId64 " h %" PRId64 " min)",
                   s < 120    ? s
                   : s < 7200 ? s / 60
                              : s / 3600,
                   s / 60 % 60);
  status_say("INFO", "%s%s", text, time);
}

void status_docextractd(const struct dx_err *err)
{
  if (is_set[DX_SR_STOPPED] == (err != NULL)) /* it was reported */
    return;
  status_set_reason(DX_SR_STOPPED, err != NULL);
  if (err != NULL)
    status_say("ERROR", DX_SAY_NOT_RUNNING, err->text);
}

/* Any change of a state reason restarts MaxJobTime. */
void status_tick(void)
{
  if (dx_monotonic_ms() - toggled_ms < DX_TOGGLE_MS)
    return;
  status_set_reason(DX_SR_WAITING, !is_set[DX_SR_WAITING]);
  status_set_reason(DX_SR_WAITING, true);
}

/* cupsd 2.4 discards unread lines if the backend of a job with several
 * documents exits with a failure: the reason would not be shown. */
static void wait_until_read(void)
{
  int64_t until_ms = dx_monotonic_ms() + READ_MS;
  struct stat st;
  int unread = 0;

  if (fstat(STDERR_FILENO, &st) < 0 || !S_ISFIFO(st.st_mode))
    return;
  while (ioctl(STDERR_FILENO, FIONREAD, &unread) == 0 && unread > 0 &&
         dx_monotonic_ms() < until_ms)
    (void)poll(NULL, 0, READ_LOOK_MS);
}

void status_end(enum dx_code code, bool others_failed, bool others_undecided)
{
  enum dx_state_reason result = dx_code_rows[code].state_reason;
  int i;

  for (i = DX_SR_NONE + 1; i < DX_SR_COUNT; i++)
    status_set_reason((enum dx_state_reason)i,
                      (enum dx_state_reason)i == result ||
                          (i == DX_SR_FAILED && others_failed) ||
                          (i == DX_SR_DECISION && others_undecided));
  wait_until_read();
}
