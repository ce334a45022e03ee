"""grokscope: an instrument for grokking."""
