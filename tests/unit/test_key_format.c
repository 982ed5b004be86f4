/*
 * test_key_format.c - what operators send in place of a key is named, and what
 * can be a secret is one.
 */
#include "tests/unit/unit.h"

#include "daemon/service/key_format.h"

#define BYTES(text) text, sizeof(text) - 1
#define PEM(type) "-----BEGIN " type "-----\nAAAA\n-----END " type "-----\n"
#define JWK "{\"kty\":\"oct\",\"k\":\"AAAA\"}"

struct row {
  const char *bytes;
  size_t len;
  const char *begin; /* of what is wrong; NULL: nothing */
};

static void check(const struct row *row, const char *wrong)
{
  if (row->begin == NULL ? wrong != NULL
                         : wrong == NULL || strncmp(wrong, row->begin,
                                                    strlen(row->begin)) != 0)
    fail_msg("'%s': %s", row->bytes, wrong != NULL ? wrong : "accepted");
}

static void of_secrets(void **state)
{
  static const struct row rows[] = {
      {BYTES("correct horse battery staple"), NULL},
      {BYTES("c2VjcmV0\n"), NULL},
      {BYTES(""), NULL},
      {BYTES("\n"), NULL},
      {BYTES("two lines\nof text\n"), NULL},
      {BYTES("{\"secret\":1}"), NULL},
      {BYTES("-----BEGIN \1"), NULL},
      {BYTES("\0\1\2\r\n"), NULL},
      {BYTES("\xEF\xBB\xBF\1"), NULL},
      {BYTES("\xFF\xFE"), NULL},
      {BYTES("\xFF\xFE\1\1"), NULL},
      {BYTES(PEM("PRIVATE KEY")), "it is a PEM file; set TokenAlgorithm"},
      {BYTES("Bag Attributes\n" PEM("RSA PRIVATE KEY")), "it is a PEM file"},
      {BYTES(PEM("CERTIFICATE")), "it is a PEM file"},
      {BYTES(JWK),
       "it is a JWK or JWK Set; to convert its first key, run: jq "},
      {BYTES("\n " JWK "\n"), "it is a JWK or JWK Set"},
      {BYTES("{\"keys\":[" JWK "]}"), "it is a JWK or JWK Set"},
      {BYTES("\xEF\xBB\xBF"
             "a secret"),
       "it begins with a byte order mark"},
      {BYTES("\xFF\xFE"
             "a\0b\0"),
       "it begins with a byte order mark"},
      {BYTES("\xFE\xFF\0a\0b"), "it begins with a byte order mark"},
      {BYTES("a secret\r\n"), "its line ends are those of Windows; to convert"},
      {BYTES("a secret\r"), "its line ends are those of Windows"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check(&rows[i], dx_secret_misformat(rows[i].bytes, rows[i].len));
}

static void of_private_keys(void **state)
{
  static const struct row rows[] = {
      {BYTES("secret"), "it contains no unencrypted PEM private key"},
      {BYTES(""), "it contains no"},
      {BYTES("ENCRYPTED"), "it contains no"},
      {BYTES("0123"), "it contains no"},
      {BYTES(PEM("PRIVATE KEY")), "it contains no"},
      {BYTES(PEM("ENCRYPTED PRIVATE KEY")),
       "it is encrypted; to convert it, run: openssl pkey "},
      {BYTES("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n"),
       "it is encrypted"},
      {BYTES(PEM("OPENSSH PRIVATE KEY")), "it is a key of OpenSSH; to convert"},
      {BYTES(PEM("PUBLIC KEY")), "it is a public key"},
      {BYTES(PEM("RSA PUBLIC KEY")), "it is a public key"},
      {BYTES(PEM("CERTIFICATE")), "it is a certificate"},
      {BYTES(JWK), "it is a JWK or JWK Set; ask for"},
      {BYTES("\xEF\xBB\xBF" PEM("PRIVATE KEY")),
       "it begins with a byte order mark"},
      {BYTES("\x30\x2e\x02\x01"), "it is not a PEM file; to convert a DER"},
      {BYTES("\x30\x82\x04\x01\x02\x01\x01"),
       "it is not a PEM file; to convert a DER"},
      {BYTES("\x30\x82\x04\x01\x02\x01\x03"), "it is a PKCS #12 file"},
      {BYTES("\x30\x80\x02\x01\x03"), "it is a PKCS #12 file"},
  };
  size_t i;

  (void)state;
  for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
    check(&rows[i], dx_private_key_misformat(rows[i].bytes, rows[i].len));
}

/* One newline comes from the editor; a byte of a binary secret does not. */
static void only_text_ends_with_a_newline(void **state)
{
  (void)state;
  assert_int_equal(dx_secret_len(BYTES("")), 0);
  assert_int_equal(dx_secret_len(BYTES("a")), 1);
  assert_int_equal(dx_secret_len(BYTES("a\n")), 1);
  assert_int_equal(dx_secret_len(BYTES("a\n\n")), 2);
  assert_int_equal(dx_secret_len(BYTES("\x80\n")), 2);
  assert_int_equal(dx_secret_len(BYTES("\0\n")), 2);
}

int main(void)
{
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(of_secrets),
      cmocka_unit_test(of_private_keys),
      cmocka_unit_test(only_text_ends_with_a_newline),
  };

  return cmocka_run_group_tests(tests, NULL, NULL);
}
