/*
 * status.h - requests and responses of docextractd's status socket, and its
 * client: local users get the status of their print jobs, and programs are
 * notified of outcomes immediately. The server is in daemon/.
 *
 * A Unix stream socket, StatusSocket of docextract.conf(5), mode 0666. One
 * request per connection, a line as of the control socket (DX_STATUS_VERBS of
 * channel.h), within DX_STATUS_REQUEST_MS:
 *
 *   jobs [all]      A line for each unfinished job and each job that changed
 *                   within the last day; with `all`, for every job. Then
 *                   {"end":true}, without which the list is not complete.
 *                   {"job":{...},"sentence":TEXT}: the journal of the job
 *                   without upload URLs (dx_status_read_job()), and its status
 *                   as its print job has it (dx_job_sentence()). For a user who
 *                   may not see all jobs, messages and reasons are those of
 *                   sentence.h.
 *   show KEY NAME   The delivered result of the job with this file name:
 *                   {"bytes":N}, then N bytes as received from the service.
 *   watch [SINCE]   A line as for `jobs` for each job whose last submission
 *                   ends from now on, or ended at SINCE (RFC 3339) or later,
 *                   until either side closes. Lines are not ordered, and may be
 *                   repeated: key and dx_job_ended_at() together identify an
 *                   end. A client that reconnects sends the time of the last
 *                   end minus one minute.
 *   metrics         The text of `docextract metrics`, in the form of `show`.
 *
 * Then the server closes. If a request is refused or fails, the response is one
 * line, {"error":CODE,"message":TEXT}, with a code of lib/base/err.h: E_ARG
 * (not a request), E_ACCESS (not for this user), E_JOB (no such job or result,
 * or it belongs to another user), E_BUSY (too many clients), or a local error.
 *
 * Users can only see jobs with their own login name (SO_PEERCRED; the name in
 * the job is unverified, from the print client), and cannot find out whether
 * there are other jobs. Root, the owner of the spool, and members of the group
 * of `configure --with-user` can see all jobs. Only they can request metrics.
 *
 * Ownership: as in job.h and json.h; the caller closes the FILE.
 * Blocking: only the client, at most for its timeouts.
 */
#ifndef DX_STATUS_H
#define DX_STATUS_H

#include <stdio.h>

#include "lib/base/buf.h"
#include "lib/base/json.h"
#include "lib/spool/job.h"

/* The responses, each a line with its newline that the caller frees; NULL when
 * out of memory. for_admin: includes data that only administrators may
 * see. dx_status_job_line() overwrites in `job` the data that it omits. */
char *dx_status_job_line(struct dx_job *job, bool for_admin);
char *dx_status_error_line(const struct dx_err *err);

/* Creates a job, without a directory, from a line of `jobs`. E_RESPONSE. */
enum dx_code dx_status_read_job(const struct cJSON *line,
                                struct dx_job **ret_job,
                                struct dx_err *err) DX_MUST_USE;

/*
 * The client. Calling sequence: dx_status_ask(), dx_status_line() until it
 * returns NULL without an error, fclose(); or dx_status_fetch() for `show` and
 * `metrics`.
 *
 * Errors: E_NOT_FOUND if docextractd does not run or has no socket, with a
 * sentence for an ordinary user; E_NOT_YET after DX_STATUS_REPLY_MS without a
 * byte; E_IO; E_RESPONSE for an invalid response; and the error that
 * docextractd returned.
 */

/* Connects and sends one request, such as "watch", without a newline. path:
 * StatusSocket of the configuration. Blocking: at most DX_STATUS_REQUEST_MS.
 * NULL, with *err filled, on failure. */
FILE *dx_status_ask(const char *path, const char *request, struct dx_err *err);

/* Reads the next line, which the caller frees; NULL when the server has closed.
 * For `jobs`, the last line is {"end":true}. */
enum dx_code dx_status_line(FILE *in, struct cJSON **ret_line,
                            struct dx_err *err) DX_MUST_USE;

/* Sends `show` or `metrics`, and appends the bytes of the response. E_DAMAGED
 * if there are more than limit. */
enum dx_code dx_status_fetch(const char *path, const char *request,
                             size_t limit, struct dx_buf *ret_bytes,
                             struct dx_err *err) DX_MUST_USE;

#endif
