#!/usr/bin/env bash
#
# guide.sh [CODENAME] - README.md and doc/administration.md, typed: the blocks of
# each page that are marked "run" or "file PATH" (tests/checks/documents.sh), in
# their order, on a machine with systemd (tests/helper/machine.sh), of this
# release of Debian or of another one. What a page says that a block prints is
# compared. Programs and packages are those that the commands of README.md make.
#
# In place of the service is the simulator that the pages start, in place of the
# reader's patience a wait until nothing is unfinished. Without root this is
# skipped and says so; in CI that is a failure.
. "$(dirname "$0")/../it/lib.sh"
. "$top/tests/helper/machine.sh"

[ "$(id -u)" = 0 ] || leave_out_all 'the commands of the guides' 'run it as root'
prepare_to_build
codename=${1:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
inside=/root/docextract # the sources, in which a reader types

# --- pages -------------------------------------------------------------------

# Makes a directory for each block: what to do, its text, the text that the
# sentence after it says it prints, and the line of the page.
split_page() # PAGE DIRECTORY
{
  awk -v dir="$2" '
    function put(name, text) {
      file = at "/" name
      print text > file
      close(file)
    }
    /^ *```/ {
      fenced = !fenced
      match($0, /^ */)
      cut = RLENGTH
      if (!fenced) { follows = 1; next }
      at = sprintf("%s/%03d", dir, ++n)
      system("mkdir -p " at)
      gsub(/^ *<!-- | -->$/, "", mark)
      put("mark", mark)
      put("line", NR)
      text = at "/text"
      follows = 0
      next
    }
    fenced { print substr($0, cut + 1) > text; next }
    /^ *<!-- / { mark = $0; follows = 0 }
    /^#/ { follows = 0 }
    follows && match($0, /prints? `[^`]+`/) {
      said = substr($0, RSTART, RLENGTH)
      gsub(/^prints? `|`$/, "", said)
      put("prints", said)
    }' "$1"
}

local_address() { sed 's,https://extract\.example\.com,http://127.0.0.1:8480,'; }

# --- typing ------------------------------------------------------------------

# While the machine is only a directory, it has the network of this one.
in_directory() # COMMAND...
{
  # shellcheck disable=SC2016
  unshare --mount sh -c 'mount -t proc proc "$1/proc" && shift && exec "$@"' - \
    "$machine" chroot "$machine" env -i HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin \
    DEB_BUILD_OPTIONS="nocheck noautodbgsym noopt parallel=$(nproc)" "$@"
}

type_block() # FUNCTION FILE: in a shell that stops at an error
{
  local_address < "$2" > "$machine/root/typed"
  # What it starts in the background must not keep a pipe open.
  "$1" sh -c "cd $inside && timeout 1200 bash -e /root/typed" \
    > "$dir/output" 2>&1 < /dev/null
}
prints_it() # FUNCTION FILE TEXT
{
  type_block "$1" "$2" && grep -qF -e "$3" "$dir/output"
}

unfinished()
{
  find "$spool"/{received,jobs} -mindepth 1 -maxdepth 1 2> /dev/null
  on lpstat -o 2> /dev/null
}
nothing_is_unfinished() { [ -z "$(unfinished)" ]; }

run_block() # FUNCTION DIRECTORY TEXT
{
  local said=
  [ ! -e "$2/prints" ] || said=$(< "$2/prints")
  if [ -n "$said" ]; then
    WAIT_S=60 until_true prints_it "$1" "$2/text" "$said"
  else
    type_block "$1" "$2/text"
  fi || {
    sed 's/^/#   /' "$2/text" "$dir/output"
    give_up "$3${said:+, and prints $said}"
  }
  ok "$3${said:+, and prints $said}"
}

read_page() # PAGE
{
  local block mark t
  split_page "$top/$1" "$dir/${1##*/}.blocks"
  for block in "$dir/${1##*/}.blocks"/*; do
    mark=$(< "$block/mark")
    t="$1:$(< "$block/line"): $(head -n 1 "$block/text")"
    case $mark in
    'not run: '*) ;;
    'file '*)
      local_address < "$block/text" > "$machine${mark#file }" ||
        give_up "$t is written"
      ;;
    run)
      if grep -qx './demo.sh' "$block/text"; then
        echo "# $t: .ci/run types it"
      elif [ -z "$nspawn" ]; then # the first one builds and installs
        run_block in_directory "$block" "$t"
        boot
      else
        run_block on "$block" "$t"
        WAIT_S=60 until_true nothing_is_unfinished ||
          not_ok "$t: everything ends" "$(unfinished; on docextract jobs)"
      fi
      ;;
    esac
  done
}

# --- the machine -------------------------------------------------------------

make_sources_machine()
{
  {
    make_debian "$codename" "$machine" systemd dbus sudo jq ca-certificates &&
      printf '%s "%s";\n' APT::Install-Recommends false \
        APT::Get::Assume-Yes true >> "$machine/etc/apt/apt.conf.d/50mirror" &&
      unpack_source "$version" "$machine$inside" &&
      in_directory apt-get -q update
  } > "$dir/machine.log" 2>&1 ||
    give_up "a machine is made: $(tail -n 5 "$dir/machine.log")"
}

# As if the packages had just been installed.
begin_again()
{
  on sh -c 'kill $(pidof docextract-sim); lpadmin -x chart
    rm /etc/cups/docextract.conf /etc/cups/docextract.key
    sh /usr/share/docextract/new-config /etc/default/locale \
      /etc/cups/docextract.conf' > "$dir/output" 2>&1 ||
    give_up "the second page begins: $(cat "$dir/output")"
}

make_sources_machine
read_page README.md
is 'README.md: its chart is extracted' \
  "$(n_results) $(on docextract jobs | grep -c ' extracted ')" '1 1'
begin_again
cp "$top/doc/separator-sample.pdf" "$machine$inside/separator.pdf"
read_page doc/administration.md
is 'doc/administration.md: both charts are moved, one by OnResult' \
  "$(find "$machine/srv/inbox" -name '*.job.json' | wc -l)" 2
is 'doc/administration.md: nothing is left of the packages' \
  "$(on dpkg-query -W -f '${Package} ${db:Status-Status}\n' 'docextract*' 2> /dev/null)" ''
