#!/usr/bin/env bash
#
# valgrind.sh - unit tests, fuzz targets with their seeds, and both filters use
# no memory that is not theirs or was never written, and leak none.
#
# Valgrind 3.19 knows neither pidfd_open(), without which no TokenCommand ends,
# nor the system calls of the sandbox, without which the filters go on. Hence
# no test_token (tests/fuzz/fuzz_token has the other sources) or test_isolate.
. "$(dirname "$0")/../filter/lib.sh"
build=$(cd "${DX_BUILD:-$top}" && pwd)
logs=$dir/logs
corpus=$top/tests/fuzz/corpus
mkdir "$logs" "$dir/bin"

cat > "$dir/bin/checked" << END
#!/bin/sh
exec nice valgrind -q --leak-check=full --show-leak-kinds=definite,possible \
  --log-file='$logs/%p' "\$@"
END
chmod +x "$dir/bin/checked"

errors() # what valgrind has reported of all processes since the last call
{
  cat "$logs"/* | grep -v '^--[0-9]*-- '
  rm -f "$logs"/*
}

program_is_correct() # PROGRAM
{
  (cd "$build" && srcdir=$top "$dir/bin/checked" "./$1") > "$dir/out" 2>&1
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

filters_are_correct() # FILE
{
  local expected
  filter=$plain_filter check=$plain_check
  expected=$(result "$1")
  filter=$slow_filter check=$slow_check
  is "the filters do the same with ${1##*/}" "$(result "$1")" "$expected"
  is "the filters use memory correctly with ${1##*/}" "$(errors)" ''
}

command -v valgrind > /dev/null || {
  not_ok 'valgrind is installed'
  count_is_good
  exit 1
}
for program in "$build"/tests/{unit/test_*,model/test_model,fuzz/fuzz_*}; do
  case $program in
  *.* | */test_token | */test_isolate) ;;
  *) program_is_correct "${program#"$build"/}" ;;
  esac
done

plain_filter=$filter plain_check=$check
slow_filter=$(through_valgrind "$filter")
slow_check=$(through_valgrind "$check")
looked=yes
options=CaseSeparators=Every1
for file in "$top/doc/sample-chart.pdf" "$corpus"/pdf/{tree,active-streams} \
  "$corpus"/pdf/{aes256,locked,padded,update-cut} \
  "$corpus"/tiff/{three-pages,cut}; do
  filters_are_correct "$file"
done
looked= # checkdocextract is for PDFs only
for file in "$corpus"/picture/{jpeg,png,png-cut}; do
  filters_are_correct "$file"
done
count_is_good
