# browser.sh - a real browser, headless, driven as a person drives it: open,
# click, type, choose, look. Speaks WebDriver with chromedriver through curl.
#
# To be sourced by bash after lib.sh. Elements are XPath expressions; whatever
# is clicked or asked for is waited for. Needs chromium, chromium-driver, jq.
# Nothing of CUPS lives here.
# shellcheck disable=SC2154

DRIVER_PID=
browser= # where commands go

start_browser() # [LANGUAGE]
{
  local port args
  chromedriver --port=0 > "$dir/driver.log" 2>&1 &
  DRIVER_PID=$!
  until_true grep -q 'successfully on port' "$dir/driver.log" ||
    give_up "chromedriver starts: $(cat "$dir/driver.log")"
  port=$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "$dir/driver.log")
  browser=http://localhost:$port/session
  # Its own sandbox cannot be had by root, and this network is ours.
  args=$(jq -n --arg d "$dir/browser" --arg l "${1:-en}" '{capabilities:
    {alwaysMatch: {"goog:chromeOptions": {args: ["--headless=new",
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--window-size=860,760", "--accept-lang=" + $l,
    "--user-data-dir=" + $d + "-" + $l]}}}}')
  browser+=/$(ask '' "$args" | jq -r .sessionId)
}

stop_browser()
{
  [ -n "$DRIVER_PID" ] || return 0
  curl -sS -X DELETE "$browser" > /dev/null
  kill "$DRIVER_PID"
  wait "$DRIVER_PID" 2> /dev/null
  DRIVER_PID=
}

ask() # PATH JSON: the value of the answer; false if it is an error
{
  curl -sS "$browser$1" -H 'Content-Type: application/json' -d "$2" |
    jq '.value | if type == "object" and has("error") then
      error(.message) else . end' 2> "$dir/browser.err"
}

seek() # XPATH: waits for it; its id is in $element
{
  until_true is_there "$1" || give_up "the page has $1: $(page_text)"
}
is_there()
{
  element=$(ask /element "$(jq -n --arg x "$1" '{using: "xpath", value: $x}')" |
    jq -er 'to_entries[0].value')
}

open_page() { ask /url "$(jq -n --arg u "$1" '{url: $u}')" > /dev/null; }

click() # XPATH
{
  seek "$1"
  ask "/element/$element/click" '{}' > /dev/null ||
    give_up "$1 can be clicked: $(cat "$dir/browser.err")"
}
press() { click "//input[@type='SUBMIT' and @value='$1']"; } # BUTTON
follow() { click "//a[normalize-space()='$1']"; } # LINK

type_into() # NAME TEXT
{
  seek "//input[@name='$1']"
  ask "/element/$element/clear" '{}' > /dev/null
  ask "/element/$element/value" "$(jq -n --arg t "$2" '{text: $t}')" > /dev/null
}

choose() { click "//select[@name='$1']/option[@value='$2']"; } # NAME VALUE

shows() { page_text | grep -qF -e "$1"; } # TEXT
page_text()
{
  ask /execute/sync '{"script": "return document.body.innerText", "args": []}' |
    jq -r .
}

picture() # NAME: of the page, if somebody wants pictures
{
  [ -z "${SCREENSHOTS-}" ] ||
    curl -sS "$browser/screenshot" | jq -r .value |
    base64 -d > "$SCREENSHOTS/$1.png"
}
