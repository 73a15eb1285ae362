"""Before a suite trains: what it would cost, whether it runs on this machine, and what would stop it."""
