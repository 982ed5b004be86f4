# unit tests of files, results, journals, answers and schedules
unit_programs += tests/unit/test_fs
tests_unit_test_fs_SOURCES = tests/unit/test_fs.c
tests_unit_test_fs_LDADD = $(unit_libs)
unit_programs += tests/unit/test_drop
tests_unit_test_drop_SOURCES = tests/unit/test_drop.c
tests_unit_test_drop_LDADD = $(unit_libs)
unit_programs += tests/unit/test_journal
tests_unit_test_journal_SOURCES = tests/unit/test_journal.c
tests_unit_test_journal_LDADD = $(unit_libs)
unit_programs += tests/unit/test_poll
tests_unit_test_poll_SOURCES = tests/unit/test_poll.c
tests_unit_test_poll_LDADD = $(unit_libs)
unit_programs += tests/unit/test_engine
tests_unit_test_engine_SOURCES = tests/unit/test_engine.c \
	tests/unit/engine_stage.c
tests_unit_test_engine_LDADD = $(unit_libs)
unit_programs += tests/unit/test_rows
tests_unit_test_rows_SOURCES = tests/unit/test_rows.c \
	tests/unit/engine_stage.c
tests_unit_test_rows_LDADD = $(unit_libs)
unit_programs += tests/unit/test_once
tests_unit_test_once_SOURCES = tests/unit/test_once.c \
	tests/unit/engine_stage.c
tests_unit_test_once_LDADD = $(unit_libs)
unit_programs += tests/unit/test_outage
tests_unit_test_outage_SOURCES = tests/unit/test_outage.c \
	tests/unit/engine_stage.c
tests_unit_test_outage_LDADD = $(unit_libs)
