# certificates.sh - certificates of private authorities, and connections that are
# relayed.
#
# To be sourced by bash after lib.sh.

authority() # NAME
{
  openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" \
    -keyout "$dir/$1.key" -out "$dir/$1.pem" 2> "$dir/openssl.err"
  chmod 644 "$dir/$1.pem"
}

certificate() # AUTHORITY FILE NAMES: signed, for these alternative names
{
  openssl req -newkey rsa:2048 -nodes -subj /CN=service -keyout "$2.key" \
    -out "$2.csr" 2> "$dir/openssl.err"
  openssl x509 -req -in "$2.csr" -CA "$dir/$1.pem" -CAkey "$dir/$1.key" \
    -CAcreateserial -days 2 -extfile <(echo "subjectAltName=$3") \
    -out "$2.pem" 2> "$dir/openssl.err"
}

# Relays connections, and prints its port. PERL: from the client $a to the
# socket at the other end.
relay() # PERL [ARGUMENT...]
{
  exec perl -MIO::Socket::INET -MIO::Select -e '
    sub connect_for { my ($a) = @_; '"$1"' }
    my $in = IO::Socket::INET->new(Listen => 9, LocalAddr => "127.0.0.1");
    $| = 1;
    alarm 600; # if the test is interrupted
    $SIG{CHLD} = "IGNORE";
    print $in->sockport, "\n";
    while (my $a = $in->accept) {
      next if fork;
      my $b = connect_for($a) or exit;
      my $select = IO::Select->new($a, $b);
      while (1) {
        for my $from ($select->can_read) {
          sysread $from, my $bytes, 65536 or exit;
          syswrite $from == $a ? $b : $a, $bytes;
        }
      }
    }' "${@:2}"
}
