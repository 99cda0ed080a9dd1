"""What joins a run to its reports: the launcher, and what wakes up inside the launched process; and plugins."""
