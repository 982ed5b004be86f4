#!/usr/bin/env bash
#
# jobs.sh - documents that exceed a limit, in a queue: the job is held with the
# reason, and its other documents and the next jobs are processed.
. "$(dirname "$0")/../it/lib.sh"

mkhostile=$top/tests/hostile/mkhostile
"$mkhostile" bomb "$dir/bomb.pdf" 4600
chart_pdf "$dir/chart.pdf" Ann Ahrens 1
chart_pdf "$dir/next.pdf" Ben Bauer 2
start_all

print -d chart "$dir/bomb.pdf" "$dir/chart.pdf"
hostile=$job
print -d chart "$dir/next.pdf"
job_ends 'a job with a bomb is held' "$hostile" pending-held
has 'its message says why' "$(job_message "$hostile")" 'too complex to check'
job_ends 'the job behind it is completed' "$job" completed
is 'its document is sent, and so is the other one of the first job' \
  "$(patients)" $'Ahrens Ann 1\nBauer Ben 2'
