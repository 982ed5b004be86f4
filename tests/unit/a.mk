# unit tests of configuration, tokens, JSON, texts and clocks
unit_programs += tests/unit/test_json
tests_unit_test_json_SOURCES = tests/unit/test_json.c
tests_unit_test_json_LDADD = $(unit_libs)
unit_programs += tests/unit/test_buf
tests_unit_test_buf_SOURCES = tests/unit/test_buf.c
tests_unit_test_buf_LDADD = $(unit_libs)
unit_programs += tests/unit/test_clock
tests_unit_test_clock_SOURCES = tests/unit/test_clock.c
tests_unit_test_clock_LDADD = $(unit_libs)
unit_programs += tests/unit/test_config
tests_unit_test_config_SOURCES = tests/unit/test_config.c
tests_unit_test_config_LDADD = $(unit_libs)
unit_programs += tests/unit/test_token
tests_unit_test_token_SOURCES = tests/unit/test_token.c
tests_unit_test_token_LDADD = $(unit_libs)
