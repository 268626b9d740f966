"""Tests; a package, so that helpers are imported by full name and files of one name in two folders do not clash."""
