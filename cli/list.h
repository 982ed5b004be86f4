/*
 * list.h - the jobs in the spool, one row each: how far they are, whose they
 * are, and what is wrong.
 *
 * Ownership: struct list is the caller's, begun with what it borrows (spool,
 * spool_dir) and zeros; list_release() makes it empty again.
 * Blocking: the disk. Errors: those of dx_spool_each() and dx_spool_peek();
 * a job that cannot be read is counted and no error.
 */
#ifndef DX_CLI_LIST_H
#define DX_CLI_LIST_H

#include "cli/cli.h"

struct dx_json;

struct list_row {
  char key[DX_KEY_BYTES];
  int64_t received_at;
  const char *state; /* a word; static memory */
  char owner[CLI_CUPS_NAME_BYTES];
  char age[24], docs[48], cases[24];
  char
      message[DX_ERR_TEXT_BYTES]; /* text from outside: not to be printed raw */
  struct dx_json *json;           /* if asked for */
};

struct list {
  struct dx_spool *spool;
  const char *spool_dir;
  bool json; /* make row.json too */
  struct list_row *rows;
  size_t count, room;
  size_t unreadable;
  int digits;         /* how many of the keys tell them apart */
  struct dx_err *err; /* while reading */
};

/* The one word for a job: its state, or "waiting" if it is ours, unfinished
 * and driven by nobody. */
const char *list_word(const struct dx_job *job, pid_t holder);

/* The rows of the jobs as they are now, the newest last. */
enum dx_code list_read(struct list *list, struct dx_err *err) DX_MUST_USE;
void list_release(struct list *list);

/* Sorts by key, and finds a row then; NULL if there is none. */
void list_sort_by_key(struct list *list);
const struct list_row *list_find(const struct list *list, const char *key);

#endif
