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
