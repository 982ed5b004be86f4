/*
 * engine_fixture.h - runs the engine with a service in memory, a transport that
 * delivers its responses, and clocks that only the fixture sets. Contains no
 * test; checks only what must hold in every test: the rate limit, and who gets
 * the token.
 *
 * The service does what doc/service-interface.md says unless `odd` asks for
 * something else. Times are milliseconds of the fixture's clock.
 */
#ifndef DX_ENGINE_FIXTURE_H
#define DX_ENGINE_FIXTURE_H

#include "tests/unit/temp_dir.h"

#include <stdbool.h>

#include "daemon/engine/engine.h"
#include "daemon/service/api.h"

#define FIXTURE_BEGIN_MS 1000000
#define FIXTURE_CALLS_MAX 400000
#define FIXTURE_SOURCES_MAX 40000
#define FIXTURE_FILES_MAX 4
#ifndef FIXTURE_JOBS_MAX /* tests/bench/hospital.c has more */
#define FIXTURE_CASES_MAX 40
#define FIXTURE_JOBS_MAX 1100
#endif
#define FIXTURE_NAME_BYTES 32
#define FIXTURE_DAY_MS 86400000LL
#define SLACK_MS 300 /* the rate limit, and turns of the event loop */

#define S 1000LL
#define MIN 60000LL

#define POST DX_CALL_CREATE
#define PUT DX_CALL_PUT
#define SOURCE DX_CALL_SOURCE
#define EXTRACT DX_CALL_EXTRACT

/* A call as seen by the service and the network. */
struct fixture_call {
  enum dx_call_kind kind;
  int nth;                       /* of its kind, from 1 */
  size_t source;                 /* 1..n; 0: creates one, or hello */
  size_t item;                   /* file or case of the source, 1..n */
  size_t job;                    /* with the document: fixture.jobs, from 1 */
  bool is_odd;                   /* the response is not the good one */
  bool was_sent;                 /* the request left this machine */
  int64_t began_ms;              /* left this machine, or tried to */
  int64_t ended_ms;              /* 0: under way */
  int status;                    /* of the response; 0: there was none */
  char name[FIXTURE_NAME_BYTES]; /* of the first file of the source */
};

/* What comes instead of the good response. */
struct fixture_response {
  enum dx_code code; /* not DX_OK: a network failure */
  int status;        /* 0: that of the good response */
  const char *body;  /* NULL: that of the good response */
  const char *retry_after;
  int64_t took_ms;    /* additional delay; if not sent, to connect */
  int64_t sent_bytes; /* of a PUT; 0: the file's size */
  bool landed;        /* the service did what was requested */
  bool not_sent;      /* no byte has left */
  /* NULL, or what came from a real connection, instead of all of the above but
   * not_sent. */
  const struct dx_http_response *real;
};

struct fixture {
  /* What the service is like. */
  int64_t latency_ms;
  int64_t accept_ms;     /* connections are accepted at its multiples */
  int64_t visible_ms;    /* from upload until a file is visible */
  int64_t starting_ms;   /* until the source is no longer pending */
  int64_t processing_ms; /* after that */
  int64_t url_life_s;    /* 0: not in the URLs, which last 15 min */
  int ignored_puts;      /* that many get a 200 and are lost */
  int failing;           /* that many sources end as failed */
  /* Whether a source whose first file has this name, processed at that time,
   * ends as failed. NULL: it does not. */
  bool (*fails)(const char *name, int64_t at_ms);
  size_t case_count;
  /* Of a source whose first file has this name. NULL: case_count. */
  size_t (*cases)(const char *name);
  int64_t case_ms[FIXTURE_CASES_MAX]; /* from `complete` until it is ready */
  int64_t clock_off_ms;               /* of the service's Date */
  int failing_syncs; /* that many fsyncs of a directory fail next */
  bool (*odd)(const struct fixture_call *call, struct fixture_response *ret);
  enum dx_permission (*may_send)(struct dx_job *job); /* NULL: yes */
  const struct dx_channel *heard; /* which may withdraw that; NULL: none */
  void (*on_sync)(void);          /* called at every fsync */

  /* What happened. */
  int64_t now_ms;
  struct fixture_call *calls;
  size_t call_count;
  int count[DX_CALL_KIND_COUNT];
  char bearer[4096]; /* of the last call of the API */
  int notes[DX_NOTE_COUNT];
  char note_text[512]; /* of the last note that had one */
  enum dx_code admin;  /* of the last DX_NOTE_ADMIN or DX_NOTE_OVERDUE */
  int asked;           /* for permission */
  int ended;           /* jobs */
  int syncs;           /* fsyncs, of files and directories */
  int saves;           /* of journals */
  int second_uploads;  /* after another source of the job was processed */

  /* Where it happens. */
  char dir[TEMP_DIR_BYTES], results[60], token_path[60];
  struct dx_service service; /* may be changed before fixture_begin() */
  struct dx_service other;   /* the same host */
  size_t service_count;      /* 0: no section; 2: the other one, too */
  struct dx_spool spool;
  struct dx_job *jobs[FIXTURE_JOBS_MAX];
  int job_count;
  struct dx_engine *engine;
};
extern struct fixture fixture;

/* Setup and teardown of a test; close may be called twice. */
int fixture_open(void **state);
int fixture_close(void **state);

/* A job of `documents` small PDFs, committed to the spool. */
struct dx_job *fixture_job(size_t documents, bool together);
/* The same, of one document, which has this name; those of the others are named
 * after the number of the job: chart-1.pdf. */
struct dx_job *fixture_named(const char *name);

/* Adds one of the jobs to the engine, which has begun. */
void fixture_add(struct dx_job *job);
/* Starts an engine with all jobs, after ending the last one as SIGTERM does. */
void fixture_begin(void);
/* Releases all jobs and takes them from the spool again. */
void fixture_restart(void);

/* A turn of docextractd: of the engine, and of what the fixture answers. When
 * the next one is due. */
int64_t fixture_turn(void);
/* The same, and what the network does until then, or for at most that time. */
void fixture_run(int64_t most_ms);
/* Runs until every job has ended or until that time. */
void fixture_drive(int64_t until_ms);
/* Runs until all jobs have ended, at most four weeks; the outcome of the first
 * one. */
enum dx_code fixture_drive_to_end(void);
/* As long as a print job would attend: until all jobs have ended, or until a
 * note says that an administrator must act, or that it is overdue; its code,
 * which may be DX_OK, or the outcome of the first job. *ret_err as well. */
enum dx_code fixture_attend(struct dx_err *ret_err);

/* The n-th call of a kind, from 1. */
const struct fixture_call *fixture_nth(enum dx_call_kind kind, int nth);
/* From the end of a call to the beginning of another. */
int64_t fixture_gap_ms(const struct fixture_call *a,
                       const struct fixture_call *b);
/* Calls of all kinds that began in that time. */
int fixture_calls_between(int64_t from_ms, int64_t to_ms);
/* Sources that had all their files: those that were processed. */
int fixture_processed(void);
/* Sources that are registered, and whose URLs have not expired, but lack files.
 */
int fixture_unfilled(void);

/* True if a file of that name in the results directory contains `text`. */
bool fixture_result_holds(const char *name, const char *text);
int fixture_result_count(void);
/* A file is in the place of the results directory, and the directory again. */
void fixture_take_results(void);
void fixture_give_results(void);

#endif
