"""Which files are read: discover, exclusion, gitignore, config, tree; which of them were read before: cache."""
