"""Search: find the tokens that matter by racing hypotheses about them.

Candidates are supports (`grokscope.supports`); each is tested by a run with a KL prior towards it. They are judged on validation
examples taken from the training set; the winner is tested once on further examples that nothing else has seen. Test examples
decide nothing.
"""

from .api import search
from .settings import SearchSettings
from .tournament import Tournament

__all__ = ["SearchSettings", "Tournament", "search"]
