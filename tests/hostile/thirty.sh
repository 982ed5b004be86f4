#!/usr/bin/env bash
#
# thirty.sh - hostile and damaged documents, each printed through a real cupsd:
# the service receives exactly the visible content of the pages, or the document
# is refused with the correct reason. The documents and the expected outcomes
# are in mkthirty.
#
#   thirty.sh [NAME...]     only these
. "$(dirname "$0")/../it/lib.sh"

mkthirty=$top/tests/hostile/mkthirty
names=" $* "
is 'each group of documents has a section' \
  "$(sed -n "s/^section '\(.*\)'$/\1/p" "$0")" "$("$mkthirty" groups)"
mkdir "$dir/thirty"
start_all

print_all() # GROUP
{
  local name file options option arguments output job state message files
  "$mkthirty" make "$dir/thirty" "$1" > "$dir/list" ||
    give_up 'mkthirty makes documents'
  while read -r name file options; do
    [ "$names" = '  ' ] || [[ $names == *" $name "* ]] || continue
    clear_results
    arguments=()
    for option in $options; do arguments+=(-o "$option"); done
    if output=$(lp -d chart "${arguments[@]}" "$dir/thirty/$file" 2>&1); then
      job=$(sed -n 's/.*request id is chart-\([0-9]*\) .*/\1/p' <<< "$output")
      WAIT_S=120 wait_job "$job" "$ended|processing-stopped" > "$dir/wait"
      state=$(job_state "$job")
      message=$(job_message "$job")
    else
      state=rejected
      message=$output
    fi
    mapfile -t files < <(uploads | sed "s,^,$SIM_DATA/,")
    is "$name" "$("$mkthirty" judge "$name" "$state" "$message" "${files[@]}")" ''
    if [ "$state" != completed ]; then
      cancel -a chart 2> "$dir/cancel"
      cupsenable chart
    fi
  done < "$dir/list"
}

section 'damaged PDFs'

print_all 'damaged PDFs'

section 'documents that ask too much'

print_all 'documents that ask too much'

section 'annotations, forms, layers'

print_all 'annotations, forms, layers'

section 'one object, two roles'

print_all 'one object, two roles'

section 'encryption'

print_all 'encryption'

section 'which pages'

print_all 'which pages'

section 'pictures by themselves'

print_all 'pictures by themselves'

section 'text'

print_all 'text'
