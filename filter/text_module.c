/*
 * text_module.c - finds docextract-text.so. The paths are absolute, whatever
 * the environment and the current directory are: dlopen() replaces $ORIGIN by
 * the directory of this program.
 */
#include "filter/text.h"

#include <dlfcn.h>

const struct text_module *text_module(void)
{
  void *module = dlopen("$ORIGIN/docextract-text.so", RTLD_NOW | RTLD_LOCAL);

  if (module == NULL)
    module = dlopen(DX_PKGLIBDIR "/docextract-text.so", RTLD_NOW | RTLD_LOCAL);
  return module != NULL ? dlsym(module, "docextract_text") : NULL;
}
