/*
 * main.c - docextract-notify: shows users the outcome of their print jobs on
 * the desktop. It watches docextractd's status socket (lib/control/status.h),
 * and shows a notification when a submission of the user has ended.
 *
 * After any failure - docextractd is not running, the desktop shows no
 * notifications - it starts over: it connects, and requests the ends that were
 * not shown yet. An end is stored as shown after the desktop has accepted it;
 * if the process is killed in between, it is shown again.
 *
 * Each print job has one notification, updated as its documents end, so that a
 * job with a thousand documents shows only one. It contains the queue and
 * number of the print job, the outcome, and whom to contact, but no data of the
 * document. If the user must act, it remains until the user closes it. All
 * notifications remain when this process ends.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <glib-unix.h>
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
 * the last one, and the ends of that minute are stored, as words "TIME ID":
 * wall-clock ms and an identifier.
 *
 * The file is $XDG_STATE_HOME/docextract/shown-HOST, because computers may
 * share home directories, but each has its own docextractd. A second process of
 * the same user would show everything twice, so it waits. Errors with the file
 * are logged, and the ends are then stored only in memory.
 */
struct shown {
  GHashTable *ends; /* a set */
  int64_t last_ms;  /* of all ends that were added */
  char *path;
  int lock_fd; /* -1: cannot be locked */
};

struct notify {
  const char *config_path;
  struct shown shown;
  GPtrArray *ends; /* to be shown */
  FILE *status;    /* the connection; NULL: none */
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

static void shown_add(struct shown *shown, const char *end)
{
  (void)g_hash_table_add(shown->ends, g_strdup(end));
  shown->last_ms = MAX(shown->last_ms, end_time(end));
}

/* All earlier ends were shown. If the clock was ahead once, later ends must not
 * be hidden. */
static int64_t shown_since(const struct shown *shown)
{
  return MIN(shown->last_ms, dx_wall_ms()) - OVERLAP_MS;
}

/* Removes old ends, and writes the file. */
static void shown_save(struct shown *shown)
{
  int64_t since = shown_since(shown);
  GString *text = g_string_new(NULL);
  GError *error = NULL;
  GHashTableIter iter;
  void *end;

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

  shown->ends = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  shown->path = path;
  (void)g_mkdir_with_parents(dir, 0700); /* else locking it fails */
  shown->lock_fd = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (shown->lock_fd < 0 || flock(shown->lock_fd, LOCK_EX) < 0)
    dx_log(DX_LOG_WARNING, "cannot lock '%s': %s", lock, g_strerror(errno));
  (void)g_file_get_contents(path, &text, NULL, NULL);
  for (rest = text; (line = strsep(&rest, "\n")) != NULL;)
    if (line[0] != '\0')
      shown_add(shown, line);
  g_free(text);
  if (shown->last_ms == 0) {
    text = g_strdup_printf("%" G_GINT64_FORMAT " begin", dx_wall_ms());
    shown_add(shown, text);
    shown_save(shown);
    g_free(text);
  }
  g_free(lock);
  g_free(dir);
}

/* ---- notifications ---- */

struct end {
  enum dx_state state; /* DX_ST_STORED: has not ended */
  int64_t cases;
};

/* A print job, until all of its submissions have ended and its notification is
 * closed. */
struct popup {
  char *key;                        /* in the spool */
  char *name;                       /* QUEUE-ID, as lpstat shows it */
  GArray *ends;                     /* struct end, of each submission */
  char *sentence;                   /* of the last one that was not extracted */
  NotifyNotification *notification; /* NULL: not shown, or closed */
  bool is_changed;
};

static GHashTable *popups; /* by key */

static void popup_free(void *data)
{
  struct popup *popup = data;

  g_clear_object(&popup->notification);
  g_array_unref(popup->ends);
  g_free(popup->key);
  g_free(popup->name);
  g_free(popup->sentence);
  g_free(popup);
}

/*
 * Records an end, a line of `watch` (lib/control/status.h), to show it later.
 * The same end may be added again. False if it is not shown: jobs of other
 * users, which members of the group docextract receive, too; canceled ones,
 * which the user canceled or was asked about; expired ones, which failed weeks
 * ago.
 */
static bool popups_add(const struct cJSON *line)
{
  const char *key = dx_json_string(dx_json_get(line, "key"));
  const char *queue = dx_json_string(dx_json_get(line, "queue"));
  const char *id = dx_json_string(dx_json_get(line, "id"));
  const char *user = dx_json_string(dx_json_get(line, "user"));
  const char *word = dx_json_string(dx_json_get(line, "state"));
  const char *sentence = dx_json_string(dx_json_get(line, "sentence"));
  enum dx_state state = word != NULL ? dx_state_by_word(word) : DX_ST_COUNT;
  int64_t number = 0, count = 0, cases = 0;
  struct popup *popup;

  (void)dx_json_int(dx_json_get(line, "submission"), &number);
  (void)dx_json_int(dx_json_get(line, "job_submissions"), &count);
  (void)dx_json_int(dx_json_get(line, "cases"), &cases);
  if (key == NULL || queue == NULL || id == NULL ||
      g_strcmp0(user, g_get_user_name()) != 0 || number < 1 || number > count ||
      count > DX_DOCUMENTS_MAX ||
      (state != DX_ST_EXTRACTED &&
       ((state != DX_ST_REFUSED && state != DX_ST_FAILED) || sentence == NULL)))
    return false;
  popup = g_hash_table_lookup(popups, key);
  if (popup == NULL) {
    popup = g_new0(struct popup, 1);
    popup->key = g_strdup(key);
    popup->name = g_strdup_printf("%s-%s", queue, id);
    popup->ends = g_array_new(FALSE, TRUE, sizeof(struct end));
    (void)g_hash_table_insert(popups, popup->key, popup);
  }
  if (popup->ends->len < count) /* a rerun of the print job may add some */
    (void)g_array_set_size(popup->ends, (guint)count);
  g_array_index(popup->ends, struct end, number - 1) =
      (struct end){state, cases};
  if (state != DX_ST_EXTRACTED) {
    g_free(popup->sentence);
    popup->sentence = g_strdup(sentence);
  }
  popup->is_changed = true;
  return true;
}

struct tally {
  size_t of[DX_ST_COUNT]; /* submissions in each state */
  size_t count;
  int64_t cases;
  bool is_good;     /* all of these are extracted */
  bool is_complete; /* all submissions have ended */
};

static struct tally popup_count(const struct popup *popup)
{
  struct tally tally = {0};
  size_t i;

  for (i = 0; i < popup->ends->len; i++) {
    tally.of[g_array_index(popup->ends, struct end, i).state]++;
    tally.cases += g_array_index(popup->ends, struct end, i).cases;
  }
  tally.count = popup->ends->len - tally.of[DX_ST_STORED];
  tally.is_complete = tally.of[DX_ST_STORED] == 0;
  tally.of[DX_ST_STORED] = 0;
  tally.is_good = tally.of[DX_ST_EXTRACTED] == tally.count;
  return tally;
}

/* Appends a line, in the language of the user. */
static void popup_say(GString *text, const char *english)
{
  char line[LINE_BYTES];

  (void)dx_translate(english, line, sizeof(line));
  g_string_append(text, line);
}

/* Caller frees. */
static char *popup_body(const struct popup *popup, const struct tally *tally)
{
  GString *english = g_string_new(NULL), *text = g_string_new(NULL);
  const char *between = ": ";
  int state;

  g_string_append_printf(english, "Print job %s", popup->name);
  if (tally->count > 1) { /* "3 documents: 2 extracted, 1 refused" */
    g_string_append_printf(english, ": %zu documents", tally->count);
    for (state = 0; state < DX_ST_COUNT; state++) {
      if (tally->of[state] == 0)
        continue;
      g_string_append_printf(english, "%s%zu %s", between, tally->of[state],
                             dx_state_word((enum dx_state)state));
      between = ", ";
    }
  } else if (tally->is_good && tally->cases == 0) {
    g_string_append(english, ": nothing was found in it");
  } else if (tally->is_good) {
    g_string_append_printf(english, ": %" G_GINT64_FORMAT " case%s",
                           tally->cases, tally->cases == 1 ? "" : "s");
  }
  popup_say(text, english->str);
  if (!tally->is_good) {
    g_string_printf(english, "%s.", popup->sentence);
    /* Some sentences already refer the user to the administrator. */
    if (!g_str_has_prefix(popup->sentence, DX_SENTENCE_ADMIN))
      g_string_append(english, " If you need help, ask your administrator.");
    g_string_append_c(text, '\n');
    popup_say(text, english->str);
  }
  (void)g_string_free(english, TRUE);
  return g_string_free(text, FALSE);
}

/* If more documents end, a new notification counts all of them. */
static void popup_on_closed(NotifyNotification *notification, void *data)
{
  struct popup *popup = data;

  (void)notification;
  g_clear_object(&popup->notification);
  if (popup_count(popup).is_complete)
    (void)g_hash_table_remove(popups, popup->key);
}

static bool popup_show(struct popup *popup)
{
  const struct tally tally = popup_count(popup);
  const char *icon = tally.is_good ? "printer" : "printer-error";
  const char *summary =
      dx_label(tally.is_good                 ? "Chart extracted"
               : tally.of[DX_ST_FAILED] == 0 ? "Chart refused"
                                             : "Chart not extracted");
  char *text = popup_body(popup, &tally), *plain = text;
  GList *caps = notify_get_server_caps();
  GError *error = NULL;

  /* Most desktops read the body as markup. */
  if (g_list_find_custom(caps, "body-markup", (GCompareFunc)g_strcmp0)) {
    text = g_markup_escape_text(plain, -1);
    g_free(plain);
  }
  g_list_free_full(caps, g_free);
  if (popup->notification == NULL) {
    popup->notification = notify_notification_new(summary, text, icon);
    (void)g_signal_connect(popup->notification, "closed",
                           G_CALLBACK(popup_on_closed), popup);
  } else {
    (void)notify_notification_update(popup->notification, summary, text, icon);
  }
  notify_notification_set_urgency(popup->notification,
                                  tally.is_good ? NOTIFY_URGENCY_NORMAL
                                                : NOTIFY_URGENCY_CRITICAL);
  g_free(text);
  if (notify_notification_show(popup->notification, &error))
    return true;
  dx_log(DX_LOG_WARNING, "cannot show a notification: %s", error->message);
  g_error_free(error);
  return false;
}

/* ---- ends of submissions ---- */

/* The word for struct shown; NULL if a field is missing. */
static char *end_word(const struct cJSON *line)
{
  const char *key = dx_json_string(dx_json_get(line, "key"));
  const char *ended_at = dx_json_string(dx_json_get(line, "ended_at"));
  int64_t submission;

  if (key == NULL || ended_at == NULL || dx_parse_time(ended_at) < 0 ||
      !dx_json_int(dx_json_get(line, "submission"), &submission))
    return NULL;
  return g_strdup_printf("%" G_GINT64_FORMAT " %s/%" G_GINT64_FORMAT,
                         dx_parse_time(ended_at), key, submission);
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
  GHashTableIter iter;
  struct cJSON *line;
  GIOStatus status;
  bool are_shown = true;
  char *text, *word;
  void *popup;
  size_t i, len;

  (void)condition;
  while ((status = g_io_channel_read_line(lines, &text, &len, NULL, NULL)) ==
         G_IO_STATUS_NORMAL) {
    line = dx_json_parse(text, len, NULL);
    word = end_word(line);
    if (word != NULL && !g_hash_table_contains(n->shown.ends, word) &&
        popups_add(line))
      g_ptr_array_add(n->ends, g_steal_pointer(&word));
    g_free(word);
    g_free(text);
    dx_json_free(&line);
  }
  g_hash_table_iter_init(&iter, popups);
  while (g_hash_table_iter_next(&iter, NULL, &popup)) {
    if (((struct popup *)popup)->is_changed)
      are_shown = are_shown && popup_show(popup);
    ((struct popup *)popup)->is_changed = false;
  }
  /* If the desktop shows no notifications now, the ends are requested again. */
  for (i = 0; are_shown && i < n->ends->len; i++)
    shown_add(&n->shown, n->ends->pdata[i]);
  if (are_shown && n->ends->len > 0)
    shown_save(&n->shown);
  g_ptr_array_set_size(n->ends, 0);
  if (are_shown && status == G_IO_STATUS_AGAIN)
    return G_SOURCE_CONTINUE;
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

  if (dx_config_load(n->config_path, &config, &err) == DX_OK) {
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

static gboolean notifier_on_signal(void *loop)
{
  g_main_loop_quit(loop);
  return G_SOURCE_CONTINUE;
}

static void notifier_run(const char *config_path)
{
  struct notify n = {.config_path = config_path,
                     .wait_ms = DX_BACKOFF_FIRST_MS};
  GMainLoop *loop = g_main_loop_new(NULL, FALSE);

  shown_open(&n.shown);
  popups = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, popup_free);
  (void)notify_init("docextract");
  n.ends = g_ptr_array_new_with_free_func(g_free);
  (void)g_unix_signal_add(SIGTERM, notifier_on_signal, loop);
  (void)g_unix_signal_add(SIGINT, notifier_on_signal, loop);
  (void)g_unix_signal_add(SIGHUP, notifier_on_signal, loop);
  (void)watch_connect(&n);
  g_main_loop_run(loop);
  g_clear_pointer(&n.status, fclose);
  g_ptr_array_unref(n.ends);
  g_hash_table_unref(popups);
  notify_uninit();
  g_hash_table_unref(n.shown.ends);
  if (n.shown.lock_fd >= 0)
    (void)close(n.shown.lock_fd);
  g_free(n.shown.path);
  g_main_loop_unref(loop);
}

int main(int argc, char **argv)
{
  static const struct option longs[] = {{"verbose", no_argument, NULL, 'd'},
                                        {"help", no_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, 'V'},
                                        {NULL, 0, NULL, 0}};
  const char *config_path = NULL;
  int letter;

  while ((letter = getopt_long(argc, argv, "c:", longs, NULL)) != -1) {
    if (letter == 'c') {
      config_path = optarg;
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
  if (config_path == NULL)
    config_path = dx_config_path();
  notifier_run(config_path);
  return EX_OK;
}
