/*
 * bundle.h - the format that the filter writes and the backend reads: every
 * document of a job as one framed entry (doc/architecture.md, "Bundle").
 *
 *   DOCEXTRACT-BUNDLE 1 {"seal":SEAL,...}
 *
 * is a line of at most 4096 bytes, with the members of dx_entry_fields, the
 * program, and the seal: 32 hex digits. The `bytes` of the document follow it,
 * and then the next entry. Unknown members are ignored. A missing or invalid
 * member, a longer line, or content that is truncated or has a wrong checksum
 * makes the rest unusable: E_BUNDLE.
 *
 * The seal lets the backend verify that a filter that cupsd started for this
 * job wrote an entry, and not the user who printed it: every user who may print
 * can also print a bundle of their own. But only filters and the backend have
 * the side channel, a pair of sockets that cupsd creates for every run of a
 * job. The backend sends a random number through it, once; every filter reads
 * that number without consuming it, and writes it into its entry.
 *
 * Ownership: struct dx_entry contains its strings; nothing to free. Descriptors
 * are borrowed. Blocking: as long as the pipe. Errors: E_BUNDLE, E_RAW without
 * the seal, E_NOMEM, those of fs.h.
 */
#ifndef DX_BUNDLE_H
#define DX_BUNDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/base/digest.h"
#include "lib/base/err.h"
#include "lib/base/fields.h"

/* What the service accepts: doc/service-interface.md, "Endpoints". */
#define DX_MIME_PDF "application/pdf"
#define DX_MIME_JPEG "image/jpeg"
#define DX_MIME_PNG "image/png"

#define DX_NAME_BYTES 256 /* a file name of at most 255 bytes, and NUL */
#define DX_TYPE_BYTES 64
#define DX_REASON_BYTES 256
#define DX_PROGRAM_BYTES 61 /* the name of a program, and NUL */
#define DX_SEAL_BYTES 33    /* 32 hex digits and NUL */

/*
 * word, sentence for the user who printed (lib/spool/sentence.h). The filter
 * may give the administrator more details. The words must not change: they are
 * stored in journals.
 */
#define DX_REASONS(X)                                                       \
  X(DX_REASON_NONE, "", "")                                                 \
  X(DX_REASON_PASSWORD, "password",                                         \
    "it is password-protected; open it with its password, and print it "    \
    "from there")                                                           \
  X(DX_REASON_PROTECTED, "protected",                                       \
    "its author does not allow printing; ask for a copy that may be "       \
    "printed")                                                              \
  X(DX_REASON_DAMAGED, "damaged",                                           \
    "it is damaged or incomplete; ask for a new copy of it, or print it "   \
    "from the program that made it")                                        \
  X(DX_REASON_INCOMPLETE, "incomplete",                                     \
    "it did not arrive completely; print it again")                         \
  X(DX_REASON_POSTSCRIPT, "postscript",                                     \
    "its PostScript could not be converted; print it as a PDF")             \
  X(DX_REASON_EMPTY, "empty",                                               \
    "it is empty, or could not be converted; open it, and print it from "   \
    "there")                                                                \
  X(DX_REASON_NO_PAGES, "no-pages",                                         \
    "no pages are left; check which pages are selected")                    \
  X(DX_REASON_NOT_DRAWN, "not-drawn",                                       \
    "it has a form or a comment that only a PDF viewer can show; in a "     \
    "viewer, print it to a new PDF, and print that")                        \
  X(DX_REASON_UNKNOWN, "unknown-filter",                                    \
    "a part of it is stored in a way that is not known here; in a PDF "     \
    "viewer, print it to a new PDF, and print that")                        \
  X(DX_REASON_CHARACTERS, "characters",                                     \
    "it has characters for which this computer has no font; open it in a "  \
    "program that shows them, and print it from there")                     \
  X(DX_REASON_ENCODING, "encoding",                                         \
    "the encoding of its text is unknown; select it with the option "       \
    "TextEncoding, or print it as a PDF")                                   \
  X(DX_REASON_CODES, "printer-codes",                                       \
    "it has commands for a printer; print it as a PDF, or with a generic "  \
    "text-only driver")                                                     \
  X(DX_REASON_TYPE, "type",                                                 \
    "it is of a type that cannot be extracted; open it in a program that "  \
    "shows it, and print it from there")                                    \
  X(DX_REASON_RAW, "raw",                                                   \
    "it was printed raw, without the driver of this printer; print it "     \
    "without that setting, or ask the administrator")                       \
  X(DX_REASON_IMAGES, "images",                                             \
    "it has several images; print them one at a time, or as a PDF")         \
  X(DX_REASON_TOO_LARGE, "too-large",                                       \
    "it is too large; print fewer pages at a time, or scan it at a lower "  \
    "resolution")                                                           \
  X(DX_REASON_NO_SEPARATOR, "no-separator",                                 \
    "separator pages were selected, but this printer has none; print "      \
    "without them, or ask the administrator")                               \
  X(DX_REASON_OPTIONS, "options",                                           \
    "an option of the print job cannot be used; print it without that "     \
    "option, or ask the administrator")                                     \
  X(DX_REASON_TOO_SLOW, "too-slow",                                         \
    "processing it took too long; print fewer pages at a time")             \
  X(DX_REASON_TOO_COMPLEX, "too-complex",                                   \
    "it is too complex to check; in a PDF viewer, print it to a new PDF, "  \
    "and print that")                                                       \
  X(DX_REASON_SANDBOX, "sandbox",                                           \
    "this computer cannot open documents safely; contact an administrator") \
  X(DX_REASON_TROUBLE, "trouble",                                           \
    "this computer could not process it; print it again, or contact your "  \
    "administrator")

enum dx_reason { DX_REASONS(DX_NAME_OF_ROW) DX_REASON_COUNT };

/* name, word in bundles and journals. A document that did not arrive has no
 * entry in a bundle, but has a place in the job: MISSING is used only in
 * journals. */
#define DX_KINDS(X)               \
  X(DX_KIND_DOCUMENT, "document") \
  X(DX_KIND_SHEET, "sheet")       \
  X(DX_KIND_REFUSED, "refused")   \
  X(DX_KIND_MISSING, "missing")

enum dx_kind { DX_KINDS(DX_NAME_OF_ROW) DX_KIND_COUNT };

struct dx_entry {
  enum dx_kind kind;
  char type[DX_TYPE_BYTES];
  char origin[DX_TYPE_BYTES];
  char name[DX_NAME_BYTES]; /* plain UTF-8, for the service */
  int64_t pages;
  bool together;
  int64_t length;                   /* bytes */
  char sha256[DX_SHA256_HEX_BYTES]; /* of the bytes; "" when length is 0 */
  enum dx_reason reason;
  char reason_text[DX_REASON_BYTES]; /* no patient data */
  char program[DX_PROGRAM_BYTES];    /* of a refused document: what made it,
                                        for the administrator; "": unknown */
  char seal[DX_SEAL_BYTES];          /* for the writer; "": no side channel */
};

/* The members of an entry, without seal and program, which journals do not
 * have. */
extern const struct dx_field dx_entry_fields[];

const char *dx_reason_word(enum dx_reason reason);
const char *dx_reason_text(enum dx_reason reason);
const char *dx_kind_word(enum dx_kind kind);

/* Why an entry is refused, for the administrator. */
#define DX_WHY_BYTES (DX_REASON_BYTES + DX_PROGRAM_BYTES + 16)
void dx_entry_why(const struct dx_entry *entry, char text[DX_WHY_BYTES]);

/*
 * Writes one entry: header, then entry->length bytes of content (NULL if length
 * is 0). The caller must have set all fields, including the SHA-256. E_IO with
 * EPIPE if the reader has exited.
 */
enum dx_code dx_bundle_write(int out_fd, const struct dx_entry *entry,
                             const void *content,
                             struct dx_err *err) DX_MUST_USE;

/* Reads a stream of entries; opaque, with a buffer of 256 KiB. After an error,
 * it can only be freed: the start of the next entry is unknown. */
struct dx_bundle_reader;

/*
 * Called before every read of the stream, so that the caller can wait with its
 * own timeout and signals; any code but DX_OK ends the reading with that code.
 */
typedef enum dx_code dx_bundle_wait(void *ctx, int fd, struct dx_err *err);

/* seal: what every entry must have, borrowed until the reader is freed; NULL if
 * the caller itself started the filter. wait: may be NULL. NULL if out of
 * memory. */
struct dx_bundle_reader *dx_bundle_reader_new(int fd, const char *seal,
                                              dx_bundle_wait *wait, void *ctx);
void dx_bundle_reader_free(struct dx_bundle_reader **reader);

/*
 * Reads the next header. At a clean end of the stream sets *ret_end and nothing
 * else. E_BUNDLE for anything that is not an entry.
 */
enum dx_code dx_bundle_next(struct dx_bundle_reader *reader,
                            struct dx_entry *ret_entry, bool *ret_end,
                            struct dx_err *err) DX_MUST_USE;

/*
 * Copies the content of the entry that was read last to out_fd (-1: discards
 * it) and checks length and SHA-256. Does not fsync.
 */
enum dx_code dx_bundle_content(struct dx_bundle_reader *reader, int out_fd,
                               struct dx_err *err) DX_MUST_USE;

/* ---- the seal ---- */

/*
 * For the backend, as soon as it can store documents. Chooses the number for
 * this run, and sends it to the filters. False if that fails; no entry then has
 * `seal`. Does not block.
 */
bool dx_seal_give(int side_fd, char seal[DX_SEAL_BYTES]);

/* For the backend, if it cannot store documents: makes every filter fail at
 * once, so that cupsd keeps the documents. */
void dx_seal_refuse(int side_fd);

/*
 * For a filter. Waits for the number, for at most wait_ms. False if the backend
 * stores no documents, or does not answer. True with an empty `seal` if there
 * is no side channel: cupsd has not started this process.
 */
bool dx_seal_look(int side_fd, int wait_ms, char seal[DX_SEAL_BYTES]);

#endif
