# relay.sh - connections that are relayed. To be sourced by bash.

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
