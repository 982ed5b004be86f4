#!/usr/bin/env bash
#
# children.sh - tests end only what is theirs (tests/helper/children.sh): while all
# of them run, each process id is used again within minutes.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
dir=$(mktemp -d "${TMPDIR:-/var/tmp}/dx-children.XXXXXX")
. tests/helper/wait.sh
. tests/helper/children.sh

setsid sleep 1000 &
leader=$!
trap 'kill $leader; rm -rf "$dir"' EXIT
names() { read_children && echo "${children[*]#* }"; }
finds() { [ "$(names)" = "$1" ]; }
add_session $leader
check 'a process of our session is ours' until_true finds sleep
is 'by its name, too' "$(read_children sleep && echo ${#children[@]})" 1
is 'by another, it is not' "$(read_children cat && echo ${#children[@]})" 0

sessions[$leader]=$((sessions[$leader] - 1)) # that of an earlier process
read_children
is 'what has the id of a session that is over is not ours' "${#children[@]}" 0
is 'and that session is forgotten' "${#sessions[@]}" 0
count_is_good
