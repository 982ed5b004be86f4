# packages.sh - installs missing packages on Debian and Ubuntu, for demo.sh and
# test.sh. On other systems, ./configure names them. To be sourced by bash.

build_packages="build-essential autoconf automake pkgconf libcups2-dev
libcurl4-openssl-dev libcjson-dev libgnutls28-dev libseccomp-dev libssl-dev
libbsd-dev libjpeg-dev libpng-dev libdeflate-dev libgif-dev libqpdf-dev
libtiff-dev libmicrohttpd-dev
libcairo2-dev libfreetype-dev libfontconfig-dev libfribidi-dev libpoppler-glib-dev
zlib1g-dev libcmocka-dev libsystemd-dev libnotify-dev cups-ppdc"
run_packages="cups cups-filters cups-client cups-ipp-utils ghostscript qpdf
poppler-utils fonts-dejavu-core jq curl openssl mandoc"
test_packages="xz-utils locales git python3 python3-jsonschema dbus-daemon"
# What only ./test.sh --rest runs: tests/checks/, and tests/long/metrics.sh
# (promtool), hl7.sh, and network.sh.
rest_packages="clang-format codespell mypy pyflakes3 shellcheck prometheus
python3-hl7 avahi-daemon cups-browsed iproute2"
# What only ./test.sh --nightly runs: clang-tidy, servers, the programs that people print
# from, and a desktop. Packages of others have node and npm in one.
nightly_packages="clang-tidy swift swift-proxy swift-account swift-container
swift-object memcached haproxy nginx-light squid tinyproxy-bin apache2-utils
mupdf-tools nftables dnsmasq-base e2fsprogs iproute2 valgrind libreoffice-writer libreoffice-calc libreoffice-gtk3
libreoffice-base libreoffice-base-drivers python3-uno chromium chromium-driver
python3-gi python3-gi-cairo gir1.2-gtk-3.0 xvfb dunst
default-jdk-headless libharfbuzz0b cups-bsd firefox-esr wine xdotool"
command -v npm > /dev/null || nightly_packages+=" nodejs npm"

missing_packages() # PACKAGE...: prints those that are not installed
{
  local p
  for p in "$@"; do
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2> /dev/null)" = installed ] ||
      printf ' %s' "$p"
  done
}

# sudo asks for the password on the terminal, whatever stdin is. Without a
# terminal it must not ask at all.
as_root()
{
  if [ "$(id -u)" = 0 ]; then
    "$@"
  elif (: < /dev/tty) 2> /dev/null; then
    # shellcheck disable=SC2024
    sudo "$@" < /dev/tty
  else
    sudo -n "$@"
  fi
}

# The system's scheduler is not needed: if it is installed only now, it is not
# started. The text comes from a file because stdin is for the password.
no_service_start()
{
  local policy status
  [ ! -e /usr/sbin/policy-rc.d ] || return 1
  policy=$(mktemp) || return
  printf '#!/bin/sh\nexit 101\n' > "$policy"
  as_root install -m 755 "$policy" /usr/sbin/policy-rc.d
  status=$?
  rm -f "$policy"
  return "$status"
}

install_missing() # PACKAGE...: false, with the reason, if it cannot
{
  local missing policy status
  command -v apt-get > /dev/null || return 0
  missing=$(missing_packages "$@")
  [ -n "$missing" ] || return 0
  if [ "$(id -u)" != 0 ] && ! command -v sudo > /dev/null; then
    echo "Packages are missing, and there is no sudo. As root:" >&2
    echo "  apt-get install$missing" >&2
    return 1
  fi
  echo "Installing$missing"
  no_service_start && policy=1
  [ -n "${apt_is_updated-}" ] ||
    { as_root apt-get -q update > /dev/null && apt_is_updated=1; }
  # shellcheck disable=SC2086
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get -qq install -y --no-install-recommends $missing > /dev/null
  status=$?
  [ -z "${policy-}" ] || as_root rm -f /usr/sbin/policy-rc.d
  [ "$status" = 0 ] || echo "apt-get could not install$missing" >&2
  return "$status"
}
