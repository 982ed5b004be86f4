#!/usr/bin/env bash
#
# jobs.sh - what becomes of documents that ask too much in a queue: the job is
# held with the reason, its other documents and the jobs behind it go through,
# and all documents of a job share a budget of time.
. "$(dirname "$0")/../it/lib.sh"

mkhostile=$top/tests/hostile/mkhostile
"$mkhostile" bomb "$dir/bomb.pdf" 4600
"$mkhostile" shared "$dir/slow.pdf" 3000 20
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

# Four documents take a second each before they are refused; the last one is an
# honest one that comes too late.
clear_results
write_config 'FilterTimeLimit 1s'
slow=$dir/slow.pdf
print -d chart "$slow" "$slow" "$slow" "$slow" "$dir/chart.pdf"
job_ends 'a job of slow documents is held' "$job" pending-held
is 'and what is behind them in the job is not even looked at' \
  "$(n_results)" 0
print -d chart "$dir/chart.pdf"
job_ends 'the next job has all of its time' "$job" completed
