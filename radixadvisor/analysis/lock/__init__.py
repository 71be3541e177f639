"""The static prefix of each application: measured, kept in a lock file, and compared with a later log."""
