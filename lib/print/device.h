/*
 * device.h - the device URI of our queues, docextract://SECTION, which names a
 * section of the configuration.
 *
 * Pure. Ownership: the caller's.
 */
#ifndef DX_DEVICE_H
#define DX_DEVICE_H

#include <stdbool.h>

#define DX_DEVICE_SCHEME "docextract://"
#define DX_SECTION_BYTES 65 /* of a name; the parser of the file permits 64 */

/* Sets the name of the section, or ""; false if the device URI (may be NULL)
 * has another form. Accepts a slash at the end, which some dialogs add. */
bool dx_section_of_uri(const char *uri, char ret_section[DX_SECTION_BYTES]);

#endif
