/*
 * filter.h - what a file becomes when it is printed, without a queue: submit
 * starts the filters of the queue and reads their bundle, so both accept the
 * same files and send the same bytes.
 */
#ifndef DX_CLI_FILTER_H
#define DX_CLI_FILTER_H

#include "cli/cli.h"
#include "lib/job/bundle.h"

/*
 * Runs the filters, and waits for them. in_fd is read from its beginning; the
 * document goes to out_fd and is synced. temp_dir is for the filters' files,
 * which have no names. `number` is that of the file in warnings.
 *
 * *ret_entry is a document, or a refusal with its reason. E_STOPPED after a
 * signal; E_IO and others if a filter cannot be run.
 */
enum dx_code filter_file(const struct cli *cli,
                         const struct dx_service *service, int in_fd,
                         const char *temp_dir, size_t number, int out_fd,
                         struct dx_entry *ret_entry,
                         struct dx_err *err) DX_MUST_USE;

#endif
