#!/usr/bin/env bash
#
# leftovers.sh - a build inside the tree, with all its tests, leaves no
# untracked files, and changes no tracked files. $DX_BUILD is such a tree, made
# by build.sh.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/helper/count.sh
cd "$DX_BUILD" || exit 1

is 'a build inside the tree leaves nothing untracked' \
  "$(git ls-files --others --exclude-standard 2>&1)" ''
is 'and changes no source' "$(git diff --name-only 2>&1)" ''
count_is_good
