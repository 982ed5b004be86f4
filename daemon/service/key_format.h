/*
 * key_format.h - what a key file contains in place of a secret or a PEM private
 * key, and how to convert it: pure functions of its bytes, which may be any.
 *
 * Operators send keys in many formats. As a secret, each of them would be
 * accepted, and the service would reject the tokens without a reason.
 */
#ifndef DX_KEY_FORMAT_H
#define DX_KEY_FORMAT_H

#include <stddef.h>

/* Why the bytes cannot be a shared secret, with the next action; NULL: they
 * can. Text and base64 are secrets as they are. */
const char *dx_secret_misformat(const char *bytes, size_t len);

/* The length of the secret: an editor, or echo, ends a text with a newline,
 * which is not part of it. Other bytes are the secret as it is. */
size_t dx_secret_len(const char *bytes, size_t len);

/* Why the bytes are not an unencrypted PEM private key, with the next action;
 * never NULL. */
const char *dx_private_key_misformat(const char *bytes, size_t len);

#endif
