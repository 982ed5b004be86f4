/*
 * store.c - sources and cases, in memory, and how time moves them on.
 */
#include "sim/store.h"

#include "sim/extract.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READERS_MAX 2
#define READER_STACK_BYTES ((size_t)256 << 10)

struct file {
  const char *type;
  bool arrived;
};

struct source {
  struct source *next;
  struct sim_store *store;
  char id[SIM_ID_BYTES];
  int64_t arrived_at_ms; /* the last file; 0: not yet */
  int64_t read_at_ms;    /* the end of reading; 0: not yet */
  bool unreadable;
  cJSON *cases; /* an array of results */
  size_t n_files;
  size_t n_arrived;
  struct file files[];
};

struct sim_store {
  const struct sim_options *options;
  const char *dir;
  pthread_mutex_t lock;
  pthread_attr_t reader_attr;
  sem_t readers;
  struct source *newest;
};

struct sim_store *sim_store_new(const struct sim_options *options,
                                const char *dir)
{
  struct sim_store *s = calloc(1, sizeof(*s));

  if (s == NULL)
    return NULL;
  s->options = options;
  s->dir = dir;
  (void)pthread_mutex_init(&s->lock, NULL);
  (void)sem_init(&s->readers, 0, READERS_MAX);
  (void)pthread_attr_init(&s->reader_attr);
  (void)pthread_attr_setdetachstate(&s->reader_attr, PTHREAD_CREATE_DETACHED);
  (void)pthread_attr_setstacksize(&s->reader_attr, READER_STACK_BYTES);
  return s;
}

bool sim_store_create(struct sim_store *s, const char *const *types, size_t n,
                      char ret_id[SIM_ID_BYTES])
{
  struct source *src = calloc(1, sizeof(*src) + n * sizeof(src->files[0]));

  if (src == NULL)
    return false;
  src->store = s;
  src->n_files = n;
  for (size_t i = 0; i < n; i++)
    src->files[i].type = types[i];
  sim_id_new(src->id);
  memcpy(ret_id, src->id, SIM_ID_BYTES);
  (void)pthread_mutex_lock(&s->lock);
  src->next = s->newest;
  s->newest = src;
  (void)pthread_mutex_unlock(&s->lock);
  return true;
}

/* With the lock held. */
static struct source *find_source(struct sim_store *s, const char *id)
{
  struct source *src = s->newest;

  while (src != NULL && strcmp(src->id, id) != 0)
    src = src->next;
  return src;
}

/* A source whose files have all arrived changes only here. */
static void *read_files(void *cls)
{
  struct source *src = cls;
  struct sim_store *s = src->store;
  cJSON *cases = cJSON_CreateArray();
  bool good = cases != NULL;

  (void)sem_wait(&s->readers);
  for (size_t i = 0; good && i < src->n_files; i++) {
    char *path = NULL;

    good = asprintf(&path, "%s/%s_%zu", s->dir, src->id, i + 1) > 0 &&
           sim_extract(path, src->files[i].type, src->id, cases);
    free(path);
  }
  (void)sem_post(&s->readers);
  (void)pthread_mutex_lock(&s->lock);
  src->cases = cases;
  src->unreadable = !good;
  src->read_at_ms = sim_now_ms();
  (void)pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void note_arrival(struct sim_store *s, struct source *src, size_t n)
{
  pthread_t reader;

  if (src->files[n - 1].arrived)
    return; /* the same file again: a PUT is idempotent */
  src->files[n - 1].arrived = true;
  if (++src->n_arrived < src->n_files)
    return;
  src->arrived_at_ms = sim_now_ms();
  if (pthread_create(&reader, &s->reader_attr, read_files, src) == 0)
    return;
  src->unreadable = true;
  src->read_at_ms = src->arrived_at_ms;
}

void sim_store_file_arrived(struct sim_store *s, const char *id, size_t n)
{
  struct source *src;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  if (src != NULL)
    note_arrival(s, src, n);
  (void)pthread_mutex_unlock(&s->lock);
}

/* When processing ends; the far future if that is not known yet. */
static int64_t ends_at_ms(const struct source *src)
{
  int64_t planned = src->arrived_at_ms + src->store->options->source_time_ms;

  if (src->read_at_ms == 0)
    return INT64_MAX;
  return planned > src->read_at_ms ? planned : src->read_at_ms;
}

static const char *status_word(const struct source *src)
{
  if (src->arrived_at_ms == 0)
    return "pending_upload";
  if (sim_now_ms() < ends_at_ms(src))
    return "processing";
  return src->unreadable ? "failed" : "complete";
}

static cJSON *describe(const struct source *src, const char *word)
{
  cJSON *json = cJSON_CreateObject();
  cJSON *ids = cJSON_CreateNull();
  const cJSON *result;

  if (word == NULL)
    word = status_word(src);
  if (strcmp(word, "complete") == 0) {
    cJSON_Delete(ids);
    ids = cJSON_CreateArray();
    cJSON_ArrayForEach(result, src->cases)
    {
      (void)cJSON_AddItemToArray(
          ids, cJSON_Duplicate(cJSON_GetObjectItem(result, "id"), 0));
    }
  }
  (void)cJSON_AddStringToObject(json, "id", src->id);
  (void)cJSON_AddStringToObject(json, "status", word);
  (void)cJSON_AddNumberToObject(json, "expected_file_count",
                                (double)src->n_files);
  (void)cJSON_AddNumberToObject(json, "uploaded_file_count",
                                (double)src->n_arrived);
  (void)cJSON_AddItemToObject(json, "case_ids", ids);
  return json;
}

cJSON *sim_store_source(struct sim_store *s, const char *id, const char *word)
{
  const struct source *src;
  cJSON *json;

  (void)pthread_mutex_lock(&s->lock);
  src = find_source(s, id);
  json = src == NULL ? NULL : describe(src, word);
  (void)pthread_mutex_unlock(&s->lock);
  return json;
}

/* With the lock held. Case IDs become known when the source is complete. */
static const cJSON *find_case(struct sim_store *s, const char *id,
                              const struct source **ret)
{
  const cJSON *result;

  for (*ret = s->newest; *ret != NULL; *ret = (*ret)->next)
    if (!(*ret)->unreadable && sim_now_ms() >= ends_at_ms(*ret))
      cJSON_ArrayForEach(result, (*ret)->cases)
      {
        if (strcmp(cJSON_GetObjectItem(result, "id")->valuestring, id) == 0)
          return result;
      }
  return NULL;
}

unsigned sim_store_case(struct sim_store *s, const char *id, cJSON **ret,
                        char ret_source_id[SIM_ID_BYTES])
{
  const struct source *src;
  const cJSON *result;
  unsigned status = 404;

  (void)pthread_mutex_lock(&s->lock);
  result = find_case(s, id, &src);
  if (result != NULL) {
    memcpy(ret_source_id, src->id, SIM_ID_BYTES);
    status = 204;
    if (sim_now_ms() >= ends_at_ms(src) + s->options->case_time_ms) {
      status = 200;
      *ret = cJSON_Duplicate(result, 1);
    }
  }
  (void)pthread_mutex_unlock(&s->lock);
  return status;
}
