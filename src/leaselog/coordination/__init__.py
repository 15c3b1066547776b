"""What survives: state machines that change only by replaying records. They decide; they neither encode nor store."""
