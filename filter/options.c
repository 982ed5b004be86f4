/*
 * options.c - the two options of our PPD; pdftopdf handles those of CUPS.
 */
#include "filter/options.h"

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

static bool set_grouping(const ppd_choice_t *choice, struct options *options)
{
  if (choice == NULL)
    return false;
  options->together = strcasecmp(choice->choice, "Together") == 0;
  return options->together || strcasecmp(choice->choice, "Separate") == 0;
}

/* The number in "Every5" or "Custom.5". */
static int pages_of(ppd_file_t *ppd, const ppd_choice_t *choice)
{
  ppd_coption_t *custom;
  ppd_cparam_t *param;

  if (strncasecmp(choice->choice, "Every", 5) == 0)
    return atoi(choice->choice + 5);
  custom = ppdFindCustomOption(ppd, "CaseSeparators");
  param = custom != NULL ? ppdFirstCustomParam(custom) : NULL;
  return param != NULL && param->type == PPD_CUSTOM_INT
             ? param->current.custom_int
             : 0;
}

static bool set_separators(ppd_file_t *ppd, const ppd_choice_t *choice,
                           struct options *options)
{
  if (choice == NULL)
    return false;
  if (strcasecmp(choice->choice, "None") == 0)
    return true;
  options->every = pages_of(ppd, choice);
  return options->every >= 1 && options->every <= OPTIONS_EVERY_MAX;
}

const char *options_read(const char *ppd_path, const char *text,
                         struct options *ret_options)
{
  const char *wrong = NULL;
  cups_option_t *list = NULL;
  ppd_file_t *ppd;
  int count;

  memset(ret_options, 0, sizeof(*ret_options));
  ppd = ppd_path != NULL ? ppdOpenFile(ppd_path) : NULL;
  if (ppd == NULL)
    return "the printer's PPD cannot be read";
  count = cupsParseOptions(text, 0, &list);
  ppdMarkDefaults(ppd);
  (void)cupsMarkOptions(ppd, count, list);
  if (!set_separators(ppd, chosen(ppd, "CaseSeparators", count, list),
                      ret_options))
    wrong = "'CaseSeparators' has no such choice";
  if (!set_grouping(chosen(ppd, "DocumentGrouping", count, list), ret_options))
    wrong = "'DocumentGrouping' has no such choice";
  cupsFreeOptions(count, list);
  ppdClose(ppd);
  return wrong;
}
