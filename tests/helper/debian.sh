# debian.sh - determines the package mirror of this machine, to install another
# Debian from it. To be sourced by bash.

# Lines of "URI SUITE COMPONENT", as apt on this machine knows them. For another
# release (CODENAME), the same places.
debian_sources() # [CODENAME]
{
  local own
  own=$(. /etc/os-release && echo "$VERSION_CODENAME")
  apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' \
    'Created-By: Packages' |
    awk -v own="$own" -v other="${1:-$own}" \
      '$2 == own || index($2, own "-") == 1 { sub(own, other, $2); print }' |
    sort -u
}

# A minimal Debian, with more packages if they are given.
make_debian() # CODENAME DIRECTORY [PACKAGE...]
{
  local codename=$1 dir=$2 mirror
  shift 2
  mirror=$(debian_sources "$codename" |
    awk -v s="$codename" '$2 == s { print $1; exit }')
  if [ -z "$mirror" ]; then
    echo "apt knows no mirror of $codename" >&2
    return 1
  fi
  debootstrap --variant=minbase \
    --include="$(IFS=,; echo "${*:-ca-certificates}")" \
    --components="$(debian_sources "$codename" | cut -d ' ' -f 3 | sort -u |
      paste -sd,)" "$codename" "$dir" "$mirror" || return
  debian_sources "$codename" | sed 's/^/deb /' > "$dir/etc/apt/sources.list"
  # The new system reaches the mirror as this machine does.
  apt-config dump | grep -E '^Acquire::(Check-|http|https|Retries)' \
    > "$dir/etc/apt/apt.conf.d/50mirror"
  # This cupsd crashes if an option has a blank (doc/cups.md).
  printf '%s\n' 'Package: src:cups' 'Pin: version 2.4.2-3+deb12u10' \
    'Pin-Priority: -1' > "$dir/etc/apt/preferences.d/cups"
  cp /etc/resolv.conf /etc/hosts "$dir/etc/"
  # It does not have to survive a power failure.
  echo force-unsafe-io > "$dir/etc/dpkg/dpkg.cfg.d/unsafe-io"
}
