# tasks.sh - runs test scripts side by side, and those that failed once more, and
# adds up their counts, for test.sh. To be sourced by bash; the sourcing script
# sets work, a directory with an empty directory out, and cores.
# shellcheck disable=SC2154

log_of() { echo "$work/out/${1//[\/ ]/-}"; } # NAME

# Runs a test script: it prints "ok - TEXT" or "not ok - TEXT" for each check,
# and the counts in its last line. Prints what failed, the counts and the time.
task() # NAME LIMIT-S COMMAND...
(
  name=$1 limit=$2 begin=$SECONDS
  log=$(log_of "$name")
  shift 2
  # In a session of its own: Linux divides the processors among sessions, and each
  # cupsd of a test has one. All scripts together would get no more than one cupsd.
  setsid timeout -k 60 "$limit" "$@" > "$log" 2>&1 < /dev/null &
  pid=$!
  trap 'kill $pid; wait $pid; exit 1' TERM
  wait $pid
  status=$?
  times > "$log.times"
  if [ $status = 124 ] || [ $status = 137 ]; then
    echo "not ok - stopped after $limit s: $name" >> "$log"
  fi
  judge "$name" "$log" $status > "$log.report"
  echo "$passed $failed" > "$log.counts"
  sed -n "s|^not ok - |failed: $name: |p" "$log.report" > "$log.failed"
  # Only processes that the script has waited for count.
  cpu=$(awk -F '[ms ]+' 'NR == 2 { printf "%d", 60 * ($1 + $3) + $2 + $4 }' \
    "$log.times")
  echo "$name: $passed passed, $failed failed ($((SECONDS - begin)) s," \
    "CPU $cpu s)" >> "$log.report"
  flock "$work/out" cat "$log.report"
  [ "$failed" = 0 ]
)

# Counts the lines of the checks. A script with other counts has failed: it was
# interrupted, or made a check that it did not count. Prints what failed; sets
# passed and failed.
judge() # NAME LOG STATUS
{
  local last
  passed=$(grep -ac '^ok - ' "$2")
  failed=$(grep -ac '^not ok - ' "$2")
  last=$(tail -n 1 "$2")
  grep -a -e '^not ok - ' -e '^#' -e '^left out: ' "$2"
  if [ "$last" != "$passed passed, $failed failed" ] &&
    [[ $last != 'not ok - stopped after '* ]]; then
    echo "not ok - it counts $passed and $failed checks in its last line"
    tail -n 20 "$2" | sed 's/^/#   /'
    failed=$((failed + 1))
  fi
  if [ "$3" != 0 ] && [ "$failed" = 0 ]; then
    echo "not ok - it ends with status 0 ($3)"
    failed=1
  fi
  if [ "$failed" = 0 ] && grep -aq '^# stopped after ' "$2"; then
    echo 'not ok - it waits for nothing in vain'
    failed=1
  fi
}

# Whether the processors have enough to do: in half a second, more than two
# processes ran or could have run on each.
busy()
{
  local running i sum=0
  for i in 1 2 3 4 5; do
    read -r _ _ _ running _ < /proc/loadavg
    sum=$((sum + ${running%/*} - 1))
    sleep 0.1
  done
  [ $sum -gt $((5 * 2 * cores)) ]
}

# Reads tasks, one per line, and runs at most N of them at once: most of them wait
# most of their time. On a slow machine they do not, and the more run, the more
# time is lost between them, and the more miss their limits: there, one for each
# processor. run_again may run these again; not those that are run by themselves,
# such as the build.
at_once() # N
{
  local words
  while read -ra words; do
    while [ "$(jobs -rp | wc -l)" -ge "$1" ]; do wait -n; done
    while [ "$(jobs -rp | wc -l)" -ge "$cores" ] && busy; do sleep 1; done
    echo "${words[*]}" > "$(log_of "${words[0]}").task"
    task "${words[@]}" &
  done
  wait
}

# Runs scripts that have failed once more, one after another, now that nothing
# else runs: what fails only sometimes need not be a fault of the change. The
# second run replaces the first; if it passes, the checks that had failed are
# FLAKY. If more than five scripts have failed, something is wrong, and all stay
# failed; so does what cannot end within again_s.
again_s=900 # for all of them: .ci/run has 90 minutes
run_again()
{
  local log words left end=$((SECONDS + again_s)) logs=() flaky=0
  for log in "$work"/out/*.task; do
    log=${log%.task}
    [ ! -s "$log.failed" ] || logs+=("$log")
  done
  [ ${#logs[@]} -gt 0 ] || return 0
  if [ ${#logs[@]} -gt 5 ]; then
    echo "== ${#logs[@]} scripts have failed: too many to run again"
    return
  fi
  echo "== running again what failed ($SECONDS s)"
  for log in "${logs[@]}"; do
    left=$((end - SECONDS))
    [ $left -gt 0 ] || break
    read -ra words < "$log.task"
    [ "${words[1]}" -le $left ] || words[1]=$left
    cp "$log.failed" "$log.first"
    task "${words[@]}" & # in the foreground, it would delay traps
    if wait $!; then
      sed 's/^failed: /FLAKY /' "$log.first" > "$log.flaky"
      flaky=$((flaky + 1))
    fi
  done
  [ $flaky -le 2 ] || fail "at most two scripts are flaky ($flaky)"
}

# A check of the run itself has failed.
fail() # TEXT
{
  echo "failed: $1" > "$work/out/run.failed"
  echo '0 1' > "$work/out/run.counts"
}

end()
{
  local p f
  passed=0
  failed=0
  while read -r p f; do
    passed=$((passed + p))
    failed=$((failed + f))
  done < <(cat "$work"/out/*.counts)
  echo "== done ($SECONDS s)"
  grep -ah '^left out: ' "$work"/out/*.report
  cat "$work"/out/*.flaky 2> /dev/null
  cat "$work"/out/*.failed
  echo "$passed passed, $failed failed"
  [ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
  exit
}
