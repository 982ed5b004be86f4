/*
 * config.c - makes the table of directives, and looks things up in a loaded
 * configuration. Nothing is read, checked or printed here.
 */
#include "lib/config/config.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

/* The words of a WORD; their index is the value of the enum. */
#define X(name) #name " "
static const char algorithm_words[] = DX_ALGORITHMS(X);
#undef X
#define X(NAME, word, ...) word " "
static const char token_words[] = DX_TOKEN_SOURCES(X);
#undef X

#define X(name, word) word " "
static const char language_words[] = DX_LANGUAGES(X);
#undef X

#define NEEDS(NAME, word, directive, ...) " '" word "' needs " #directive "."

/* Where a directive may appear, and its field there. */
/* clang-format off */
#define GENERAL(name, KIND, type, c_type, field, ...)                        \
  {name, false, true, DX_VALUE_##KIND, offsetof(struct dx_config, field), 0, \
   type, __VA_ARGS__},
#define SERVICE(name, KIND, type, c_type, field, ...)                         \
  {name, true, false, DX_VALUE_##KIND, 0, offsetof(struct dx_service, field), \
   type, __VA_ARGS__},
#define BOTH(name, KIND, type, c_type, field, ...)                       \
  {name, true, true, DX_VALUE_##KIND, offsetof(struct dx_config, field), \
   offsetof(struct dx_service, field), type, __VA_ARGS__},
/* clang-format on */

/* Default, least and greatest value, words. */
#define NO_DEFAULT NULL, NULL, NULL, NULL
#define DEFAULT(value) value, NULL, NULL, NULL
#define RANGE(value, least, most) value, least, most, NULL
#define WORDS(value, words) value, NULL, NULL, words

static const struct dx_directive config_rows[] = {
#include "lib/config/directives.def"
};

#define ROW_COUNT (sizeof(config_rows) / sizeof(config_rows[0]))

_Static_assert(ROW_COUNT <= DX_DIRECTIVES_MAX, "increase DX_DIRECTIVES_MAX");

const struct dx_directive *dx_directive(size_t n)
{
  return n < ROW_COUNT ? &config_rows[n] : NULL;
}

void *dx_directive_field(const struct dx_directive *row,
                         const struct dx_config *config,
                         const struct dx_service *service)
{
  return service != NULL ? (char *)service + row->service_offset
                         : (char *)config + row->general_offset;
}

const struct dx_token_source_info dx_token_sources[DX_TOKEN_SOURCE_COUNT] = {
#define X(NAME, word, directive, field, KIND, type, help, limit_s, advice, \
          ...)                                                             \
  {word, #directive, limit_s, advice},
    DX_TOKEN_SOURCES(X)
#undef X
};

const char *const dx_algorithm_names[DX_ALG_COUNT] = {
#define X(name) #name,
    DX_ALGORITHMS(X)
#undef X
};

const char *dx_ca_file(const struct dx_service *service, bool is_storage)
{
  const char *path = is_storage && service->storage_ca_file != NULL
                         ? service->storage_ca_file
                         : service->ca_file;

  return path != NULL && strcmp(path, DX_CA_OF_SYSTEM) != 0 ? path : NULL;
}

const struct dx_service *dx_config_service(const struct dx_config *config,
                                           const char *name)
{
  size_t i;

  for (i = 0; i < config->service_count; i++)
    if (strcmp(config->services[i].name, name) == 0)
      return &config->services[i];
  return NULL;
}

bool dx_section_of_uri(const char *uri, char ret_section[DX_SECTION_BYTES])
{
  int end = 0;

  if (uri != NULL &&
      sscanf(uri, DX_DEVICE_SCHEME "%64[a-zA-Z0-9_.-]%n", ret_section, &end) ==
          1 &&
      (uri[end] == '\0' || strcmp(uri + end, "/") == 0))
    return true;
  ret_section[0] = '\0';
  return false;
}

bool dx_is_our_uri(const char *uri)
{
  return strncmp(uri, DX_DEVICE_SCHEME, strlen("docextract:")) == 0;
}
