/*
 * options.c - reads options with libcups: those of our PPD, page selection, and
 * the layout of plain text.
 */
#include "filter/options.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cups/cups.h>
#include <cups/ppd.h>

/* CUPS 3 removes PPDs. Until then they are the only way to get a queue's
 * defaults. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* The marked choice of an option in the PPD; NULL if the option, or the choice
 * that the job requests, does not exist. */
static const ppd_choice_t *chosen(ppd_file_t *ppd, const char *keyword,
                                  int count, cups_option_t *list)
{
  const char *asked = cupsGetOption(keyword, count, list);
  ppd_option_t *option = ppdFindOption(ppd, keyword);

  if (option == NULL || (asked != NULL && ppdFindChoice(option, asked) == NULL))
    return NULL;
  return ppdFindMarkedChoice(ppd, keyword);
}

static bool set_separators(ppd_file_t *ppd, const ppd_choice_t *choice,
                           struct options *options)
{
  const ppd_cparam_t *custom =
      ppdFindCustomParam(ppdFindCustomOption(ppd, "CaseSeparators"), "Pages");

  if (choice == NULL)
    return false;
  if (strcasecmp(choice->choice, "None") == 0)
    return true;
  if (strncasecmp(choice->choice, "Every", 5) == 0)
    options->every = atoi(choice->choice + 5);
  else if (custom != NULL && custom->type == PPD_CUSTOM_INT)
    options->every = custom->current.custom_int;
  return options->every >= 1 && options->every <= OPTIONS_EVERY_MAX;
}

/* ---- which pages ---- */

/* The number at *text, which is set to what follows; or `otherwise`. */
static int read_page(const char **text, int otherwise)
{
  long number;
  char *end;

  if (!isdigit((unsigned char)**text))
    return otherwise;
  number = strtol(*text, &end, 10);
  *text = end;
  return number < INT_MAX ? (int)number : INT_MAX;
}

/* "2", "2-4", "-4", "2-", separated by commas. */
static bool set_ranges(const char *text, struct options *options)
{
  struct page_range *range = options->ranges;

  if (text == NULL)
    return true;
  for (; options->range_count < OPTIONS_RANGES_MAX; range++, text++) {
    range->first = read_page(&text, *text == '-' ? 1 : 0);
    range->last = range->first;
    if (*text == '-') {
      text++;
      range->last = read_page(&text, INT_MAX);
    }
    if (range->first < 1 || range->last < range->first)
      return false;
    options->range_count++;
    if (*text != ',')
      return *text == '\0';
  }
  return false;
}

const char *options_choosing(const struct options *options)
{
  bool set = options->no_even || options->no_odd;

  if (options->range_count > 0)
    return set ? "'page-ranges' and 'page-set'" : "'page-ranges'";
  return set ? "'page-set'" : NULL;
}

/* ---- plain text ---- */

static const struct options_text usual_text = {
    612, 792, 9, 9, 0, 0, 10, 6, DX_TEXT_AUTO, NULL};

/* False if the option is set, and not a number from `least` to `most`. */
static bool options_set_number(const char *name, int count, cups_option_t *list,
                               double least, double most, double *number)
{
  const char *text = cupsGetOption(name, count, list);
  char *end;

  if (text == NULL)
    return true;
  *number = strtod(text, &end);
  return end != text && *end == '\0' && *number >= least && *number <= most;
}

/* As texttopdf: "landscape" has precedence over orientation-requested, in which
 * 4 and 5 are landscape. The text is upright on a wide page either way. */
static bool is_landscape(int count, cups_option_t *list)
{
  const char *text = cupsGetOption("landscape", count, list);

  if (text != NULL)
    return strcasecmp(text, "no") != 0 && strcasecmp(text, "off") != 0 &&
           strcasecmp(text, "false") != 0;
  text = cupsGetOption("orientation-requested", count, list);
  return text != NULL && (strcmp(text, "4") == 0 || strcmp(text, "5") == 0);
}

/* The option of the job, or the default of the queue. A PPD of an older version
 * has none, and `docextract submit` has no PPD. */
static void options_set_encoding(ppd_file_t *ppd, int count,
                                 cups_option_t *list, struct options_text *text)
{
  const char *word = cupsGetOption("TextEncoding", count, list);
  const ppd_choice_t *choice = ppdFindMarkedChoice(ppd, "TextEncoding");

  if (word == NULL && choice != NULL)
    word = choice->choice;
  if (word != NULL)
    text->encoding = dx_text_encoding_by_word(word);
  if (text->encoding == DX_TEXT_ENCODING_COUNT)
    text->wrong = "'TextEncoding' has no such choice";
}

static void options_set_size(ppd_file_t *ppd, struct options *options)
{
  const ppd_size_t *size = ppdPageSize(ppd, NULL);

  if (size != NULL && size->width >= 72 && size->width <= 14400 &&
      size->length >= 72 && size->length <= 14400) {
    options->page_width = (double)size->width;
    options->page_height = (double)size->length;
  }
}

static void options_set_text(int count, cups_option_t *list,
                             const struct options *options,
                             struct options_text *text)
{
  bool wide = is_landscape(count, list);

  text->width = wide ? options->page_height : options->page_width;
  text->height = wide ? options->page_width : options->page_height;
  if (!options_set_number("cpi", count, list, 1, 100, &text->cpi))
    text->wrong = "'cpi' must be from 1 to 100 characters per inch";
  else if (!options_set_number("lpi", count, list, 1, 100, &text->lpi))
    text->wrong = "'lpi' must be from 1 to 100 lines per inch";
  else if (!options_set_number("page-left", count, list, 0, 14400,
                               &text->left) ||
           !options_set_number("page-right", count, list, 0, 14400,
                               &text->right) ||
           !options_set_number("page-top", count, list, 0, 14400, &text->top) ||
           !options_set_number("page-bottom", count, list, 0, 14400,
                               &text->bottom) ||
           text->width - text->left - text->right < 72 / text->cpi ||
           text->height - text->top - text->bottom < 72 / text->lpi)
    text->wrong = "'page-left', 'page-right', 'page-top', or 'page-bottom' "
                  "leaves no room for text, or is not a number of points";
}

const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options)
{
  const ppd_choice_t *grouping;
  const char *wrong = NULL, *page_set;
  cups_option_t *list = NULL;
  ppd_file_t *ppd;
  int count;

  *ret_options = (struct options){.page_width = usual_text.width,
                                  .page_height = usual_text.height,
                                  .text = usual_text};
  count = cupsParseOptions(text, 0, &list);
  if (ppd_path == NULL) {
    options_set_encoding(NULL, count, list, &ret_options->text);
    cupsFreeOptions(count, list);
    return NULL;
  }
  ppd = ppdOpenFile(ppd_path);
  if (ppd == NULL) {
    cupsFreeOptions(count, list);
    return "the printer's PPD cannot be read";
  }
  ppdMarkDefaults(ppd);
  (void)cupsMarkOptions(ppd, count, list);
  if (!set_separators(ppd, chosen(ppd, "CaseSeparators", count, list),
                      ret_options))
    wrong = "'CaseSeparators' has no such choice";
  grouping = chosen(ppd, "DocumentGrouping", count, list);
  if (grouping == NULL)
    wrong = "'DocumentGrouping' has no such choice";
  else
    ret_options->together = strcasecmp(grouping->choice, "Together") == 0;
  if (!set_ranges(cupsGetOption("page-ranges", count, list), ret_options))
    wrong = "'page-ranges' is not a list of pages";
  page_set = cupsGetOption("page-set", count, list);
  ret_options->no_even = page_set != NULL && strcasecmp(page_set, "odd") == 0;
  ret_options->no_odd = page_set != NULL && strcasecmp(page_set, "even") == 0;
  if (page_set != NULL && !ret_options->no_even && !ret_options->no_odd &&
      strcasecmp(page_set, "all") != 0)
    wrong = "'page-set' has no such choice";
  options_set_encoding(ppd, count, list, &ret_options->text);
  options_set_size(ppd, ret_options);
  options_set_text(count, list, ret_options, &ret_options->text);
  cupsFreeOptions(count, list);
  ppdClose(ppd);
  return wrong;
}
