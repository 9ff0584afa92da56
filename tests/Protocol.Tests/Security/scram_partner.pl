# Plays one side of a SCRAM-SHA-256 exchange with Debian's libauthen-scram-perl, which knows nothing of ours.
#   scram_partner.pl client USER PASSWORD              messages of the server on standard input, its own on output
#   scram_partner.pl server USER SALT KEY KEY COUNT    StoredKey and ServerKey; hexadecimal
use strict;
use warnings;
use open qw(:std :encoding(UTF-8));
use Encode qw(decode_utf8);

$| = 1;
my ($role, $user, @rest) = map { decode_utf8($_) } @ARGV;

sub hear { my $line = <STDIN>; die "no more\n" unless defined $line; chomp $line; return $line; }

if ($role eq 'client') {
    require Authen::SCRAM::Client;
    my $client = Authen::SCRAM::Client->new(username => $user, password => $rest[0], digest => 'SHA-256');
    print $client->first_msg, "\n";
    print $client->final_msg(hear()), "\n";
    $client->validate(hear());
    print "validated\n";
} else {
    require Authen::SCRAM::Server;
    my ($salt, $stored, $key) = map { pack 'H*', $_ } @rest[0 .. 2];
    my $server = Authen::SCRAM::Server->new(
        digest        => 'SHA-256',
        credential_cb => sub { return $_[0] eq $user ? ($salt, $stored, $key, $rest[3]) : () },
    );
    print $server->first_msg(hear()), "\n";
    print $server->final_msg(hear()), "\n";
    print 'admitted ', $server->authorization_id, "\n";
}
