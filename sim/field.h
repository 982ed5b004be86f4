/*
 * field.h - finds patient and laboratory values in the text of a page.
 *
 * Pure: text in, fields out. The text is what `pdftotext -layout` prints:
 * columns are kept apart by two or more blanks. Values are taken as they
 * stand; numbers keep every digit. What is not found stays empty.
 */
#ifndef SIM_FIELD_H
#define SIM_FIELD_H

#include <stddef.h>

struct sim_measure {
  char value[32];
  char unit[64];
  char min[32];
  char max[32];
};

struct sim_fields {
  char first_name[256];
  char last_name[256];
  char mrn[64];
  char dob[16]; /* M/D/YYYY without zeros in front */
  struct sim_measure wbc;
  struct sim_measure hemoglobin;
};

/* Reads one page. The first value found for a field counts. */
void sim_fields_read(const char *page, size_t len, struct sim_fields *ret);

/* Fills what is empty in `into` with what `from` has. */
void sim_fields_merge(struct sim_fields *into, const struct sim_fields *from);

#endif
