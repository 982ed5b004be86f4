#!/usr/bin/env bash
#
# rows.sh - the status table against the real simulator: one response of every
# row for every call, and the outcome of the submission: the exit status of
# `docextract submit`, how often each call was made, and how many results
# there are. Every row has a simulator, a spool and a docextractd of its own,
# and they wait side by side. Bounds and long waits are in test_rows.c, with
# simulated clocks.
. "$(dirname "$0")/lib.sh"

at_once=12
mkdir -p "$dir/bin/filter"
cp "$build/todocextract" "$build/docextract-text.so" "$dir/bin/filter/"

setup() # DIRECTORY FAULT: a simulator with its config
{
  mkdir -p "$1"/{spool,spool/results,data}
  echo "$2" > "$1/faults"
  openssl rand -hex 32 > "$1/key"
  chmod 700 "$1/spool"
  chmod 600 "$1/key"
  "$sim_program" --port 0 --storage-port 0 --ready-file "$1/ready" \
    --log "$1/log" --data-dir "$1/data" --faults "$1/faults" \
    --source-time 0 --case-time 0 --key-file "$1/key" --algorithm HS256 \
    2> "$1/sim.err" &
  echo $! > "$1/pid"
  until_true test -e "$1/ready" || return
  cat > "$1/conf" << END
SpoolDir $1/spool
ResultsDir $1/spool/results
<Service default>
BaseURL $(sed -n 's/^api //p' "$1/ready")
Token key
TokenKeyFile $1/key
TokenAlgorithm HS256
ProcessingLimit 1m
</Service>
END
  chmod 600 "$1/conf"
  "$build/daemon/docextractd" -c "$1/conf" > "$1/daemon.err" 2>&1 &
  echo $! > "$1/daemon.pid"
  until_true contains_line "$1/daemon.err" ready
}

end_of_row() # DIRECTORY
{
  local f
  for f in daemon.pid pid; do
    kill "$(cat "$1/$f")" 2> /dev/null
    wait "$(cat "$1/$f")" 2> /dev/null
    rm "$1/$f"
  done
}

end_rows() # when the test itself is interrupted
{
  local f
  for f in "$dir"/row*/{,daemon.}pid; do
    [ ! -e "$f" ] || kill "$(cat "$f")" 2> /dev/null
  done
}
trap 'finish end_rows' EXIT

run_row() # DIRECTORY FAULT: writes "exit creates puts results" to DIRECTORY/got
{
  local status
  setup "$1" "$2"
  CUPS_SERVERBIN=$dir/bin "$docextract" -c "$1/conf" submit "$dir/a.pdf" > "$1/out" 2> "$1/err"
  status=$?
  end_of_row "$1"
  echo "$status $(count_calls "$1/log" create) $(count_calls "$1/log" put)" \
    "$(find "$1/spool/results" -name '*.json' ! -name '*.job.json' | wc -l)" \
    > "$1/got"
}

rows=()
row() # FAULT EXIT CREATES PUTS RESULTS
{
  rows+=("$*")
  while [ "$(jobs -rp | wc -l)" -ge "$at_once" ]; do wait -n; done
  run_row "$dir/row${#rows[@]}" "${*:1:$#-4}" &
}

check_rows()
{
  local i fault expected
  wait
  for i in "${!rows[@]}"; do
    read -ra words <<< "${rows[i]}"
    fault=${words[*]:0:${#words[@]}-4}
    expected=${words[*]: -4}
    is "$fault: exit, creates, uploads, results" \
      "$(cat "$dir/row$((i + 1))/got")" "$expected"
    [ "$(cat "$dir/row$((i + 1))/got")" = "$expected" ] ||
      sed 's/^/#   /' "$dir/row$((i + 1))/err"
  done
}

chart_pdf "$dir/a.pdf" Ann Ahrens 1

# The slow ones first: a GET whose response cannot be right is repeated until
# ProcessingLimit has passed, and three tries of a refused upload take 20 s. The
# command does not wait for an administrator, but the job does (admin.sh).
row 'source * status 422' 75 1 1 0
row 'extract * status 400' 75 1 1 0
row 'source * edit /"uploaded_file_count":1/"uploaded_file_count":0/' 75 1 1 0
row 'extract * edit /"source_id":"[^"]*"/"source_id":"other"/' 75 1 1 0
row 'extract * drip 500' 75 1 1 0
row 'create * status 401' 77 2 0 0
row 'put * status 413' 65 1 3 0
row 'put * status 415' 65 1 3 0
row 'put 1 status 403' 0 1 2 1
row 'put 1 status 404' 0 1 2 1
row 'put 1 status 413' 0 1 2 1

row 'create 1 status 204' 0 2 1 1
row 'create * status 307 Location: http://127.0.0.1/' 78 1 0 0
row 'create * status 400' 78 1 0 0
row 'create 1 status 401' 0 2 1 1
row 'create 1 status 403' 0 2 1 1
row 'create * status 404' 78 1 0 0
row 'create * status 410' 78 1 0 0
row 'create * status 405' 78 1 0 0
row 'create * status 501' 78 1 0 0
row 'create 1 status 408' 0 2 1 1
row 'create 1 status 425' 0 2 1 1
row 'create * status 409' 78 1 0 0
row 'create * status 423' 78 1 0 0
row 'create * status 413' 65 1 0 0
row 'create * status 422' 65 1 0 0
row 'create 1 status 429 Retry-After: 1' 0 2 1 1
row 'create 1 status 500' 0 2 1 1
row 'create 1 status 503 Retry-After: 1' 0 2 1 1
row 'create 1 close' 0 2 1 1
row 'create 1 garbage' 0 2 1 1
row 'create 1 short' 0 2 1 1
row 'source 1 word failed' 0 2 2 1

row 'put 1 status 202' 0 1 2 1
row 'put 1 after-status 202' 0 1 2 1
row 'put 1 status 307 Location: http://127.0.0.1/' 0 1 2 1
row 'put 1 status 400' 0 1 2 1
row 'put 1 status 405' 0 1 2 1
row 'put 1 status 408' 0 1 2 1
row 'put 1 status 409' 0 1 2 1
row 'put 1 status 429 Retry-After: 1' 0 1 2 1
row 'put 1 status 500' 0 1 2 1
row 'put 1 close' 0 1 2 1
row 'put 1 drop' 0 1 2 1
row 'put 1 after-status 500' 0 1 2 1

row 'source 1 status 204' 0 1 1 1
row 'source * status 307 Location: http://127.0.0.1/' 78 1 1 0
row 'source 1-2 status 400' 0 1 1 1
row 'source 1 status 401' 0 1 1 1
row 'source 1 status 404' 0 1 1 1
row 'source * status 405' 78 1 1 0
row 'source 1 status 408' 0 1 1 1
row 'source 1 status 409' 0 1 1 1
row 'source 1-2 status 413' 0 1 1 1
row 'source 1-2 status 415' 0 1 1 1
row 'source 1 status 418' 0 1 1 1
row 'source 1 status 429 Retry-After: 1' 0 1 1 1
row 'source 1 status 500' 0 1 1 1
row 'source 1 status 503 Retry-After: 1' 0 1 1 1
row 'source 1 close' 0 1 1 1
row 'source 1 garbage' 0 1 1 1
row 'source 1 short' 0 1 1 1
row 'source 1-2 edit /"id":"[^"]*"/"id":"other"/' 0 1 1 1
row 'source 1-2 edit /("case_ids":.)("[^"]*")/\1\2,\2/' 0 1 1 1
row 'source 1-2 edit /"uploaded_file_count":1/"uploaded_file_count":0/' 0 1 1 1
row 'source 1 word strange' 0 1 1 1

row 'extract 1 status 204' 0 1 1 1
row 'extract 1 status 202' 0 1 1 1
row 'extract * status 307 Location: http://127.0.0.1/' 78 1 1 0
row 'extract 1 status 415' 0 1 1 1
row 'extract 1 status 403' 0 1 1 1
row 'extract 1 status 404' 0 1 1 1
row 'extract * status 406' 78 1 1 0
row 'extract 1 status 425' 0 1 1 1
row 'extract 1 status 423' 0 1 1 1
row 'extract 1-2 status 413' 0 1 1 1
row 'extract 1 status 422' 0 1 1 1
row 'extract 1 status 451' 0 1 1 1
row 'extract 1 status 429 Retry-After: 1' 0 1 1 1
row 'extract 1 status 500' 0 1 1 1
row 'extract 1 close' 0 1 1 1
row 'extract 1 garbage' 0 1 1 1
row 'extract 1 short' 0 1 1 1
row 'extract 1-2 edit /"id":"[^"]*"/"id":"other"/' 0 1 1 1
row 'extract 1-2 edit /"source_id":"[^"]*"/"source_id":"other"/' 0 1 1 1
check_rows
