# order.awk - checks the order of what a trace of preload.so recorded. First
# come the journals that it kept, as lines (order.sh makes them), then the trace.
# Prints a line for each rule: its name, how often it was checked, how often it
# was broken, and where first.
#
# What is durable: the bytes of a file that was fsynced after its last write;
# a name whose directory was fsynced after the rename. A power failure may take
# everything else, in any order.

# ---- rules ----

function rule(name, text)
{
  names[++rules] = name
  texts[name] = text
}

BEGIN {
  rule("bytes", "a file is fsynced before it gets its name")
  rule("name", "a directory of others is fsynced after a rename in it, at once")
  rule("received", "received documents are fsynced before the job has them")
  rule("journal", "a job has a durable journal before it gets its place")
  rule("jobs", "received/ and jobs/ are fsynced after a job comes, before anything else")
  rule("directory", "a new directory is durable before anything is sent")
  rule("put", "an upload is in the durable journal before it is sent")
  rule("stored", "a result is durable in the job before it is delivered")
  rule("known", "the journal says that a result is stored before it is delivered")
  rule("manifest", "all results are delivered before their manifest")
  rule("extracted", "the manifest is durable before the journal says extracted")
  rule("told", "the manifest of a failure is durable before the journal says so")
  rule("removed", "a document is removed after a journal that no longer needs it")
  rule("finished", "a job is moved to finished/ after a journal that says so")
  rule("emptied", "a job has no documents any more when it comes to finished/")
  rule("reopened", "a job leaves finished/ before its journal is unfinished")
  rule("swept", "a job is removed only when its journal is finished")
  rule("merged", "a receipt goes away after the journal of its job has its run, or a newer")
  rule("alone", "nobody but docextractd sends")
}

function must(name, good)
{
  seen[name]++
  if (good)
    return
  if (!broken[name]++)
    first[name] = "line " FNR ": " $0
}

# ---- paths ----

function parent(path)
{
  sub(/\/[^\/]*$/, "", path)
  return path
}

function base(path)
{
  sub(/.*\//, "", path)
  return path
}

function is_job(path) { return path ~ /\/(jobs|finished)\/[0-9a-f]+$/ }
function is_received(path) { return path ~ /\/incoming\/[0-9a-f.]+$/ }
function is_receipt(path) { return path ~ /\/received\/[0-9a-f]+\.[0-9a-f]+$/ }
function is_document(name) { return name ~ /^document-[0-9]+$/ }
function is_result(name) { return name ~ /^result-[0-9]+-[0-9]+\.json$/ }

# ---- journals ----

# COPY job RUN / COPY sub N STATE SOURCE / COPY file N DOCUMENT
# PUT PATH / COPY case N I STATE ID
FNR == NR {
  lines[$1, ++line_count[$1]] = $0
  next
}

# The journal of a directory is durable now: what it says is true.
function forget(dir,    key)
{
  for (key in state)
    if (index(key, dir SUBSEP) == 1)
      delete state[key]
  for (key in case_state)
    if (index(key, dir SUBSEP) == 1)
      delete case_state[key]
  for (key in files)
    if (index(key, dir SUBSEP) == 1)
      delete files[key]
}

function settle(dir, copy,    i, f)
{
  forget(dir)
  journal[dir] = copy
  for (i = 1; i <= line_count[copy]; i++) {
    split(lines[copy, i], f, " ")
    if (f[2] == "job") {
      run[dir] = f[3]
      cupsd[dir] = f[4]
    } else if (f[2] == "sub") {
      state[dir, f[3]] = f[4]
      source[dir, f[3]] = f[5]
    } else if (f[2] == "file") {
      files[dir, f[4]] = f[3] " " f[5] " " f[6]
    } else {
      case_state[dir, f[3], f[4]] = f[5]
      case_name[dir, f[3], f[4]] = f[6]
    }
  }
}

# Whether a submission, or all of them, are settled.
function is_settled(word) { return word ~ /^(extracted|canceled|expired)$/ }

function all_settled(dir,    key, part, n)
{
  for (key in state) {
    split(key, part, SUBSEP)
    if (part[1] != dir)
      continue
    n++
    if (!is_settled(state[key]))
      return 0
  }
  return n > 0
}

# What the lines of a journal say before it is durable.
function copy_settled(copy,    i, f)
{
  for (i = 1; i <= line_count[copy]; i++) {
    split(lines[copy, i], f, " ")
    if (f[2] == "sub" && !is_settled(f[4]))
      return 0
  }
  return line_count[copy] > 0
}

# ---- a directory moves ----

function move(list, from, to,    key, moved, n, i)
{
  for (key in list)
    if (index(key, from) == 1 && substr(key, length(from) + 1, 1) ~ /^[\/\034]?$/)
      moved[++n] = key
  for (i = 1; i <= n; i++) {
    key = to substr(moved[i], length(from) + 1)
    list[key] = list[moved[i]]
    delete list[moved[i]]
  }
}

function move_all(from, to)
{
  move(dirty, from, to)
  move(durable, from, to)
  move(state, from, to)
  move(source, from, to)
  move(files, from, to)
  move(case_state, from, to)
  move(case_name, from, to)
  move(journal, from, to)
  move(run, from, to)
  move(cupsd, from, to)
}

function has_documents(dir,    path)
{
  for (path in dirty)
    if (parent(path) == dir && (is_document(base(path)) || is_result(base(path))))
      return 1
  return 0
}

# The journal of the job in the same spool, wherever it is now. What a backend
# commits that has outlived its cupsd is dropped if one of another cupsd came
# before.
function has_run(receipt,    key, name, dir, job)
{
  name = base(receipt)
  key = name
  sub(/\..*/, "", key)
  sub(/.*\./, "", name)
  dir = parent(parent(receipt))
  job = dir "/jobs/" key
  if (run[job] == "")
    job = dir "/finished/" key
  return run[job] == name ||
    (run[job] != "" && cupsd[job] != cupsd[receipt])
}

function rename_job(from, to,    path)
{
  if (is_received(from) && is_receipt(to)) {
    must("journal", journal[from] != "" && !(($1, from) in unsynced))
    for (path in dirty)
      if (parent(path) == from && is_document(base(path)))
        must("received", !dirty[path])
  } else if (is_receipt(from) && to ~ /\/incoming\//) {
    must("merged", has_run(from))
  } else if (to ~ /\/finished\//) {
    must("finished", all_settled(from) && !(($1, from) in unsynced))
    must("emptied", !has_documents(from))
  } else if (from ~ /\/finished\// && to ~ /\/jobs\//) {
    must("reopened", 1)
  } else if (to ~ /\/incoming\//) {
    must("swept", all_settled(from) && !(($1, from) in unsynced))
  }
  move_all(from, to)
  if (to ~ /\/finished\//) # after a power failure it is moved again
    return
  if (to ~ /\/incoming\//) # from where a power failure may take it
    unsynced[$1, parent(from)] = " " from
  else
    add_name(to)
}

# Names that are not durable yet, by process and directory.
function add_name(path)
{
  unsynced[$1, parent(path)] = unsynced[$1, parent(path)] " " path
}

# ---- files get their names ----

# The job, submission and case of a name in the directory of results.
function find_case(name,    key, part)
{
  for (key in case_name) {
    split(key, part, SUBSEP)
    if (name == source[part[1], part[2]] "-" case_name[key] ".json")
      return key
  }
  return ""
}

function rename_result(to,    key, part, stored)
{
  key = find_case(base(to))
  if (key == "")
    return
  split(key, part, SUBSEP)
  stored = sprintf("%s/result-%04d-%05d.json", part[1], part[2], part[3])
  must("stored", durable[stored])
  must("known", case_state[key] != "" && case_state[key] != "waiting")
}

function rename_manifest(to,    key, part, i, name, good)
{
  good = 1
  for (key in source) {
    if (base(to) != source[key] ".job.json" || state[key] != "complete")
      continue
    split(key, part, SUBSEP)
    for (i = 1; (part[1], part[2], i) in case_state; i++) {
      name = source[key] "-" case_name[part[1], part[2], i] ".json"
      good = good && durable[parent(to) "/" name]
    }
    must("manifest", good)
  }
}

# The id in the name of a manifest, which has no source if the service refuses.
function manifest_id(dir, f)
{
  return f[5] == "-" ? base(dir) "-" f[3] : f[5]
}

function rename_journal(copy, dir,    i, f, id)
{
  for (i = 1; i <= line_count[copy]; i++) {
    split(lines[copy, i], f, " ")
    if (f[2] != "sub")
      continue
    id = manifest_id(dir, f)
    if (f[4] !~ /^(extracted|failed|expired)$/)
      delete manifest[id] # it is one of an earlier attempt
    else if (state[dir, f[3]] != f[4])
      must(f[4] == "extracted" ? "extracted" : "told", manifest[id])
  }
  if (dir ~ /\/finished\//)
    must("reopened", copy_settled(copy))
  waiting[dir] = copy
}

# ---- the trace ----

# Before a call, what others see under a new name must be durable. Within the
# directory of a job the other rules say when: they go by what is durable.
function names_are_durable(    key, part)
{
  for (key in unsynced) {
    split(key, part, SUBSEP)
    if ((part[1] == $1 || $1 == "the") && !is_job(part[2]) &&
        !is_received(part[2]) && !is_receipt(part[2]))
      must(part[2] ~ /\/(jobs|received)$/ ? "jobs" : "name", 0)
  }
}

function name_is_durable(path,    key)
{
  durable[path] = 1
  key = base(path)
  if (sub(/\.job\.json$/, "", key))
    manifest[key] = 1
}

# What a power failure may take: nothing relies on it.
/\/history\// { next }

$2 == "write" || $2 == "create" { dirty[$3] = 1 }

$2 == "mkdir" && ! is_received($3) { made[parent($3)] = $3 }

$2 == "fsync" {
  dirty[$3] = 0
  delete made[$3]
  if (($1, $3) in unsynced) {
    must($3 ~ /\/(jobs|received)$/ ? "jobs" : "name", 1)
    n = split(unsynced[$1, $3], list, " ")
    for (i = 1; i <= n; i++)
      name_is_durable(list[i])
    delete unsynced[$1, $3]
  }
  if ($3 in waiting) {
    settle($3, waiting[$3])
    delete waiting[$3]
  }
}

$2 == "rename" {
  if (is_job($3) || is_received($3) || is_receipt($3)) {
    names_are_durable()
    rename_job($3, $4)
    next
  }
  if (is_document(base($3))) # moved by the next run
    must("received", !dirty[$3])
  else
    names_are_durable()
  if (base($3) ~ /^\./)
    must("bytes", dirty[$3] == 0)
  delete dirty[$3]
  dirty[$4] = 0
  add_name($4)
  if (base($4) ~ /\.job\.json$/)
    rename_manifest($4)
  else if (parent($4) ~ /\/results$/)
    rename_result($4)
}

$2 == "journal" { rename_journal($4, parent($3)) }

$2 == "unlink" { delete dirty[$3] }

$2 == "unlink" && is_job(parent($3)) && \
(is_document(base($3)) || is_result(base($3))) {
  names_are_durable()
  good = 0
  for (key in state) {
    split(key, part, SUBSEP)
    if (part[1] != parent($3) || !is_settled(state[key]))
      continue
    if (is_result(base($3)))
      good = good || base($3) ~ sprintf("^result-%04d-", part[2])
    else if ((part[1], substr(base($3), 10) + 0) in files) {
      split(files[part[1], substr(base($3), 10) + 0], f, " ")
      good = good || f[1] == part[2]
    }
  }
  must("removed", good)
}

$2 == "send" {
  names_are_durable()
  for (key in made)
    must("directory", 0)
  must("directory", 1)
  must("alone", index(daemons, " " $1 " ") > 0)
}

$2 == "send" && $3 == "PUT" {
  good = 0
  for (key in files) {
    split(files[key], f, " ")
    good = good || (f[3] == $4 && f[2] == "sending")
  }
  must("put", good)
}

END {
  $0 = "the end"
  names_are_durable()
  for (i = 1; i <= rules; i++)
    printf "%s\t%d\t%d\t%s\t%s\n", names[i], seen[names[i]], broken[names[i]],
      texts[names[i]], first[names[i]]
}
