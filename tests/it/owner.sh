#!/usr/bin/env bash
#
# owner.sh - a backend that was configured with a separate user (here games),
# under a cupsd that root runs and that runs filters as lp: the user of each
# process, and the files that filters can read. Only root can change the user of
# a process; if another user runs this test, it checks that the backend refuses
# to work.
. "$(dirname "$0")/lib.sh"
backend=$build/tests/it/docextract-owned
[ -x "$backend" ] || give_up "$backend is built (make check TESTS=)"

if [ "$(id -u)" != 0 ]; then
  out=$(CUPS_SERVERROOT=$dir "$backend" 2> "$dir/err")
  is 'the backend of another user lists only the scheme' "$out" \
    'network docextract "Unknown" "Document Extraction Service" "" ""'
  has 'and reports the error' "$(cat "$dir/err")" \
    "as '$(id -un)' instead of 'games'; fix it with: chmod 700"
  exit
fi

# --- the stage: cupsd's user is lp, ours is games ------------------------------

start_sim
make_cups
install -m 700 "$backend" "$cups/bin/backend/docextract"
run_user=games run_group=games write_config
chmod 644 "$config"
chown games: "$dir/key"
chmod 600 "$dir/key"

# A filter of another printer looks around.
: > "$dir/filter" && chmod 666 "$dir/filter"
install -m 755 "$build/tests/it/todocextract-owned" \
  "$cups/bin/filter/todocextract.real"
cat > "$cups/bin/filter/todocextract" << END
#!/bin/sh
{ id -un; cat '$dir/key'; ls '$spool/received' '$spool/jobs' '$results'; } > '$dir/filter' 2>&1
exec '$cups/bin/filter/todocextract.real' "\$@"
END
chmod 755 "$cups/bin/filter/todocextract"
NO_DAEMON=1 start_cupsd
run_user=games run_group=games start_daemon
add_queue chart
chart_pdf "$dir/a.pdf" Ann Ahrens 17

ids() # NAME: the values of that line of /proc/PID/status, without repetitions
{
  sed -n "s/^$1:\t*//p" "/proc/$(backends)/status" | xargs -n 1 | sort -u | xargs
}
processing() { [ -n "$(find "$spool/jobs" -name job.json -exec \
  grep -l '"processing"' {} + 2> "$dir/find.err")" ]; }

# --- a print ------------------------------------------------------------------

faults 'source * word processing'
print -d chart "$dir/a.pdf"
until_true processing
uid=$(id -u games) gid=$(id -g games)
is 'the backend runs as the separate user, permanently' "$(ids Uid)" "$uid"
is 'in its group' "$(ids Gid)" "$gid"
is 'and in no other' "$(ids Groups)" "$gid"
is 'it has no capabilities' "$(ids CapEff) $(ids CapPrm)" \
  '0000000000000000 0000000000000000'
is 'the spool belongs to the separate user'"'"'s' "$(find "$spool" ! -user games)" ''
faults '#'
job_ends 'the job completes' "$job" completed
is 'and has a result' "$(n_results)" 1
is 'which belongs to the separate user' "$(stat -c '%U:%G %a' "$results"/*)" \
  "$(printf 'games:games 640\n%.0s' 1 2)"
print -d chart -o raw "$dir/a.pdf"
job_ends 'a raw job is held' "$job" \
  pending-held
has 'with the reason' "$(queue_message "$job")" \
  'it was printed raw'

# --- not its own user -----------------------------------------------------------


chmod 755 "$cups/bin/backend/docextract"
print -d chart "$dir/a.pdf"
refusal_is_shown() { queue_state chart | grep -q 'cannot store the chart'; }
until_true refusal_is_shown
has 'a backend that cupsd runs as lp refers to the administrator' \
  "$(queue_state chart)" 'Contact your administrator.*nothing is lost'
has 'and the log has the reason' "$(job_log "$job")" \
  "as .+lp.+ instead of .+games.+chmod 700"
is 'it is not run again immediately' "$(starts "$job")" 1
chmod 700 "$cups/bin/backend/docextract"
kill "$(backends)" # it would wait a minute
job_ends 'once that is fixed, the job completes' "$job" completed
is 'and is sent once' "$(calls create) $(n_results)" '2 2'
is 'filters are those of cupsd' "$(head -n 1 "$dir/filter")" lp
is 'they can read neither key nor spool nor results' "$(grep -c \
  'ermission denied' "$dir/filter") $(wc -l < "$dir/filter")" '4 5'
hasnt 'but they can read the configuration' "$(cat "$cups/log/error_log")" \
  'docextract\.conf:'

is 'it lists its devices' "$(CUPS_SERVERROOT=$cups/root "$backend" |
  cut -d ' ' -f 1,2)" 'network docextract://default'
