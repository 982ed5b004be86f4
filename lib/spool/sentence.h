/*
 * sentence.h - all sentences about print jobs for users: one row for each error
 * code, reason, and state reason.
 *
 * The sentence is shown to the user who printed, on the print job and its
 * queue. It contains no technical terms: no status, directive, path, or name of
 * a program. If only the administrator can solve the problem, it refers to them
 * (dx_sentence()). The text of struct dx_err, with technical details and the
 * advice of the code, is for the administrator, in the log and in `docextract
 * jobs`.
 *
 * Other files repeat these sentences, and tests compare them: the driver and
 * its translations, docextract-results(5), the JSON Schema of manifests
 * (tests/checks/documents.sh, tests/unit/test_sentence.c).
 *
 * Ownership: everything is static, or the caller's. Blocking: never.
 */
#ifndef DX_SENTENCE_H
#define DX_SENTENCE_H

#include "lib/spool/job.h"

/* Sentences are clauses: they follow another one, or begin with a capital. */
#define DX_SENTENCE_BYTES 400
#define DX_SENTENCE_ADMIN "Contact your administrator: "

/* While the job is in progress. Users do not know what docextract is. The print
 * job also has the progress, in parentheses. */
#define DX_SAY_RECEIVING "Receiving document %zu"
#define DX_SAY_HERE "The chart is on this computer"
#define DX_SAY_THERE "The chart is with the service"
#define DX_SAY_WAITING DX_SAY_THERE "; waiting for its result"
#define DX_SAY_INTERRUPTED \
  DX_SAY_HERE "; it is sent when the print job continues"
#define DX_SAY_DOWN "%s; the service does not respond, trying again"
#define DX_SAY_PAUSED "%s; the service asked for a pause, continuing soon"
#define DX_SAY_RETRYING "%s; %s, trying again"
#define DX_SAY_ADMIN "%s; trying again, nothing is lost"
#define DX_SAY_LOCAL "%s; trying again every minute, nothing is lost"
#define DX_SAY_NOT_RUNNING DX_SAY_HERE "; contact your administrator: %s"
#define DX_SAY_LATE "the service is taking longer than usual"

/* Until the chart is stored. */
#define DX_SAY_NOT_READY "%s; printing waits, nothing is lost"

/* From the filters, which cupsd runs first. */
#define DX_SAY_ELSEWHERE                                                    \
  DX_SENTENCE_ADMIN "this printer must be used without its driver on this " \
                    "computer"

/* At its end. */
#define DX_SAY_LEAVES "the result will be delivered in the background"
#define DX_SAY_LEFT_SENT DX_SAY_THERE "; " DX_SAY_LEAVES
#define DX_SAY_LEFT_STORED DX_SAY_HERE " and will be sent; " DX_SAY_LEAVES
#define DX_SAY_LEFT_STUCK \
  DX_SAY_HERE " and will be sent; to withdraw it, contact your administrator"
#define DX_SAY_OVERDUE "The service is taking longer than usual; " DX_SAY_LEAVES
#define DX_SAY_NOTHING_NEW "Already extracted; nothing was sent"
#define DX_SAY_EXTRACTED "Extracted %zu case%s"
#define DX_SAY_NOTHING_IN "; nothing was found in %s"
#define DX_SAY_NOTHING_IN_SOME "; nothing was found in %zu of them"
#define DX_SAY_EXPIRED \
  "it was not finished in time, and was deleted; print it again"
#define DX_SAY_NOT_EXTRACTED "the chart was not extracted: %s"
#define DX_SAY_SOME "%zu of %zu documents extracted; document %zu: %s"
#define DX_SAY_REST "the rest is being processed in the background"
#define DX_SAY_TOGETHER \
  "nothing was extracted, the documents belong together: %s"
#define DX_SAY_FAILURES "%zu %s printed earlier failed"
#define DX_SAY_UNDECIDED \
  "it is unknown whether %zu %s printed earlier %s still wanted"

/*
 * keyword, sentence: the state reasons of a queue. Print dialogs show the
 * translation that the driver has: 80 bytes in any language, and no colon.
 */
#define DX_STATE_REASONS(X)                                                   \
  X(DX_SR_WAITING, "docextract-waiting-report",                               \
    "The documents were sent; waiting for extraction.")                       \
  X(DX_SR_DOWN, "docextract-service-down-warning",                            \
    "The service does not respond, or has errors; documents are sent later.") \
  X(DX_SR_STORAGE, "docextract-storage-error",                                \
    "Documents or results cannot be stored; contact your administrator.")     \
  X(DX_SR_REFUSED, "docextract-document-refused-error",                       \
    "A document could not be extracted; see the message of its print job.")   \
  X(DX_SR_OVERDUE, "docextract-overdue-warning",                              \
    "The service is taking longer; the result will be delivered later.")      \
  X(DX_SR_CONFIG, "docextract-config-error",                                  \
    "The printer is not set up correctly; contact your administrator.")       \
  X(DX_SR_STOPPED, "docextract-stopped-warning",                              \
    "Documents are stored, but not being sent; contact your administrator.")  \
  X(DX_SR_DECISION, "docextract-decision-warning",                            \
    "It is unknown whether a chart is wanted; contact your administrator.")   \
  X(DX_SR_FAILED, "docextract-failed-warning",                                \
    "A document printed earlier failed; contact your administrator.")

enum dx_state_reason {
  DX_SR_NONE,
  DX_STATE_REASONS(DX_NAME_OF_ROW) DX_SR_COUNT
};

/*
 * code, word in manifests, state reason, sentence, advice. A row with advice is
 * for the administrator, to whom the user is referred. Transient and good codes
 * also have sentences, for the time until a retry.
 */
#define DX_CODE_SENTENCES(X)                                                  \
  X(OK, "", NONE, "OK", "")                                                   \
  X(E_ARG, "other", NONE, "this printer has an internal error",               \
    "report it, with the output of 'docextract report'")                      \
  X(E_STATE, "other", NONE, "this printer has an internal error",             \
    "report it, with the output of 'docextract report'")                      \
  X(E_NOMEM, "other", STORAGE, "this computer has too little memory",         \
    "free memory")                                                            \
  X(E_IO, "other", STORAGE, "this computer cannot store the chart",           \
    "check the disk")                                                         \
  X(E_UNSYNCED, "other", STORAGE, "this computer cannot store the chart",     \
    "check the disk")                                                         \
  X(E_SPACE, "other", STORAGE, "the disk of this computer is full",           \
    "free space there; the job then resumes automatically")                   \
  X(E_ACCESS, "other", STORAGE, "this computer cannot store the chart",       \
    "run 'docextract hello', and check owner and mode")                       \
  X(E_FDS, "other", STORAGE, "this computer has too many open files",         \
    "raise the limit of open files")                                          \
  X(E_BUSY, "other", NONE, "this computer is still busy with the print job",  \
    "")                                                                       \
  X(E_NOT_FOUND, "other", STORAGE,                                            \
    "this computer no longer has a file of the print job",                    \
    "check the disk, and which program deletes files of the spool")           \
  X(E_EXISTS, "other", STORAGE, "this computer cannot store the chart",       \
    "move or rename the existing file")                                       \
  X(E_DAMAGED, "other", STORAGE,                                              \
    "this computer cannot read a file of the print job", "check the disk")    \
  X(E_CONFIG, "other", CONFIG, "this printer is not set up correctly",        \
    "run 'docextract config'")                                                \
  X(E_CERT, "other", CONFIG,                                                  \
    "the identity of the service could not be verified",                      \
    "run 'docextract hello'")                                                 \
  X(E_PROXY, "other", CONFIG, "this printer is not set up correctly",         \
    "run 'docextract hello'")                                                 \
  X(E_PROTOCOL, "other", CONFIG,                                              \
    "this printer is connected to an address that is not the extraction "     \
    "service",                                                                \
    "run 'docextract hello'")                                                 \
  X(E_URL, "other", CONFIG,                                                   \
    "the service uses a storage that is not permitted for this printer",      \
    "ask the operator of the service which hosts it uses")                    \
  X(E_REJECTED, "other", CONFIG, "the service rejected it",                   \
    "ask the operator of the service")                                        \
  X(E_KEY, "other", CONFIG, "this printer cannot sign in to the service",     \
    "run 'docextract hello'")                                                 \
  X(E_TOKEN, "other", CONFIG,                                                 \
    "the service rejected the credentials of this printer",                   \
    "run 'docextract hello'")                                                 \
  X(E_NET, "other", DOWN, "the service cannot be reached", "")                \
  X(E_RESPONSE, "other", DOWN, "the service is not working correctly", "")    \
  X(E_SERVER, "other", DOWN, "the service is not working correctly", "")      \
  X(E_UNCLEAR, "other", DOWN,                                                 \
    "the service did not confirm that it has the chart", "")                  \
  X(E_UNEXPECTED, "other", NONE, "the service is not working correctly", "")  \
  X(E_RATE, "other", NONE, "the service asked for a pause", "")               \
  X(E_NOT_YET, "other", NONE, "the result is not ready yet", "")              \
  X(E_NOT_SENT, "other", NONE, "the result is not ready yet", "")             \
  X(E_DOCUMENT, "document-refused", REFUSED,                                  \
    "the document cannot be extracted", "")                                   \
  X(E_MISSING, "document-missing", REFUSED,                                   \
    "it did not arrive because printing was interrupted; print it again", "") \
  X(E_TOO_MANY, "document-refused", REFUSED,                                  \
    "the print job has too many documents, nothing was sent; print fewer at " \
    "a time",                                                                 \
    "")                                                                       \
  X(E_CHANGED, "document-changed", REFUSED,                                   \
    "it differs from what was sent before; print it as a new job", "")        \
  X(E_TAKEN, "other", REFUSED, "another file has the name of its result",     \
    "move that file, and retry the job")                                      \
  X(E_BUNDLE, "document-refused", REFUSED,                                    \
    "the documents did not arrive intact; print them again", "")              \
  X(E_RAW, "document-refused", CONFIG,                                        \
    "this printer does not have its driver",                                  \
    "give the queue its current driver: lpadmin -p QUEUE -m docextract.ppd")  \
  X(E_TOO_BIG, "service-refused", REFUSED,                                    \
    "it is too large for the service; print fewer pages at a time", "")       \
  X(E_REFUSED, "service-refused", REFUSED,                                    \
    "the service rejected it; print it to a new PDF, and print that, or ask " \
    "the administrator",                                                      \
    "")                                                                       \
  X(E_FAILED, "extraction-failed", REFUSED,                                   \
    "the service could not extract it; check that it can be read, and print " \
    "it again",                                                               \
    "")                                                                       \
  X(E_GONE, "source-gone", REFUSED,                                           \
    "the service no longer has it; print it again", "")                       \
  X(E_EXPIRED, "source-gone", REFUSED,                                        \
    "the service no longer has it; print it again", "")                       \
  X(E_OVERDUE, "overdue", OVERDUE, DX_SAY_LATE, "")                           \
  X(E_CANCELED, "canceled", REFUSED, "it was canceled", "")                   \
  X(E_DENIED, "other", CONFIG,                                                \
    "the chart waits, because the service denies this printer access to it",  \
    "restore the old key until the job has ended")                            \
  X(E_JOB, "other", DECISION,                                                 \
    "this computer no longer knows whether the print job was sent or is "     \
    "still wanted",                                                           \
    "decide with 'docextract retry' or 'docextract cancel'")                  \
  X(E_STOPPED, "other", NONE, "it was interrupted", "")

/* The rows; "" for none. A sentence is for the user who printed, and begins
 * with a small letter; the advice is for the administrator. */
struct dx_state_reason_row {
  const char *keyword, *text;
};
extern const struct dx_state_reason_row dx_state_reasons[DX_SR_COUNT];

struct dx_code_row {
  const char *reason_code;
  enum dx_state_reason state_reason;
  const char *sentence, *advice;
};
extern const struct dx_code_row dx_code_rows[DX_CODE_COUNT];

/* Appends the advice for its code to *err, if there is any. */
void dx_advise(struct dx_err *err);

/*
 * For the user who printed: the sentence of the code, or `clause` instead of it
 * (NULL: none). It begins with a capital letter, and with DX_SENTENCE_ADMIN if
 * only the administrator can solve the problem.
 */
void dx_sentence(enum dx_code code, const char *clause,
                 char text[DX_SENTENCE_BYTES]);

/* For the user who printed: why the submission was refused or has failed. */
void dx_submission_sentence(const struct dx_submission *sub,
                            char text[DX_SENTENCE_BYTES]);

/* For the user who printed: why a job waits that is here (not all its documents
 * have been uploaded) or with the service. DX_OK: nothing is wrong. */
void dx_wait_sentence(enum dx_code code, bool is_here,
                      char text[DX_SENTENCE_BYTES]);

/* For the user who printed: the status of the job, from the same rows as the
 * message of its print job; at its end, or if CUPS holds it because a document
 * has failed, the outcome, as dx_job_outcome() has it for the administrator. */
void dx_job_sentence(const struct dx_job *job, char text[DX_SENTENCE_BYTES]);

/* Replaces messages and reasons for the administrator with those for the user
 * who printed, and clears the code of the message. Only for display: the job
 * must not be saved afterwards. */
void dx_job_reword(struct dx_job *job);

/* The reason for a failure, for programs: a word of docextract-results(5). ""
 * if it did not fail. */
const char *dx_submission_reason_code(const struct dx_submission *sub);

#endif
