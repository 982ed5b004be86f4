#!/usr/bin/env bash
#
# valgrind.sh - unit tests, fuzz targets with their seeds, and the filter have
# no invalid or uninitialized memory accesses and no leaks.
#
# Valgrind 3.19 does not support pidfd_open(), without which no TokenCommand and
# no OnResult ends, and needs system calls that the sandbox forbids. Hence the
# latter is off, and left out by name are test_token (tests/fuzz/fuzz_token has
# the other sources), test_on_result, test_hello, test_isolate and test_text.
# What waits for seconds of its own or walks for long (test_outage,
# test_control, the models) is left out, too: all of it must end within ten
# minutes. fuzz_same draws with Cairo, which uses uninitialized memory.
. "$(dirname "$0")/../filter/lib.sh"
build=$(cd "${DX_BUILD:-$top}" && pwd)
logs=$dir/logs
corpus=$top/tests/fuzz/corpus
mkdir "$logs" "$dir/bin"

# The loader reads words of eight bytes when iconv_open() loads a module.
cat > "$dir/loader" << 'END'
{
  strings of the loader
  Memcheck:Addr8
  fun:strncmp
  fun:is_dst
}
END
cat > "$dir/bin/checked" << END
#!/bin/sh
exec '$build/tests/helper/noseccomp' nice valgrind -q --leak-check=full --show-leak-kinds=definite,possible \
  --suppressions='$dir/loader' --log-file='$logs/%p' "\$@"
END
chmod +x "$dir/bin/checked"

errors() # what valgrind has reported of all processes since the last call
{
  cat "$logs"/* | grep -v '^--[0-9]*-- '
  rm -f "$logs"/*
}

program_is_correct() # PROGRAM
{
  local silent=no
  # Their children are killed on purpose, with memory that is not freed.
  [[ $1 != tests/unit/* ]] || silent=yes
  (cd "$build" && srcdir=$top "$dir/bin/checked" \
    --child-silent-after-fork=$silent "./$1") > "$dir/out" 2>&1
  is "$1 succeeds" $? 0
  is "$1 uses memory correctly" "$(errors)" ''
}

through_valgrind() # PROGRAM: prints the path of one that does the same
{
  printf '#!/bin/sh\nexec "%s" "%s" "$@"\n' "$dir/bin/checked" "$1" \
    > "$dir/bin/${1##*/}"
  chmod +x "$dir/bin/${1##*/}"
  echo "$dir/bin/${1##*/}"
}

filter_is_correct() # FILE
{
  local expected
  filter=$plain_filter
  expected=$(result "$1")
  filter=$slow_filter
  is "the filter does the same with ${1##*/}" "$(result "$1")" "$expected"
  is "the filter uses memory correctly with ${1##*/}" "$(errors)" ''
}

command -v valgrind > /dev/null || {
  not_ok 'valgrind is installed'
  count_is_good
  exit 1
}
for program in "$build"/tests/{unit/test_*,fuzz/fuzz_*}; do
  case ${program##*/} in
  *.*) ;; # objects; the path of a build may have a dot, too
  test_token | test_on_result | test_hello | test_isolate | test_text) ;;
  test_outage | test_control | fuzz_same) ;;
  *) program_is_correct "${program#"$build"/}" ;;
  esac
done

plain_filter=$filter
slow_filter=$(through_valgrind "$filter")
"$mkpdf" "$dir/separator.pdf" SEPARATOR
configure "Sandbox optional
  SeparatorPage $dir/separator.pdf"
options=CaseSeparators=Every1
printf 'Patient: Jane Roe\n' > "$dir/text"
for file in "$top/doc/sample-chart.pdf" "$dir/text" \
  "$corpus"/document/pdf-{tree,active-streams,aes256,locked,padded,update-cut} \
  "$corpus"/document/tiff-{three-pages,cut} \
  "$corpus"/document/picture-{gif,jpeg,png,png-cut,pnm-plain} \
  "$corpus"/same/{comment,field-of-several-lines,layers,picture-is-thumbnail}; do
  filter_is_correct "$file"
done
count_is_good
