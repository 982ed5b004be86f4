/* key_format.c - see key_format.h. */
#include "daemon/service/key_format.h"

#include <stdbool.h>
#include <string.h>

#define BOM "\xEF\xBB\xBF"
#define JWK_SECRET                                                        \
  "it is a JWK or JWK Set; to convert its first key, run: "               \
  "jq -rj '(.keys//[.])[0].k|.+\"===\"[(length-1)%4:]' FILE | basenc -d " \
  "--base64url > NEWFILE"
#define HAS_BOM "it begins with a byte order mark; save it without one"

static bool key_has(const char *bytes, size_t len, const char *text)
{
  return memmem(bytes, len, text, strlen(text)) != NULL;
}

static bool key_begins(const char *bytes, size_t len, const char *text)
{
  return len >= strlen(text) && memcmp(bytes, text, strlen(text)) == 0;
}

/* A JSON Web Key, RFC 7517. */
static bool key_is_jwk(const char *bytes, size_t len)
{
  size_t i = 0;

  while (i < len && strchr(" \t\r\n", bytes[i]) != NULL && bytes[i] != '\0')
    i++;
  return i < len && bytes[i] == '{' && key_has(bytes, len, "\"kty\"");
}

/* PKCS #12, RFC 7292: in a SEQUENCE, first the version, 3. */
static bool key_is_pkcs12(const char *bytes, size_t len)
{
  size_t at = len > 1 && (bytes[1] & 0x80) != 0 ? 2 + (bytes[1] & 0x7f) : 2;

  return key_begins(bytes, len, "\x30") && len > at &&
         key_begins(bytes + at, len - at, "\x02\x01\x03");
}

/* Printable ASCII, blanks, and line ends only. */
static bool key_is_text(const char *bytes, size_t len)
{
  size_t i = 0;

  while (i < len && ((bytes[i] >= ' ' && bytes[i] <= '~') ||
                     (bytes[i] != '\0' && strchr("\t\r\n", bytes[i]) != NULL)))
    i++;
  return i == len;
}

/* Also UTF-16, of which every other byte of ASCII is 0. */
static bool key_has_bom(const char *bytes, size_t len)
{
  if (key_begins(bytes, len, BOM))
    return key_is_text(bytes + strlen(BOM), len - strlen(BOM));
  return (key_begins(bytes, len, "\xFF\xFE") && len > 3 && bytes[3] == '\0') ||
         (key_begins(bytes, len, "\xFE\xFF") && len > 3 && bytes[2] == '\0');
}

size_t dx_secret_len(const char *bytes, size_t len)
{
  return len > 0 && bytes[len - 1] == '\n' && key_is_text(bytes, len) ? len - 1
                                                                      : len;
}

const char *dx_secret_misformat(const char *bytes, size_t len)
{
  if (key_has_bom(bytes, len))
    return HAS_BOM;
  if (!key_is_text(bytes, len))
    return NULL;
  if (key_has(bytes, len, "-----BEGIN "))
    return "it is a PEM file; set TokenAlgorithm to the algorithm of its key, "
           "or use the shared secret";
  if (key_is_jwk(bytes, len))
    return JWK_SECRET;
  len = dx_secret_len(bytes, len);
  if (len > 0 && bytes[len - 1] == '\r')
    return "its line ends are those of Windows; to convert it, run: tr -d "
           "'\\r' "
           "< FILE > NEWFILE";
  return NULL;
}

const char *dx_private_key_misformat(const char *bytes, size_t len)
{
  static const struct {
    const char *text, *wrong;
  } rows[] = {
      {"ENCRYPTED",
       "it is encrypted; to convert it, run: openssl pkey -in FILE "
       "-out NEWFILE"},
      {"-----BEGIN OPENSSH PRIVATE KEY-----",
       "it is a key of OpenSSH; to convert a copy of an RSA or EC key, run: "
       "ssh-keygen -p -m PKCS8 -f COPY"},
      {"PUBLIC KEY-----", "it is a public key; the private key is needed"},
      {"-----BEGIN CERTIFICATE-----",
       "it is a certificate; the private key is needed"},
  };
  size_t i;

  if (key_has_bom(bytes, len))
    return HAS_BOM;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    if (key_has(bytes, len, "-----BEGIN ") && key_has(bytes, len, rows[i].text))
      return rows[i].wrong;
  if (key_is_jwk(bytes, len))
    return "it is a JWK or JWK Set; ask for the private key as a PEM "
           "file";
  if (key_is_pkcs12(bytes, len))
    return "it is a PKCS #12 file; to convert it, run: openssl pkcs12 -in FILE "
           "-nodes -nocerts -out NEWFILE";
  if (key_begins(bytes, len, "\x30") && !key_is_text(bytes, len))
    return "it is not a PEM file; to convert a DER file, run: openssl pkey "
           "-inform DER -in FILE -out NEWFILE";
  return "it contains no unencrypted PEM private key";
}
