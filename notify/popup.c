/*
 * popup.c - the text of a notification, and libnotify, which shows it.
 */
#include "notify/popup.h"

#include <glib.h>
#include <libnotify/notify.h>

#include "lib/spool/sentence.h"

#define APPLICATION "docextract"

struct submission {
  enum dx_state state;
  int64_t cases;
};

/* A print job, until its notification is closed. */
struct job {
  char *name;              /* QUEUE-ID, as lpstat shows it */
  GHashTable *submissions; /* by number */
  char *sentence;          /* of the last one that was not extracted */
  NotifyNotification *popup;
  bool is_changed;
};

static GHashTable *jobs; /* by key */

static void free_job(void *data)
{
  struct job *job = data;

  g_clear_object(&job->popup);
  g_hash_table_unref(job->submissions);
  g_free(job->name);
  g_free(job->sentence);
  g_free(job);
}

void popups_begin(void)
{
  jobs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_job);
  (void)notify_init(APPLICATION);
}

void popups_end(void)
{
  g_hash_table_unref(jobs);
  notify_uninit();
}

/* ---- what happened ---- */

void popups_add(const struct popup_end *end)
{
  struct job *job = g_hash_table_lookup(jobs, end->key);
  struct submission *sub = g_new(struct submission, 1);

  if (job == NULL) {
    job = g_new0(struct job, 1);
    job->name = g_strdup_printf("%s-%s", end->queue, end->id);
    job->submissions = g_hash_table_new_full(NULL, NULL, NULL, g_free);
    (void)g_hash_table_insert(jobs, g_strdup(end->key), job);
  }
  *sub = (struct submission){end->state, end->cases};
  (void)g_hash_table_insert(job->submissions,
                            GSIZE_TO_POINTER((size_t)end->submission), sub);
  if (end->state != DX_ST_EXTRACTED) {
    g_free(job->sentence);
    job->sentence = g_strdup(end->sentence);
  }
  job->is_changed = true;
}

/* ---- words ---- */

struct tally {
  size_t of[DX_ST_COUNT]; /* submissions in each state */
  size_t count;
  int64_t cases;
  bool is_good; /* all are extracted */
};

static struct tally count_job(const struct job *job)
{
  struct tally tally = {0};
  GHashTableIter iter;
  void *value;

  g_hash_table_iter_init(&iter, job->submissions);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    const struct submission *sub = value;

    tally.of[sub->state]++;
    tally.count++;
    tally.cases += sub->cases;
  }
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

static void on_closed(NotifyNotification *popup, void *data)
{
  GHashTableIter iter;
  void *value;

  (void)data;
  g_hash_table_iter_init(&iter, jobs);
  while (g_hash_table_iter_next(&iter, NULL, &value))
    if (((struct job *)value)->popup == popup)
      g_hash_table_iter_remove(&iter);
}

static enum dx_code show_job(struct job *job, struct dx_err *err)
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
    (void)g_signal_connect(job->popup, "closed", G_CALLBACK(on_closed), NULL);
  } else {
    (void)notify_notification_update(job->popup, summary, text, icon);
  }
  notify_notification_set_urgency(job->popup, tally.is_good
                                                  ? NOTIFY_URGENCY_NORMAL
                                                  : NOTIFY_URGENCY_CRITICAL);
  g_free(text);
  if (notify_notification_show(job->popup, &error))
    return DX_OK;
  (void)dx_fail(err, DX_E_IO, 0, "cannot show a notification: %s",
                error->message);
  g_error_free(error);
  return DX_E_IO;
}

enum dx_code popups_show(struct dx_err *err)
{
  GHashTableIter iter;
  enum dx_code code = DX_OK;
  void *value;

  g_hash_table_iter_init(&iter, jobs);
  while (g_hash_table_iter_next(&iter, NULL, &value)) {
    struct job *job = value;

    if (job->is_changed && code == DX_OK)
      code = show_job(job, err);
    job->is_changed = false;
  }
  return code;
}
