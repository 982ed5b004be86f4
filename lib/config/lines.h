/*
 * lines.h - the syntax of CUPS's configuration files, which is also that of
 * docextract.conf. What the names mean is known to load.c.
 *
 * cupsFileGetConf() of libcups reads the same (tests/unit/test_config.c
 * compares the two), but truncates long lines silently, and makes its caller
 * load twenty libraries: a third of the startup cost of a filter that needs
 * nothing else from libcups.
 */
#ifndef DX_CONFIG_LINES_H
#define DX_CONFIG_LINES_H

/*
 * Moves *text on to the line after the next one that is not empty, and counts
 * the lines in *line. Returns what that line begins with, and in *ret_value the
 * rest of it, NULL if there is none; both are parts of the text, which is cut
 * into pieces. NULL at the end of the text.
 */
char *dx_config_next_line(char **text, int *line, char **ret_value);

#endif
