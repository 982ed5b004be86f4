/*
 * store.c - sources and cases, in memory, and their status over time.
 */
#include "sim/sim.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct source {
  struct source *next;
  char id[SIM_ID_BYTES];
  int64_t arrived_at_ms; /* the last file; 0: not yet, or not read yet */
  bool unreadable;
  cJSON *cases; /* an array of results */
  size_t n_files;
  size_t n_arrived;
  struct sim_file files[];
};

static pthread_mutex_t store_lock = PTHREAD_MUTEX_INITIALIZER;
static struct source *newest;

char *sim_store_url(const char *path, const char *date, const char *expires,
                    const char *signature)
{
  return sim_text("%s%s?X-Amz-Date=%s&X-Amz-Expires=%s&X-Amz-Signature=%s",
                  sim_service.storage_url, path, date, expires, signature);
}

void sim_store_create(const char *const *types, size_t n,
                      char ret_id[SIM_ID_BYTES])
{
  struct source *src =
      sim_new(calloc(1, sizeof(*src) + n * sizeof(src->files[0])));
  time_t now = (time_t)sim_server_s();
  char date[32], expires[24];
  struct tm tm;

  src->n_files = n;
  sim_id_new(src->id);
  (void)strftime(date, sizeof(date), "%Y%m%dT%H%M%SZ", gmtime_r(&now, &tm));
  (void)snprintf(expires, sizeof(expires), "%lld",
                 (long long)sim_service.options.url_lifetime_s);
  for (size_t i = 0; i < n; i++) {
    char *path =
        sim_text("/images/%s/SOURCE_FILES/%s_%zu", src->id, src->id, i + 1);
    /* Random: a URL is valid if it was given out. */
    char signature[SIM_ID_BYTES];

    sim_id_new(signature);
    src->files[i].type = types[i];
    src->files[i].expires_at_s = now + sim_service.options.url_lifetime_s;
    src->files[i].object = sim_new(strdup(path + 1));
    src->files[i].url = sim_store_url(path, date, expires, signature);
    free(path);
  }
  memcpy(ret_id, src->id, SIM_ID_BYTES);
  (void)pthread_mutex_lock(&store_lock);
  src->next = newest;
  newest = src;
  (void)pthread_mutex_unlock(&store_lock);
}

/* The caller holds the lock. */
static struct source *store_find_source(const char *id)
{
  struct source *src = newest;

  while (src != NULL && strcmp(src->id, id) != 0)
    src = src->next;
  return src;
}

const struct sim_file *sim_store_file(const char *id, size_t n)
{
  const struct source *src;

  (void)pthread_mutex_lock(&store_lock);
  src = store_find_source(id);
  (void)pthread_mutex_unlock(&store_lock);
  return src != NULL && n >= 1 && n <= src->n_files ? &src->files[n - 1] : NULL;
}

void sim_store_file_arrived(const char *id, size_t n)
{
  int64_t arrived_at_ms = sim_now_ms();
  bool is_last = false, good = true;
  struct source *src;
  cJSON *cases;

  (void)pthread_mutex_lock(&store_lock);
  src = store_find_source(id);
  /* PUT is idempotent: if a file arrives again, nothing changes. */
  if (!src->files[n - 1].arrived) {
    src->files[n - 1].arrived = true;
    is_last = ++src->n_arrived == src->n_files;
  }
  (void)pthread_mutex_unlock(&store_lock);
  if (!is_last)
    return;
  /* Only this thread changes a source whose files have all arrived. */
  cases = cJSON_CreateArray();
  for (size_t i = 0; good && i < src->n_files; i++) {
    char *path = sim_text(SIM_FILE, sim_service.data_dir, src->id, i + 1);

    good = sim_extract(path, src->files[i].type, src->id, cases);
    free(path);
  }
  (void)pthread_mutex_lock(&store_lock);
  src->cases = cases;
  src->unreadable = !good;
  src->arrived_at_ms = arrived_at_ms;
  (void)pthread_mutex_unlock(&store_lock);
}

static bool source_is_processed(const struct source *src, int64_t more_ms)
{
  return src->arrived_at_ms != 0 &&
         sim_now_ms() >=
             src->arrived_at_ms + sim_service.options.source_time_ms + more_ms;
}

cJSON *sim_store_source(const char *id, const char *word)
{
  const struct source *src;
  const cJSON *result;
  cJSON *json = NULL, *ids;

  (void)pthread_mutex_lock(&store_lock);
  src = store_find_source(id);
  if (src != NULL) {
    json = cJSON_CreateObject();
    if (word == NULL)
      word = src->n_arrived < src->n_files  ? "pending_upload"
             : !source_is_processed(src, 0) ? "processing"
             : src->unreadable              ? "failed"
                                            : "complete";
    (void)cJSON_AddStringToObject(json, "id", src->id);
    (void)cJSON_AddStringToObject(json, "status", word);
    (void)cJSON_AddNumberToObject(json, "expected_file_count",
                                  (double)src->n_files);
    (void)cJSON_AddNumberToObject(json, "uploaded_file_count",
                                  (double)src->n_arrived);
    if (strcmp(word, "complete") != 0) {
      (void)cJSON_AddNullToObject(json, "case_ids");
    } else {
      ids = cJSON_AddArrayToObject(json, "case_ids");
      cJSON_ArrayForEach(result, src->cases)
      {
        (void)cJSON_AddItemToArray(
            ids, cJSON_Duplicate(cJSON_GetObjectItem(result, "id"), 0));
      }
    }
  }
  (void)pthread_mutex_unlock(&store_lock);
  return json;
}

/* The caller holds the lock. Cases can be found only when their source is
 * complete. */
static const cJSON *store_find_case(const char *id, const struct source **ret)
{
  const cJSON *result;

  for (*ret = newest; *ret != NULL; *ret = (*ret)->next)
    if (!(*ret)->unreadable && source_is_processed(*ret, 0))
      cJSON_ArrayForEach(result, (*ret)->cases)
      {
        if (strcmp(cJSON_GetObjectItem(result, "id")->valuestring, id) == 0)
          return result;
      }
  return NULL;
}

unsigned sim_store_case(const char *id, cJSON **ret,
                        char ret_source_id[SIM_ID_BYTES])
{
  const struct source *src;
  const cJSON *result;
  unsigned status = 404;

  (void)pthread_mutex_lock(&store_lock);
  result = store_find_case(id, &src);
  if (result != NULL) {
    memcpy(ret_source_id, src->id, SIM_ID_BYTES);
    status = 204;
    if (source_is_processed(src, sim_service.options.case_time_ms)) {
      status = 200;
      *ret = cJSON_Duplicate(result, 1);
    }
  }
  (void)pthread_mutex_unlock(&store_lock);
  return status;
}
