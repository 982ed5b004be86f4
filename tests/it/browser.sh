# browser.sh - controls a real browser, headless: open, click, type, choose,
# look. Uses curl to send WebDriver requests to chromedriver.
#
# To be sourced by bash after lib.sh. Elements are XPath expressions, and are
# waited for. Needs chromium, chromium-driver, jq. Except for pictures, nothing
# here is about CUPS.
# shellcheck disable=SC2154

DRIVER_PID=
browser= # where commands go

# Driver and browser run in their own session, so that clear_stage ends what a
# killed driver leaves behind.
start_browser() # [LANGUAGE]
{
  local port args
  mkdir -p "$dir/browser"
  : > "$dir/driver.log" # with the port of an earlier driver
  HOME=$dir/browser TMPDIR=$dir/browser setsid chromedriver --port=0 \
    > "$dir/driver.log" 2>&1 &
  DRIVER_PID=$!
  add_session "$DRIVER_PID"
  until_true grep -q 'successfully on port [0-9]*\.' "$dir/driver.log" ||
    give_up "chromedriver starts: $(cat "$dir/driver.log")"
  port=$(sed -n 's/.*successfully on port \([0-9]*\).*/\1/p' "$dir/driver.log")
  browser=http://127.0.0.1:$port/session
  # Its sandbox does not work for root, and this network is ours.
  args=$(jq -n --arg l "${1:-en}" '{capabilities:
    {alwaysMatch: {"goog:chromeOptions": {args: ["--headless=new",
    "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
    "--no-proxy-server", "--hide-scrollbars", "--window-size=860,1100",
    "--accept-lang=" + $l]}}}}')
  browser+=/$(ask '' "$args" | jq -r .sessionId)
  [ "${browser##*/}" != '' ] ||
    give_up "Chromium starts: $(cat "$dir/browser.err")"
}

stop_browser()
{
  [ -n "$DRIVER_PID" ] || return
  curl -sS -m 20 -X DELETE "$browser" > /dev/null 2>&1
  end_process "$DRIVER_PID"
  DRIVER_PID=
}

ask() # PATH JSON: the value of the response; false if it is an error
{
  curl -sS -m 60 "$browser$1" -H 'Content-Type: application/json' -d "$2" \
    2> "$dir/browser.err" |
    jq '.value | if type == "object" and has("error") then
      error(.message) else . end' 2>> "$dir/browser.err"
}

seek() # XPATH: waits for it; its id is in $element
{
  until_true is_there "$1" || give_up "the page has $1: $(page_text)"
}
is_there()
{
  element=$(ask /element "$(jq -n --arg x "$1" '{using: "xpath", value: $x}')" |
    jq -r 'to_entries[0].value') && [ -n "$element" ]
}

open_page() { ask /url "$(jq -n --arg u "$1" '{url: $u}')" > /dev/null; }

# An element may be gone with its page right after it was found: tries again.
click() # XPATH
{
  until_true click_now "$1" || give_up "$1 can be clicked: $(page_text)"
}
click_now() { is_there "$1" && ask "/element/$element/click" '{}' > /dev/null; }

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

value_of() # NAME: what a field holds
{
  seek "//*[self::input or self::select][@name='$1']"
  curl -sS "$browser/element/$element/property/value" | jq -r .value
}

# The visible part of a page, without the empty rest of the window.
content='const at = (e) => e.getBoundingClientRect();
  const is_seen = (e) => !e.closest(".cups-footer") && e ===
    document.elementFromPoint(at(e).x + at(e).width / 2,
      at(e).y + at(e).height / 2);
  const seen = [...document.querySelectorAll(".cups-body *")]
    .filter(e => !e.children.length && is_seen(e));
  return {x: 0, y: 0, scale: 1, width: innerWidth,
    height: 20 + Math.ceil(Math.max(...seen.map(e => at(e).bottom)))}'

picture() # NAME: of the page, if SCREENSHOTS is set
{
  local clip
  [ -n "${SCREENSHOTS-}" ] || return 0
  clip=$(ask /execute/sync \
    "$(jq -n --arg s "$content" '{script: $s, args: []}')")
  ask /goog/cdp/execute "{\"cmd\": \"Page.captureScreenshot\",
    \"params\": {\"format\": \"png\", \"clip\": $clip}}" |
    jq -r .data | base64 -d > "$SCREENSHOTS/$1.png"
}
