/*
 * store.c - sources and cases, in memory, and how time moves them on.
 *
 * Ids grow, and both arrays are appended to under the lock that hands the ids
 * out: they are sorted, and finding an id is a bisection.
 */
#include "sim/store.h"

#include "sim/clock.h"
#include "sim/read.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READERS 2u
#define PI 3.14159265358979323846

struct file {
  char *content_type;
  char *file_name;
  bool arrived;
};

enum reading { UNREAD, READ, UNREADABLE };

struct source {
  char id[SIM_ID_BYTES];
  struct file *files;
  size_t n_files;
  size_t n_arrived;
  enum sim_fate fate;
  bool forgotten;
  int64_t takes_ms;   /* from the last file to the end of processing */
  int64_t all_at_ms;  /* when the last file arrived; 0: not yet */
  int64_t read_at_ms; /* when reading ended */
  enum reading reading;
  size_t first_case; /* in the array of cases */
  size_t n_cases;
  struct source *next; /* in the queue of the readers */
};

struct patient_case {
  char id[SIM_ID_BYTES];
  struct source *source;
  struct sim_case_text text;
};

struct sim_store {
  const struct sim_options *options;
  const char *dir;
  int stop_fd;
  pthread_mutex_t lock;
  pthread_cond_t work;
  struct source **sources;
  size_t n_sources;
  struct patient_case *cases;
  size_t n_cases;
  struct source *first; /* waiting to be read */
  struct source *last;
  bool stopping;
  unsigned short seed[3];
  pthread_t readers[READERS];
  size_t n_readers;
};

/* A lognormal time with the wanted median, or the fixed one. */
static int64_t draw_time_ms(struct sim_store *s)
{
  double u = 1.0 - erand48(s->seed); /* never 0 */
  double v = erand48(s->seed);
  double normal = sqrt(-2.0 * log(u)) * cos(2.0 * PI * v);

  if (s->options->time_median_s <= 0)
    return s->options->source_time_ms;
  return (int64_t)(1000.0 * s->options->time_median_s *
                   exp(s->options->time_sigma * normal));
}

static void source_free(struct source *src)
{
  for (size_t i = 0; i < src->n_files; i++) {
    free(src->files[i].content_type);
    free(src->files[i].file_name);
  }
  free(src->files);
  free(src);
}

static struct source *source_new(const struct sim_file_spec *files, size_t n)
{
  struct source *src = calloc(1, sizeof(*src));

  if (src == NULL)
    return NULL;
  src->files = calloc(n, sizeof(*src->files));
  if (src->files == NULL) {
    source_free(src);
    return NULL;
  }
  src->n_files = n;
  for (size_t i = 0; i < n; i++) {
    src->files[i].content_type = strdup(files[i].content_type);
    src->files[i].file_name = strdup(files[i].file_name);
    if (src->files[i].content_type == NULL || src->files[i].file_name == NULL) {
      source_free(src);
      return NULL;
    }
  }
  return src;
}

/* Room for one more element; grows in steps of a power of two. */
static void *grow(void *array, size_t n, size_t element)
{
  if ((n & (n - 1)) != 0)
    return array;
  return reallocarray(array, n == 0 ? 1 : 2 * n, element);
}

static bool append_source(struct sim_store *s, struct source *src)
{
  struct source **sources;

  if (s->n_sources == SIM_SOURCES_MAX)
    return false;
  sources = grow(s->sources, s->n_sources, sizeof(struct source *));
  if (sources == NULL)
    return false;
  s->sources = sources;
  sim_id_next(src->id);
  src->takes_ms = draw_time_ms(s);
  s->sources[s->n_sources++] = src;
  return true;
}

enum sim_found sim_store_create(struct sim_store *s,
                                const struct sim_file_spec *files, size_t n,
                                enum sim_fate fate, char ret_id[SIM_ID_BYTES])
{
  struct source *src = source_new(files, n);
  bool done;

  if (src == NULL)
    return SIM_FULL;
  src->fate = fate;
  (void)pthread_mutex_lock(&s->lock);
  done = append_source(s, src);
  if (done)
    memcpy(ret_id, src->id, SIM_ID_BYTES);
  (void)pthread_mutex_unlock(&s->lock);
  if (!done)
    source_free(src);
  return done ? SIM_FOUND : SIM_FULL;
}

static int compare_source(const void *id, const void *element)
{
  return strcmp(id, (*(struct source *const *)element)->id);
}

static int compare_case(const void *id, const void *element)
{
  return strcmp(id, ((const struct patient_case *)element)->id);
}

/* With the lock held. */
static struct source *find_source(struct sim_store *s, const char *id)
{
  struct source **found = NULL;

  if (s->n_sources > 0)
    found = bsearch(id, s->sources, s->n_sources, sizeof(struct source *),
                    compare_source);
  return found == NULL || (*found)->forgotten ? NULL : *found;
}

/* With the lock held. */
static struct patient_case *find_case(struct sim_store *s, const char *id)
{
  struct patient_case *found = NULL;

  if (s->n_cases > 0)
    found = bsearch(id, s->cases, s->n_cases, sizeof(*s->cases), compare_case);
  return found == NULL || found->source->forgotten ? NULL : found;
}

bool sim_store_has_file(struct sim_store *s, const char *id, size_t n)
{
  const struct source *src;
  bool has;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  has = src != NULL && n >= 1 && n <= src->n_files;
  (void)pthread_mutex_unlock(&s->lock);
  return has;
}

/* With the lock held. */
static void enqueue(struct sim_store *s, struct source *src)
{
  if (s->first == NULL)
    s->first = src;
  else
    s->last->next = src;
  s->last = src;
  (void)pthread_cond_signal(&s->work);
}

static void note_arrival(struct sim_store *s, struct source *src, size_t n)
{
  struct file *file = &src->files[n - 1];

  if (file->arrived)
    return; /* the same file again: a PUT is idempotent */
  file->arrived = true;
  if (++src->n_arrived < src->n_files || src->fate == SIM_FATE_STUCK)
    return;
  src->all_at_ms = sim_mono_ms();
  enqueue(s, src);
}

void sim_store_arrived(struct sim_store *s, const char *id, size_t n)
{
  struct source *src;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  if (src != NULL && n >= 1 && n <= src->n_files)
    note_arrival(s, src, n);
  (void)pthread_mutex_unlock(&s->lock);
}

/* When processing ends; the far future if that is not known yet. */
static int64_t ends_at_ms(const struct source *src)
{
  int64_t planned = src->all_at_ms + src->takes_ms;

  if (src->all_at_ms == 0 || src->reading == UNREAD)
    return INT64_MAX;
  return planned > src->read_at_ms ? planned : src->read_at_ms;
}

static const char *status_word(const struct source *src)
{
  if (src->all_at_ms == 0)
    return "pending_upload";
  if (sim_mono_ms() < ends_at_ms(src))
    return "processing";
  if (src->reading == UNREADABLE || src->fate == SIM_FATE_FAILED)
    return "failed";
  return "complete";
}

static void add_case_ids(struct sim_store *s, const struct source *src,
                         struct sim_buf *b)
{
  sim_buf_str(b, "[");
  for (size_t i = 0; i < src->n_cases; i++) {
    if (i > 0)
      sim_buf_str(b, ",");
    sim_buf_json(b, s->cases[src->first_case + i].id);
  }
  sim_buf_str(b, "]");
}

enum sim_found sim_store_describe(struct sim_store *s, const char *id,
                                  const char *word, struct sim_buf *ret)
{
  const struct source *src;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  if (src != NULL) {
    const char *status = status_word(src);

    sim_buf_addf(ret, "{\"id\":\"%s\",\"status\":", src->id);
    sim_buf_json(ret, word == NULL ? status : word);
    sim_buf_addf(ret,
                 ",\"expected_file_count\":%zu,\"uploaded_file_count\":%zu,"
                 "\"case_ids\":",
                 src->n_files, src->n_arrived);
    if (word == NULL && strcmp(status, "complete") == 0)
      add_case_ids(s, src, ret);
    else
      sim_buf_str(ret, "null");
    sim_buf_str(ret, "}");
  }
  (void)pthread_mutex_unlock(&s->lock);
  return src == NULL ? SIM_UNKNOWN : SIM_FOUND;
}

static void add_case(const struct patient_case *c, struct sim_buf *b)
{
  sim_buf_addf(b,
               "{\"status\":\"complete\",\"id\":\"%s\",\"source_id\":\"%s\","
               "\"case_name\":",
               c->id, c->source->id);
  sim_buf_json(b, c->text.name);
  sim_buf_addf(b, ",\"medical_data\":%s}", c->text.medical_data);
}

/* The ids of cases are handed out before the source is complete. */
static enum sim_found case_state(const struct sim_store *s,
                                 const struct patient_case *c)
{
  int64_t now = sim_mono_ms();

  if (c == NULL || now < ends_at_ms(c->source) ||
      c->source->fate == SIM_FATE_FAILED)
    return SIM_UNKNOWN;
  return now < ends_at_ms(c->source) + s->options->case_time_ms ? SIM_NOT_YET
                                                                : SIM_FOUND;
}

enum sim_found sim_store_extract(struct sim_store *s, const char *case_id,
                                 struct sim_buf *ret,
                                 char ret_source_id[SIM_ID_BYTES])
{
  const struct patient_case *c;
  enum sim_found found;

  (void)pthread_mutex_lock(&s->lock);
  c = find_case(s, case_id);
  found = case_state(s, c);
  if (found != SIM_UNKNOWN)
    memcpy(ret_source_id, c->source->id, SIM_ID_BYTES);
  if (found == SIM_FOUND)
    add_case(c, ret);
  (void)pthread_mutex_unlock(&s->lock);
  return found;
}

void sim_store_forget(struct sim_store *s, const char *id)
{
  struct source *src;
  const struct patient_case *c;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  c = find_case(s, id);
  if (src == NULL && c != NULL)
    src = c->source;
  if (src != NULL)
    src->forgotten = true;
  (void)pthread_mutex_unlock(&s->lock);
}

/* Hands ids to the cases and keeps them; takes over their texts. */
static bool keep_cases(struct sim_store *s, struct source *src,
                       struct sim_cases *cases)
{
  src->first_case = s->n_cases;
  for (size_t i = 0; i < cases->n; i++) {
    struct patient_case *rows = grow(s->cases, s->n_cases, sizeof(*rows));

    if (rows == NULL)
      return false;
    s->cases = rows;
    sim_id_next(rows[s->n_cases].id);
    rows[s->n_cases].source = src;
    rows[s->n_cases].text = cases->rows[i];
    cases->rows[i] = (struct sim_case_text){0};
    s->n_cases++;
    src->n_cases++;
  }
  return true;
}

/* Reads the files of a source whose files and types no longer change. */
static bool read_source(const struct sim_store *s, const struct source *src,
                        struct sim_cases *cases)
{
  for (size_t i = 0; i < src->n_files; i++) {
    char *path = NULL;
    bool good;

    if (asprintf(&path, "%s/%s_%zu", s->dir, src->id, i + 1) < 0)
      return false;
    good = sim_read_file(path, src->files[i].content_type,
                         s->options->separator_text, s->stop_fd, cases);
    free(path);
    if (!good)
      return false;
  }
  return true;
}

/* Waits for a source to read; NULL when the store is closing. */
static struct source *next_source(struct sim_store *s)
{
  struct source *src;

  (void)pthread_mutex_lock(&s->lock);
  while (s->first == NULL && !s->stopping)
    (void)pthread_cond_wait(&s->work, &s->lock);
  src = s->stopping ? NULL : s->first;
  if (src != NULL)
    s->first = src->next;
  (void)pthread_mutex_unlock(&s->lock);
  return src;
}

static void *reader(void *cls)
{
  struct sim_store *s = cls;
  struct source *src;

  while ((src = next_source(s)) != NULL) {
    struct sim_cases cases = {0};
    bool good = read_source(s, src, &cases);

    (void)pthread_mutex_lock(&s->lock);
    good = good && keep_cases(s, src, &cases);
    src->reading = good ? READ : UNREADABLE;
    src->read_at_ms = sim_mono_ms();
    (void)pthread_mutex_unlock(&s->lock);
    sim_cases_free(&cases);
  }
  return NULL;
}

struct sim_store *sim_store_new(const struct sim_options *options,
                                const char *dir, int stop_fd)
{
  struct sim_store *s = calloc(1, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->options = options;
  s->dir = dir;
  s->stop_fd = stop_fd;
  s->seed[0] = 0x330e; /* as srand48() does */
  s->seed[1] = (unsigned short)(options->seed & 0xffff);
  s->seed[2] = (unsigned short)(options->seed >> 16 & 0xffff);
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)pthread_cond_init(&s->work, NULL);
  while (s->n_readers < READERS) {
    if (pthread_create(&s->readers[s->n_readers], NULL, reader, s) != 0) {
      sim_store_free(s);
      return NULL;
    }
    s->n_readers++;
  }
  return s;
}

static void join_readers(struct sim_store *s)
{
  (void)pthread_mutex_lock(&s->lock);
  s->stopping = true;
  (void)pthread_cond_broadcast(&s->work);
  (void)pthread_mutex_unlock(&s->lock);
  for (size_t i = 0; i < s->n_readers; i++)
    (void)pthread_join(s->readers[i], NULL);
}

void sim_store_free(struct sim_store *s)
{
  if (s == NULL)
    return;
  join_readers(s);
  for (size_t i = 0; i < s->n_sources; i++)
    source_free(s->sources[i]);
  for (size_t i = 0; i < s->n_cases; i++) {
    free(s->cases[i].text.name);
    free(s->cases[i].text.medical_data);
  }
  free(s->sources);
  free(s->cases);
  (void)pthread_cond_destroy(&s->work);
  (void)pthread_mutex_destroy(&s->lock);
  free(s);
}
