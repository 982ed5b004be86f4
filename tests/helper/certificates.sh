# certificates.sh - certificates of private authorities, in $dir. To be sourced by
# bash; the sourcing script sets dir.
# shellcheck disable=SC2154

new_key() # FILE OPTION...: of `openssl req`
{
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes \
    -keyout "$1" "${@:2}" 2> "$dir/openssl.err"
}

# NAME.key and NAME.pem. With alternative names, it is also one of a server.
authority() # NAME [NAMES]
{
  new_key "$dir/$1.key" -x509 -days 2 -subj "/CN=$1" \
    ${2:+-addext "subjectAltName=$2"} -out "$dir/$1.pem"
  chmod 644 "$dir/$1.pem"
}

# Signed, for these alternative names. OPTION: of `openssl x509`, e.g. its times.
certificate() # AUTHORITY NAME NAMES [OPTION...]
{
  local times=("${@:4}")
  [ $# -gt 3 ] || times=(-days 2)
  new_key "$dir/$2.key" -subj /CN=service -out "$dir/$2.csr"
  openssl x509 -req -in "$dir/$2.csr" -CA "$dir/$1.pem" -CAkey "$dir/$1.key" \
    -CAcreateserial "${times[@]}" -extfile <(echo "subjectAltName=$3") \
    -out "$dir/$2.pem" 2> "$dir/openssl.err"
}
