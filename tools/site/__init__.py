"""The documentation site (`make site`): hooks of mkdocs, and the pages that are generated when it is built."""
