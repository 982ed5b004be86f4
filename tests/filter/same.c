/*
 * same.c - prints whether two PDFs print the same (tests/helper/same.h):
 * "same", or one word and where they begin to differ. Exit status 0 if they are
 * the same, 1 if not, 2 if poppler cannot read the first one.
 *
 * usage: same [-n MOST] BEFORE AFTER [PAGE...]
 *
 * The pages of BEFORE that AFTER has, in this order; all without. At most
 * MOST of them are compared, evenly spread.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <glib.h>

#include "tests/helper/same.h"

/* poppler says on stderr what is wrong with a PDF. */
static GLogWriterOutput nothing(GLogLevelFlags level, const GLogField *fields,
                                gsize count, gpointer ctx)
{
  (void)level, (void)fields, (void)count, (void)ctx;
  return G_LOG_WRITER_HANDLED;
}

int main(int argc, char **argv)
{
  struct same_result result;
  struct same_bytes files[2];
  int most = INT_MAX, *pages = NULL, count = 0, option, i;
  enum same same;

  while ((option = getopt(argc, argv, "n:")) == 'n')
    most = atoi(optarg);
  if (option != -1 || argc - optind < 2) {
    fputs("usage: same [-n MOST] BEFORE AFTER [PAGE...]\n", stderr);
    return 2;
  }
  g_log_set_writer_func(nothing, NULL, NULL);
  for (i = 0; i < 2; i++) {
    GMappedFile *map = g_mapped_file_new(argv[optind + i], FALSE, NULL);

    if (map == NULL) {
      fprintf(stderr, "cannot read '%s'\n", argv[optind + i]);
      return 2;
    }
    files[i] = (struct same_bytes){g_mapped_file_get_contents(map),
                                   g_mapped_file_get_length(map)};
  }
  if (argc - optind > 2) {
    count = argc - optind - 2;
    pages = g_new(int, (gsize)count);
    for (i = 0; i < count; i++)
      pages[i] = atoi(argv[optind + 2 + i]);
  }
  same = same_pages(files[0], files[1], pages, count, most, &result);
  g_free(pages);
  if (same == SAME || same == SAME_UNREADABLE)
    puts(same_word(same));
  else
    printf("%s: page %d: %s\n", same_word(same), result.page, result.why);
  return same == SAME ? 0 : same == SAME_UNREADABLE ? 2 : 1;
}
