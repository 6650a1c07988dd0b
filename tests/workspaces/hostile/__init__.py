"""A package, so that its modules are imported as they are. What each does to its process stands at its top."""
