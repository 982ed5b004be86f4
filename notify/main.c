/*
 * main.c - docextract-notify: shows users the outcome of their print jobs on
 * the desktop. It watches docextractd's status socket (lib/control/status.h),
 * and shows a notification when a job of the user has ended.
 *
 * After any failure - docextractd is not running, the desktop shows no
 * notifications - it starts over: it connects, and requests the ends that were
 * not shown yet. An end is stored as shown after the desktop has accepted it;
 * if the process is killed in between, it is shown again.
 *
 * Each print job has one notification, when its last document has ended. It
 * contains the queue and number of the print job, the outcome, and whom to
 * contact, but no data of the document. If the user must act, it remains until
 * the user closes it. All notifications remain when this process ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <libnotify/notify.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sysexits.h>
#include <unistd.h>

#include "lib/base/clock.h"
#include "lib/base/language.h"
#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/config/config.h"
#include "lib/control/status.h"
#include "lib/spool/sentence.h"
#include "lib/spool/state.h"

#define LINE_BYTES 1024  /* of a notification */
#define OVERLAP_MS 60000 /* ends are not ordered; lib/control/status.h */

/*
 * The ends that were shown, so that after a restart of any program none is
 * missed or shown twice. docextractd is asked for ends since one minute before
 * the last one, and the ends of that minute are stored, as words "TIME KEY":
 * wall-clock ms and the key of the job.
 *
 * The file is $XDG_STATE_HOME/docextract/shown-HOST, because computers may
 * share home directories, but each has its own docextractd. A second process of
 * the same user would show everything twice, so it waits. Errors with the file
 * are logged, and the ends are then stored only in memory.
 */
struct shown {
  GHashTable *ends; /* a set */
  int64_t last_ms;  /* of all ends that were saved */
  char *path;
};

struct notify {
  const char *config_path;
  struct shown shown;
  FILE *status; /* the connection; NULL: none */
  int64_t connected_ms;
  int64_t wait_ms; /* before the next connection */
};

static bool is_verbose;

static void notifier_log(enum dx_log_level level, const char *line)
{
  if (level != DX_LOG_DEBUG || is_verbose)
    fprintf(stderr, "docextract-notify: %s\n", line);
}

/* ---- what was shown ---- */

static int64_t end_time(const char *end)
{
  return g_ascii_strtoll(end, NULL, 10);
}

/* All earlier ends were shown. If the clock was ahead once, later ends must not
 * be hidden. In whole seconds, as it is requested: what is forgotten must not
 * be sent again. */
static int64_t shown_since(const struct shown *shown)
{
  int64_t since_ms = MIN(shown->last_ms, dx_wall_ms()) - OVERLAP_MS;

  return since_ms - since_ms % 1000;
}

/* Removes old ends, and writes the file. Call it when all ends that were
 * received have been shown: they are not ordered. */
static void shown_save(struct shown *shown)
{
  GString *text = g_string_new(NULL);
  GError *error = NULL;
  GHashTableIter iter;
  int64_t since;
  void *end;

  g_hash_table_iter_init(&iter, shown->ends);
  while (g_hash_table_iter_next(&iter, &end, NULL))
    shown->last_ms = MAX(shown->last_ms, end_time(end));
  since = shown_since(shown);
  g_hash_table_iter_init(&iter, shown->ends);
  while (g_hash_table_iter_next(&iter, &end, NULL))
    if (end_time(end) < since)
      g_hash_table_iter_remove(&iter);
    else
      g_string_append_printf(text, "%s\n", (const char *)end);
  if (!g_file_set_contents(shown->path, text->str, (gssize)text->len, &error)) {
    dx_log(DX_LOG_WARNING, "%s", error->message);
    g_error_free(error);
  }
  (void)g_string_free(text, TRUE);
}

/* Waits until no other process has locked the file, and reads it. Without a
 * file, ends more than a minute ago count as shown. */
static void shown_open(struct shown *shown)
{
  char *dir = g_build_filename(g_get_user_state_dir(), "docextract", NULL);
  char *path = g_strdup_printf("%s/shown-%s", dir, g_get_host_name());
  char *lock = g_strconcat(path, ".lock", NULL); /* the file is replaced */
  char *text = NULL, *line, *rest;
  int lock_fd; /* stays open */

  shown->ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  shown->path = path;
  (void)g_mkdir_with_parents(dir, 0700); /* else locking it fails */
  lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_fd < 0 || flock(lock_fd, LOCK_EX) < 0)
    dx_log(DX_LOG_WARNING, "cannot lock '%s': %s", lock, g_strerror(errno));
  (void)g_file_get_contents(path, &text, NULL, NULL);
  for (rest = text; (line = strsep(&rest, "\n")) != NULL;)
    if (line[0] != '\0')
      (void)g_hash_table_add(shown->ends, g_strdup(line));
  g_free(text);
  if (g_hash_table_size(shown->ends) == 0)
    (void)g_hash_table_add(
        shown->ends,
        g_strdup_printf("%" G_GINT64_FORMAT " begin", dx_wall_ms()));
  shown_save(shown);
  g_free(lock);
  g_free(dir);
}

/* ---- notifications ---- */

/* False if the desktop shows no notifications now. */
static bool job_notify(const struct dx_job *job, const char *sentence)
{
  enum dx_state state = dx_job_state(job);
  bool is_good = state == DX_ST_EXTRACTED;
  /* Some sentences already refer the user to the administrator. */
  bool is_admins = g_str_has_prefix(sentence, DX_SENTENCE_ADMIN);
  char text[LINE_BYTES], *body;
  GList *caps = notify_get_server_caps();
  NotifyNotification *notification;
  GError *error = NULL;
  bool is_shown;

  body = g_strdup_printf(
      "Print job %s-%s: %s%s%s", job->queue, job->cups_id, sentence,
      is_good ? "" : ".",
      is_good || is_admins ? "" : " If you need help, ask your administrator.");
  (void)dx_translate(body, text, sizeof(text));
  g_free(body);
  /* Most desktops read the body as markup. */
  body = g_list_find_custom(caps, "body-markup", (GCompareFunc)g_strcmp0)
             ? g_markup_escape_text(text, -1)
             : g_strdup(text);
  g_list_free_full(caps, g_free);
  notification = notify_notification_new(
      dx_label(is_good                  ? "Chart extracted"
               : state == DX_ST_REFUSED ? "Chart refused"
                                        : "Chart not extracted"),
      body, is_good ? "printer" : "printer-error");
  g_free(body);
  notify_notification_set_urgency(
      notification, is_good ? NOTIFY_URGENCY_NORMAL : NOTIFY_URGENCY_CRITICAL);
  is_shown = notify_notification_show(notification, &error);
  if (!is_shown)
    dx_log(DX_LOG_WARNING, "cannot show a notification: %s", error->message);
  g_clear_error(&error);
  g_object_unref(notification);
  return is_shown;
}

/*
 * Shows the end of a job, a line of `watch`, unless it was shown. Not shown are
 * jobs of other users, which members of the group docextract receive, too;
 * canceled ones, which the user canceled or was asked about; expired ones,
 * which failed weeks ago. False if the desktop shows no notifications now.
 */
static bool job_show(struct shown *shown, const struct cJSON *line)
{
  const char *sentence = dx_json_string(dx_json_get(line, "sentence"));
  struct dx_job *job = NULL;
  enum dx_state state;
  struct dx_err err;
  bool is_wanted, is_shown;
  char *end;

  if (sentence == NULL || dx_status_read_job(line, &job, &err) != DX_OK)
    return true;
  state = dx_job_state(job);
  end = g_strdup_printf("%" G_GINT64_FORMAT " %s", dx_job_ended_at(job),
                        job->key);
  is_wanted = job->queue != NULL && job->cups_id != NULL &&
              g_strcmp0(job->user, g_get_user_name()) == 0 &&
              (state == DX_ST_EXTRACTED || state == DX_ST_FAILED ||
               state == DX_ST_REFUSED) &&
              !g_hash_table_contains(shown->ends, end);
  is_shown = is_wanted && job_notify(job, sentence);
  if (is_shown)
    (void)g_hash_table_add(shown->ends, g_steal_pointer(&end));
  g_free(end);
  dx_job_free(&job);
  return is_shown || !is_wanted;
}

/* ---- the connection ---- */

static gboolean watch_connect(void *data);

/* A connection that lasted longer than the wait before it resets the wait. */
static void watch_later(struct notify *n)
{
  int64_t held_ms = n->status != NULL ? dx_monotonic_ms() - n->connected_ms : 0;

  g_clear_pointer(&n->status, fclose);
  n->wait_ms = held_ms >= n->wait_ms ? DX_BACKOFF_FIRST_MS
                                     : MIN(2 * n->wait_ms, DX_BACKOFF_MAX_MS);
  (void)g_timeout_add(
      (guint)g_random_int_range((int)n->wait_ms / 2, (int)n->wait_ms + 1),
      watch_connect, n);
}

static gboolean watch_on_readable(GIOChannel *lines, GIOCondition condition,
                                  void *data)
{
  struct notify *n = data;
  bool are_shown = true;
  struct cJSON *line;
  GIOStatus status = G_IO_STATUS_NORMAL;
  char *text;
  size_t len;

  (void)condition;
  while (are_shown &&
         (status = g_io_channel_read_line(lines, &text, &len, NULL, NULL)) ==
             G_IO_STATUS_NORMAL) {
    line = dx_json_parse(text, len, NULL);
    are_shown = job_show(&n->shown, line);
    dx_json_free(&line);
    g_free(text);
  }
  if (status == G_IO_STATUS_AGAIN) {
    shown_save(&n->shown);
    return G_SOURCE_CONTINUE;
  }
  /* Requests the ends again, also those that the desktop did not show now. */
  watch_later(n);
  return G_SOURCE_REMOVE;
}

static gboolean watch_connect(void *data)
{
  struct notify *n = data;
  struct dx_config *config = NULL;
  struct dx_err err = {0};
  char since[DX_TIME_BYTES];
  GIOChannel *lines;
  char *request;

  if (dx_config_load(n->config_path, &config, NULL, &err) == DX_OK) {
    dx_format_time(shown_since(&n->shown), since);
    request = g_strconcat("watch ", since, NULL);
    n->status = dx_status_ask(config->status_socket, request, &err);
    g_free(request);
    dx_config_free(&config);
  }
  if (n->status != NULL) {
    n->connected_ms = dx_monotonic_ms();
    lines = g_io_channel_unix_new(fileno(n->status));
    (void)g_io_channel_set_encoding(lines, NULL, NULL);
    g_io_channel_set_line_term(lines, "\n", 1);
    (void)g_io_channel_set_flags(lines, G_IO_FLAG_NONBLOCK, NULL);
    (void)g_io_add_watch(lines, G_IO_IN | G_IO_HUP | G_IO_ERR,
                         watch_on_readable, n);
    g_io_channel_unref(lines); /* the watch has it */
  } else {
    dx_log(DX_LOG_DEBUG, "%s", err.text);
    watch_later(n);
  }
  return G_SOURCE_REMOVE;
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {{"verbose", no_argument, NULL, 'd'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, 'V'},
                                        {NULL, 0, NULL, 0}};
  struct notify n = {.config_path = dx_config_path(),
                     .wait_ms = DX_BACKOFF_FIRST_MS};
  int letter;

  while ((letter = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
    if (letter == 'c') {
      n.config_path = optarg;
    } else if (letter == 'd') {
      is_verbose = true;
    } else if (letter == 'h') {
      printf("Usage: docextract-notify [-c FILE] [--verbose]\n"
             "Shows a notification when one of your charts was extracted, "
             "refused, or failed.\n\n"
             "  -c FILE    use this configuration file\n"
             "  --verbose  print why there is no connection to stderr\n"
             "  --help     print this help and exit\n"
             "  --version  print the version and exit\n");
      return EX_OK;
    } else if (letter == 'V') {
      printf("docextract-notify %s\n", PACKAGE_VERSION);
      return EX_OK;
    } else {
      fputs("try 'docextract-notify --help' for more information\n", stderr);
      return EX_USAGE;
    }
  }
  if (optind < argc) {
    fputs("docextract-notify: takes no arguments; try 'docextract-notify "
          "--help' for more information\n",
          stderr);
    return EX_USAGE;
  }
  dx_log_to(notifier_log);
  dx_language_use(dx_language_of_user());
  shown_open(&n.shown);
  (void)notify_init("docextract");
  (void)watch_connect(&n);
  g_main_loop_run(g_main_loop_new(NULL, FALSE)); /* until a signal arrives */
  return EX_OK;
}
