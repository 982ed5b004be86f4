/*
 * popup.c - the text of a notification, and libnotify, which shows it.
 */
#include "notify/popup.h"

#include <glib.h>
#include <libnotify/notify.h>

#include "lib/base/log.h"
#include "lib/base/policy.h"
#include "lib/spool/sentence.h"
#include "lib/spool/state.h"

#define APPLICATION "docextract"

struct end {
  enum dx_state state; /* DX_ST_STORED: has not ended */
  int64_t cases;
};

/* A print job, until all of its submissions have ended and its notification is
 * closed. */
struct job {
  char *key;                 /* in the spool */
  char *name;                /* QUEUE-ID, as lpstat shows it */
  GArray *ends;              /* struct end, of each submission */
  char *sentence;            /* of the last one that was not extracted */
  NotifyNotification *popup; /* NULL: not shown, or closed */
  bool is_changed;
};

static GHashTable *jobs; /* by key */

static void free_job(void *data)
{
  struct job *job = data;

  g_clear_object(&job->popup);
  g_array_unref(job->ends);
  g_free(job->key);
  g_free(job->name);
  g_free(job->sentence);
  g_free(job);
}

void popups_begin(void)
{
  jobs = g_hash_table_new_full(g_str_hash, g_str_equal, NULL, free_job);
  (void)notify_init(APPLICATION);
}

void popups_end(void)
{
  g_hash_table_unref(jobs);
  notify_uninit();
}

bool popups_add(const struct dx_json *line)
{
  const char *key = dx_json_string(dx_json_get(line, "key"));
  const char *queue = dx_json_string(dx_json_get(line, "queue"));
  const char *id = dx_json_string(dx_json_get(line, "id"));
  const char *user = dx_json_string(dx_json_get(line, "user"));
  const char *word = dx_json_string(dx_json_get(line, "state"));
  const char *sentence = dx_json_string(dx_json_get(line, "sentence"));
  enum dx_state state = word != NULL ? dx_state_by_word(word) : DX_ST_COUNT;
  int64_t number = 0, count = 0, cases = 0;
  struct job *job;

  (void)dx_json_int(dx_json_get(line, "submission"), &number);
  (void)dx_json_int(dx_json_get(line, "job_submissions"), &count);
  (void)dx_json_int(dx_json_get(line, "cases"), &cases);
  if (key == NULL || queue == NULL || id == NULL ||
      g_strcmp0(user, g_get_user_name()) != 0 || number < 1 || number > count ||
      count > DX_DOCUMENTS_MAX ||
      (state != DX_ST_EXTRACTED &&
       ((state != DX_ST_REFUSED && state != DX_ST_FAILED) || sentence == NULL)))
    return false;
  job = g_hash_table_lookup(jobs, key);
  if (job == NULL) {
    job = g_new0(struct job, 1);
    job->key = g_strdup(key);
    job->name = g_strdup_printf("%s-%s", queue, id);
    job->ends = g_array_new(FALSE, TRUE, sizeof(struct end));
    (void)g_hash_table_insert(jobs, job->key, job);
  }
  if (job->ends->len < count) /* a rerun of the print job may add some */
    (void)g_array_set_size(job->ends, (guint)count);
  g_array_index(job->ends, struct end, number - 1) = (struct end){state, cases};
  if (state != DX_ST_EXTRACTED) {
    g_free(job->sentence);
    job->sentence = g_strdup(sentence);
  }
  job->is_changed = true;
  return true;
}

/* ---- words ---- */

struct tally {
  size_t of[DX_ST_COUNT]; /* submissions in each state */
  size_t count;
  int64_t cases;
  bool is_good;     /* all of these are extracted */
  bool is_complete; /* all submissions have ended */
};

static struct tally count_job(const struct job *job)
{
  struct tally tally = {0};
  size_t i;

  for (i = 0; i < job->ends->len; i++) {
    tally.of[g_array_index(job->ends, struct end, i).state]++;
    tally.cases += g_array_index(job->ends, struct end, i).cases;
  }
  tally.count = job->ends->len - tally.of[DX_ST_STORED];
  tally.is_complete = tally.of[DX_ST_STORED] == 0;
  tally.of[DX_ST_STORED] = 0;
  tally.is_good = tally.of[DX_ST_EXTRACTED] == tally.count;
  return tally;
}

/* Caller frees. */
static char *make_body(const struct job *job, const struct tally *tally)
{
  GString *text = g_string_new(NULL);
  const char *between = ": ";
  int state;

  g_string_append_printf(text, "Print job %s", job->name);
  if (tally->count > 1) { /* "3 documents: 2 extracted, 1 refused" */
    g_string_append_printf(text, ": %zu documents", tally->count);
    for (state = 0; state < DX_ST_COUNT; state++) {
      if (tally->of[state] == 0)
        continue;
      g_string_append_printf(text, "%s%zu %s", between, tally->of[state],
                             dx_state_word((enum dx_state)state));
      between = ", ";
    }
  } else if (tally->is_good && tally->cases == 0) {
    g_string_append(text, ": nothing was found in it");
  } else if (tally->is_good) {
    g_string_append_printf(text, ": %" G_GINT64_FORMAT " case%s", tally->cases,
                           tally->cases == 1 ? "" : "s");
  }
  if (!tally->is_good) {
    g_string_append_printf(text, "\n%s.", job->sentence);
    /* Some sentences already refer the user to the administrator. */
    if (!g_str_has_prefix(job->sentence, DX_SENTENCE_ADMIN))
      g_string_append(text, " If you need help, ask your administrator.");
  }
  return g_string_free(text, FALSE);
}

/* ---- the desktop ---- */

/* Most desktops read the body as markup. Caller frees. */
static char *escaped(char *text_taken)
{
  GList *caps = notify_get_server_caps();
  char *text = text_taken;

  if (g_list_find_custom(caps, "body-markup", (GCompareFunc)g_strcmp0)) {
    text = g_markup_escape_text(text_taken, -1);
    g_free(text_taken);
  }
  g_list_free_full(caps, g_free);
  return text;
}

/* If more documents end, a new notification counts all of them. */
static void on_closed(NotifyNotification *popup, void *data)
{
  struct job *job = data;

  (void)popup;
  g_clear_object(&job->popup);
  if (count_job(job).is_complete)
    (void)g_hash_table_remove(jobs, job->key);
}

static bool show_job(struct job *job)
{
  const struct tally tally = count_job(job);
  const char *icon = tally.is_good ? "printer" : "printer-error";
  const char *summary = tally.is_good                 ? "Chart extracted"
                        : tally.of[DX_ST_FAILED] == 0 ? "Chart refused"
                                                      : "Chart not extracted";
  char *text = escaped(make_body(job, &tally));
  GError *error = NULL;

  if (job->popup == NULL) {
    job->popup = notify_notification_new(summary, text, icon);
    (void)g_signal_connect(job->popup, "closed", G_CALLBACK(on_closed), job);
  } else {
    (void)notify_notification_update(job->popup, summary, text, icon);
  }
  notify_notification_set_urgency(job->popup, tally.is_good
                                                  ? NOTIFY_URGENCY_NORMAL
                                                  : NOTIFY_URGENCY_CRITICAL);
  g_free(text);
  if (notify_notification_show(job->popup, &error))
    return true;
  dx_log(DX_LOG_WARNING, "cannot show a notification: %s", error->message);
  g_error_free(error);
  return false;
}

bool popups_show(void)
{
  GHashTableIter iter;
  bool are_shown = true;
  void *job;

  g_hash_table_iter_init(&iter, jobs);
  while (g_hash_table_iter_next(&iter, NULL, &job)) {
    if (((struct job *)job)->is_changed)
      are_shown = are_shown && show_job(job);
    ((struct job *)job)->is_changed = false;
  }
  return are_shown;
}
