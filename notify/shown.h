/*
 * shown.h - which ends of submissions were shown, kept in the home directory of
 * the person: whichever program restarts, nothing is missed and nothing shown
 * twice.
 *
 * docextractd is asked for what ended since a minute before the last end that
 * was shown (lib/control/status.h, `watch`), and the ends of that minute are
 * remembered. An end is a word "TIME ID": its time, wall ms, and what else
 * identifies it.
 *
 * Two processes of the same person would show everything twice: the second
 * waits. The file is $XDG_STATE_HOME/docextract/shown-HOST: computers share
 * home directories, but each has a docextractd of its own.
 *
 * Ownership: shown_open() gives an object that the caller frees. Blocking: the
 * disk. Errors: a file that cannot be read or written is logged, and ends are
 * remembered in memory only.
 */
#ifndef DX_NOTIFY_SHOWN_H
#define DX_NOTIFY_SHOWN_H

#include <stdbool.h>
#include <stdint.h>

struct shown;

/* Waits until no other process has the file, and reads it. Without a file,
 * what ended more than a minute ago counts as shown. */
struct shown *shown_open(void);
void shown_free(struct shown *shown);

/* Wall ms: everything that ended earlier was shown. */
int64_t shown_since(const struct shown *shown);

bool shown_has(const struct shown *shown, const char *end);
void shown_add(struct shown *shown, const char *end);

/* Writes the file, without what is no longer needed. */
void shown_save(struct shown *shown);

#endif
