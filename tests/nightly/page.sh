#!/usr/bin/env bash
#
# page.sh - the page of `docextract show --html` in a real Chromium: it contains
# the values of the sample chart with their style, and no script runs if a
# result contains markup.
#
#   SCREENSHOTS=doc/images tests/nightly/page.sh   makes the one of the README
#
# Without a browser, the test is skipped with a message; in CI, this is a
# failure.
# shellcheck source-path=SCRIPTDIR
. "$(dirname "$0")/../cli/frame.sh"

command -v chromium > /dev/null || {
  leave_out 'pages in a browser' 'apt-get install chromium'
  ended=1
  echo "$passed passed, $failed failed"
  exit "$failed"
}

# Its sandbox does not work for root; the pages are ours.
chromium_on() # FILE OPTION...
{
  HOME=$dir/browser TMPDIR=$dir/browser timeout $((120 * slowest)) \
    chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --no-proxy-server \
    --hide-scrollbars --enable-logging=stderr "${@:2}" "file://$1" \
    2> "$dir/browser.err"
}
dom_of() { chromium_on "$1" --dump-dom; } # FILE
ran='document.documentElement.setAttribute("data-ran", "yes")'

mkdir "$dir/browser"

# --- the sample chart --------------------------------------------------------

dx submit "$top/doc/sample-chart.pdf"
key=$(sed -n 's/^Stored .* as job //p' "$dir/err")
dx show --html "$key"
cp "$dir/out" "$dir/chart.html"
dom_of "$dir/chart.html" > "$dir/dom"
is 'a browser shows all rows of the sample chart' \
  "$(grep -c '<tr><th scope="row">' "$dir/dom")" \
  "$(dx show "$key" && grep -cE '^  [a-z]' "$dir/out")"
has 'and the patient' "$(tr -d '\n' < "$dir/dom")" \
  'First name</dt><dd><bdi>[A-Z].*MRN</dt><dd><bdi>'
hasnt 'it allows its style' "$(cat "$dir/browser.err")" 'CONSOLE|violates'
chromium_on "$dir/chart.html" --print-to-pdf="$dir/chart.pdf" \
  --no-pdf-header-footer > /dev/null
has 'it can be printed' "$(pdftotext -layout "$dir/chart.pdf" -)" \
  'hemoglobin +[0-9.]+ +g/dL'
[ -z "${SCREENSHOTS-}" ] || chromium_on "$dir/chart.html" \
  --window-size=860,380 --screenshot="$SCREENSHOTS/show.png" > /dev/null

# --- markup in every text ------------------------------------------------------

jq -n --arg ran "$ran" '
  ("</title></style></bdi></td></script><script>" + $ran + "</script>" +
   "<img src=x onerror=\u0027" + $ran + "\u0027>") as $evil |
  {results: {id: $evil, case_name: $evil, medical_data: {($evil): {
    patient_last_name: $evil, patient_mrn: ("\" onload=\"" + $ran),
    ($evil): {value: $evil, measurement_unit: $evil,
      range: {min: $evil, max: $evil}, ($evil): [$evil]},
    ("\u0027 onclick=\u0027" + $ran): {value: 1, range: {min: 2, max: 3}}
  }}}}' > "$dir/hostile.json"
dx show --html "$dir/hostile.json"
cp "$dir/out" "$dir/hostile.html"
dom_of "$dir/hostile.html" > "$dir/dom"
hasnt 'no markup of a result is run' "$(cat "$dir/dom")" '<html[^>]*data-ran'
hasnt 'or becomes an element' "$(cat "$dir/dom")" '<(script|img)'
is 'but it is shown' "$(grep -c '<tr><th scope="row">' "$dir/dom")" 2

# If markup should ever get through, the policy stops it; without the policy the
# browser would run it.
sed "s|</main>|<script>$ran</script>&|" "$dir/chart.html" > "$dir/spiked.html"
hasnt 'the policy of the page stops what gets through' \
  "$(dom_of "$dir/spiked.html")" '<html[^>]*data-ran'
sed '/Content-Security-Policy/d' "$dir/spiked.html" > "$dir/open.html"
has 'which is run without it' "$(dom_of "$dir/open.html")" '<html[^>]*data-ran'
end
