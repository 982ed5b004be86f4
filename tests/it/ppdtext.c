/*
 * ppdtext.c - what a print dialog shows of a PPD in the language of its user,
 * read as dialogs read it, with libcups. A helper of languages.sh; nothing is
 * judged here.
 *
 *   LANG=de_DE.UTF-8 ppdtext FILE.ppd [REASON...]
 *
 * prints lines "KEYWORD[ CHOICE]<tab>TEXT" for groups, options, choices and
 * the parameters of custom choices, and one for each state reason named.
 */
#include <stdio.h>

#include <cups/ppd.h>

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static void show_custom(ppd_file_t *ppd, const char *keyword)
{
  ppd_coption_t *custom = ppdFindCustomOption(ppd, keyword);
  ppd_cparam_t *param = custom != NULL ? ppdFirstCustomParam(custom) : NULL;

  for (; param != NULL; param = ppdNextCustomParam(custom))
    (void)printf("%s Custom.%s\t%s\n", keyword, param->name, param->text);
}

static void show_group(ppd_file_t *ppd, const ppd_group_t *group)
{
  const ppd_option_t *option;
  int i, j;

  (void)printf("%s\t%s\n", group->name, group->text);
  for (i = 0; i < group->num_options; i++) {
    option = &group->options[i];
    (void)printf("%s\t%s\n", option->keyword, option->text);
    for (j = 0; j < option->num_choices; j++)
      (void)printf("%s %s\t%s\n", option->keyword, option->choices[j].choice,
                   option->choices[j].text);
    show_custom(ppd, option->keyword);
  }
}

int main(int argc, char *argv[])
{
  ppd_file_t *ppd = argc > 1 ? ppdOpenFile(argv[1]) : NULL;
  const char *said;
  char text[1024];
  int i;

  if (ppd == NULL || ppdLocalize(ppd) != 0)
    return 1;
  for (i = 0; i < ppd->num_groups; i++)
    show_group(ppd, &ppd->groups[i]);
  for (i = 2; i < argc; i++) {
    said = ppdLocalizeIPPReason(ppd, argv[i], NULL, text, sizeof(text));
    (void)printf("%s\t%s\n", argv[i], said != NULL ? said : "");
  }
  ppdClose(ppd);
  return 0;
}
