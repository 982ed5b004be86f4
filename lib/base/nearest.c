/* nearest.c - see nearest.h. */
#include "lib/base/nearest.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

static size_t least(size_t a, size_t b)
{
  return a < b ? a : b;
}

static bool nearest_same(char a, char b)
{
  return tolower((unsigned char)a) == tolower((unsigned char)b);
}

/* The number of changes that make `from` `to`, of which none overlaps another
 * (optimal string alignment). */
static size_t nearest_distance(const char *from, size_t from_len,
                               const char *to, size_t to_len)
{
  size_t d[DX_NEAREST_MAX + 1][DX_NEAREST_MAX + 1], i, k;

  for (i = 0; i <= from_len; i++)
    d[i][0] = i;
  for (k = 0; k <= to_len; k++)
    d[0][k] = k;
  for (i = 1; i <= from_len; i++)
    for (k = 1; k <= to_len; k++) {
      d[i][k] = d[i - 1][k - 1] + !nearest_same(from[i - 1], to[k - 1]);
      d[i][k] = least(d[i][k], 1 + least(d[i - 1][k], d[i][k - 1]));
      if (i > 1 && k > 1 && nearest_same(from[i - 1], to[k - 2]) &&
          nearest_same(from[i - 2], to[k - 1]))
        d[i][k] = least(d[i][k], 1 + d[i - 2][k - 2]);
    }
  return d[from_len][to_len];
}

void dx_nearest_try(struct dx_nearest *nearest, const char *candidate)
{
  size_t len = strlen(nearest->word), other = strlen(candidate), distance;

  if (len > DX_NEAREST_MAX || other > DX_NEAREST_MAX)
    return;
  distance = nearest_distance(nearest->word, len, candidate, other);
  if (distance > 1 && 3 * distance > other)
    return;
  if (nearest->found == NULL || distance < nearest->distance) {
    nearest->found = candidate;
    nearest->distance = distance;
  }
}
