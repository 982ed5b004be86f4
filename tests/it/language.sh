#!/usr/bin/env bash
#
# language.sh - the messages of print jobs and queues in the language of the
# site, without an installed locale, and those of the command in the language of
# the user. Both have the same words.
. "$(dirname "$0")/lib.sh"

chart_pdf "$dir/a.pdf" Ann Ahrens 4711
qpdf --encrypt secret owner 256 -- "$dir/a.pdf" "$dir/locked.pdf"
start_all

message_is() { [ "$(job_message "$1")" = "$2" ]; } # JOB TEXT

# What `docextract jobs` prints in the last column.
said_to() # LOCALE JOB
{
  CUPS_SERVERBIN=$cups/bin env LC_ALL="$1" "$docextract" -c "$config" jobs \
    --all | grep " chart-$2 " |
    sed -E 's/^([^ ]+ +){7}//; s/^[a-z]+ +//'
}
has_said() { [[ $(said_to "$1" "$2") = *"$3"* ]]; } # LOCALE JOB TEXT

are_told() # TEXT LOCALE FILE STATE MESSAGE
{
  print -d chart "$3"
  job_ends "$1: the print job is" "$job" "$4"
  check "$1: its message" until_true message_is "$job" "$5"
  [ "$4" = completed ] || # cupsd then clears it
    has "$1: the message of its queue" "$(queue_message "$job")" "$5"
  has "$1: the command says the same" "$(said_to "$2" "$job")" "$5"
  is "$1: JSON is in English" "$(dx jobs --all --json |
    jq -r --arg id "$job" '.[] | select(.id == $id) | .sentence' |
    grep -c '[^ -~]')" 0
  [ "$4" = completed ] || cancel "$job"
}

refused_in() # LANGUAGE LOCALE MESSAGE
{
  GENERAL="Language $1" write_config
  are_told "Language $1" "$2" "$dir/locked.pdf" pending-held "$3"
}

refused_in de de_DE.UTF-8 \
  'Das Dokument wurde nicht ausgelesen – es ist mit einem Kennwort geschützt; bitte öffnen Sie es mit dem Kennwort und drucken Sie es von dort'
refused_in fr fr_FR.UTF-8 \
  "Le document n'a pas été traité"$'\xc2\xa0'": il est protégé par un mot de passe"$'\xc2\xa0'"; ouvrez-le avec son mot de passe et imprimez-le depuis le logiciel"
refused_in es es_ES.UTF-8 \
  'El documento no se procesó: está protegido con contraseña; ábralo con su contraseña e imprímalo desde allí'
refused_in ja ja_JP.UTF-8 \
  '文書は抽出されませんでした: パスワードで保護されています。パスワードで開き、そこから印刷してください'
refused_in en C.UTF-8 'The chart was not extracted: it is password-protected; open it with its password, and print it from there'

t='a state of a job'
GENERAL='Language ja' write_config
faults 'create * drop'
print -d chart "$dir/a.pdf"
down='文書はこのコンピューターにあります。サービスが応答しないため、再試行しています'
is_down() { [[ $(job_message "$job") =~ ^$down ]]; }
check "$t: the print job has it" until_true is_down
check "$t: the command has it in another language" \
  until_true has_said de_DE.UTF-8 "$job" \
  'Das Dokument ist auf diesem Computer; der Dienst antwortet nicht'
faults '#'
job_ends "$t: the print job is" "$job" completed
check "$t: its message" until_true message_is "$job" '1件の症例を抽出しました'

stop_daemon
START_DAEMON='env LANG=fr_FR.UTF-8 LC_ALL=' start_daemon
for line in '' 'Language auto'; do # as docextract 1.0 had it
  GENERAL=$line write_config
  are_told "${line:-without Language}, whatever the locale of docextractd is" C \
    "$dir/a.pdf" completed 'Extracted 1 case'
done
