#!/usr/bin/env bash
#
# sandbox.sh - a kernel without seccomp filters: documents are not parsed, the
# queue gives the reason, and its documents wait until the administrator permits
# parsing without a sandbox. Also a document whose conversion never ends.
. "$(dirname "$0")/lib.sh"

chart_pdf "$dir/chart.pdf" Ann Ahrens 1
chart_pdf "$dir/next.pdf" Ben Bauer 2
start_sim
make_cups
noseccomp=$build/tests/helper/noseccomp
START_CUPSD=$noseccomp start_cupsd
add_queue chart

# --- required, the default ---------------------------------------------------

print -d chart "$dir/chart.pdf"
first=$job
until_true queue_says chart 'printing waits, nothing is lost$'
has 'the queue refers to the administrator' "$(queue_state chart)" \
  'Contact your administrator: .*; printing waits, nothing is lost$'
has 'the log names the feature of the kernel and the directive' \
  "$(job_log "$first")" "E_CONFIG: .*CONFIG_SECCOMP_FILTER.*Sandbox optional"
is 'nothing is sent' "$(calls create)" 0
is 'nothing is stored' "$(find "$spool" -type f -name 'document*' | wc -l)" 0
is 'the print job waits' "$(job_state "$first")" processing

# --- optional -----------------------------------------------------------------

write_config 'Sandbox optional'
job_ends 'with Sandbox optional it is extracted' "$first" completed
is 'its values are there' "$(patients)" 'Ahrens Ann 1'
hasnt 'the user who printed gets no message about it' \
  "$(job_message "$first")$(queue_state chart)" Sandbox
has 'the log reports that there is no sandbox' "$(job_log "$first")" \
  'Sandbox optional.* is set, and the kernel does not support seccomp'
stop_cupsd

# --- a converter that never ends -----------------------------------------------

clear_results
write_config 'FilterTimeLimit 10s' # enough for the next document
start_cupsd
printf '%%!PS\n{} loop\n' > "$dir/loop.ps"
print -d chart "$dir/loop.ps"
loop=$job
print -d chart "$dir/next.pdf"
job_ends 'a document whose conversion never ends is refused' "$loop" \
  pending-held
has 'its message has the reason' "$(job_message "$loop")" 'took too long'
job_ends 'the job behind it is completed' "$job" completed
is 'its values are there, too' "$(patients)" 'Bauer Ben 2'
no_gs() { ! cups_children | grep -q ' gs$\|gstopdf'; }
until_true no_gs
check 'the converter has ended' no_gs
