"""Pages are tested as doctests; the site's configuration and its examples are no tests."""

collect_ignore_glob = ["*.py", "examples/*", "gallery/*", "api/*", "_build/*"]
