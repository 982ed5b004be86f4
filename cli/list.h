/*
 * list.h - the jobs in the spool, a row for each: state, and what is wrong.
 *
 * Ownership: struct list is the caller's; it starts with `cli`, which it
 * borrows and whose spool is open, and zeros. list_release() empties it.
 * Blocking: the disk. Errors: those of dx_spool_each() and dx_spool_load();
 * a job that cannot be read is counted and is no error.
 */
#ifndef DX_CLI_LIST_H
#define DX_CLI_LIST_H

#include "cli/cli.h"

struct dx_json;

#define LIST_TEXT_BYTES (DX_ERR_TEXT_BYTES + 160)

struct list_row {
  char key[DX_KEY_BYTES];
  int64_t received_at;
  const char *state;              /* a word; static memory */
  char name[CLI_CUPS_NAME_BYTES]; /* of the print job, "chart-12" */
  char age[24], docs[48], cases[24];
  char message[DX_ERR_TEXT_BYTES]; /* from outside: cli_print_plain() */
  char text[LIST_TEXT_BYTES];      /* the message as the table has it */
  struct dx_json *json;            /* if asked for */
};

struct list {
  struct cli *cli;
  bool json; /* fill in row.json too */
  struct list_row *rows;
  size_t count, room;
  bool is_driven; /* docextractd runs */
  size_t unreadable;
  size_t unreceived;  /* in received/, and unreadable */
  size_t old;         /* finished more than a day ago, and left out */
  int digits;         /* how many digits distinguish the keys */
  struct dx_err *err; /* while reading */
};

/* The n-th word of dx_job_status(), or NULL after the last one. Static memory.
 */
const char *list_state(size_t n);

/*
 * Reads the jobs as they are now, newest last: those that the options of the
 * command line choose. Without --all, what was finished more than a day ago is
 * counted and not read.
 */
enum dx_code list_read(struct list *list, struct dx_err *err) DX_MUST_USE;
void list_release(struct list *list);

/* Sorts by key; after that list_find() finds a row, or returns NULL. */
void list_sort_by_key(struct list *list);
const struct list_row *list_find(const struct list *list, const char *key);

#endif
