#!/usr/bin/env bash
#
# desktop.sh - notifications on a real desktop: dunst shows them on the screen
# of Xvfb. notify.sh tests their content and time.
#
# With SCREENSHOTS=DIRECTORY the screen is stored as DIRECTORY/notify.png, which
# needs netpbm: doc/images/notify.png was made this way.
. "$(dirname "$0")/../it/lib.sh"
. "$it/session.sh"
clear_desktop()
{
  stop_desktop
  clear_session
}
trap 'finish clear_desktop' EXIT

for program in Xvfb dunst; do
  command -v $program > /dev/null ||
    leave_out_all 'notifications on a screen' 'apt-get install xvfb dunst'
done

SCREEN_PID=
DUNST_PID=
screen_is_there() { [ -s "$dir/display" ]; }
start_desktop()
{
  Xvfb -displayfd 3 -screen 0 640x250x24 -fbdir "$dir" -nolisten tcp \
    3> "$dir/display" 2> "$dir/xvfb.err" &
  SCREEN_PID=$!
  until_true screen_is_there || give_up "Xvfb starts: $(cat "$dir/xvfb.err")"
  DISPLAY=:$(cat "$dir/display")
  export DISPLAY
  cat > "$dir/dunstrc" << END
[global]
origin = top-right
width = 600
height = 120
offset = 20x20
font = DejaVu Sans 12
show_age_threshold = -1
icon_position = off
padding = 12
horizontal_padding = 16
frame_width = 1
END
  dunst -config "$dir/dunstrc" -print > "$dir/dunst" 2> "$dir/dunst.err" &
  DUNST_PID=$!
}
stop_desktop()
{
  [ -z "$DUNST_PID" ] || end_process "$DUNST_PID"
  [ -z "$SCREEN_PID" ] || end_process "$SCREEN_PID"
}

has_shown() { grep -qF -e "$1" "$dir/dunst"; } # TEXT
screen() { cat "$dir/Xvfb_screen0"; }
has_changed() { [ "$(screen | md5sum)" != "$1" ]; }

chart_pdf "$dir/a.pdf" Ann Ahrens 4711
qpdf --encrypt secret owner 256 -- "$dir/a.pdf" "$dir/locked.pdf"
start_all
start_daemon
start_bus
start_desktop
start_notify

t='a chart'
before=$(screen | md5sum)
print -d chart "$dir/a.pdf"
until_true has_shown "Print job chart-$job: Extracted 1 case" ||
  not_ok "$t: the desktop shows it" "$(cat "$dir/dunst" "$dir/dunst.err")"
check "$t: it is on the screen" until_true has_changed "$before"

t='a refused chart'
before=$(screen | md5sum)
print -d chart "$dir/locked.pdf"
until_true has_shown 'it is password-protected' ||
  not_ok "$t: the desktop shows it" "$(cat "$dir/dunst" "$dir/dunst.err")"
check "$t: it is on the screen, too" until_true has_changed "$before"
[ -z "${SCREENSHOTS-}" ] ||
  xwdtopnm "$dir/Xvfb_screen0" 2> "$dir/xwd.err" | pnmcrop -quiet |
  pnmtopng -quiet -compression 9 > "$SCREENSHOTS/notify.png"
