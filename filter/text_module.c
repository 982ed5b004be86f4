/*
 * text_module.c - finds docextract-text.so, in the directory of this program
 * (where it was built) or in its installed place. The paths are absolute,
 * whatever the environment and the current directory are.
 */
#include "filter/text.h"

#include <dlfcn.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#define NAME "/docextract-text.so"

const struct text_module *text_module(void)
{
  char path[PATH_MAX + sizeof(NAME)] = "";
  void *module = NULL;
  const struct text_module *text;

  if (readlink("/proc/self/exe", path, PATH_MAX) > 0) {
    memcpy(strrchr(path, '/'), NAME, sizeof(NAME));
    module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  }
  if (module == NULL)
    module = dlopen(DX_PKGLIBDIR NAME, RTLD_NOW | RTLD_LOCAL);
  text = module != NULL ? dlsym(module, "docextract_text") : NULL;
  return text != NULL && text->open_fonts() ? text : NULL;
}
