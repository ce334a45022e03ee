"""The rules: each turns results into a verdict on a claim, is written once, and is data (its fields are hashed).

A rule finds cases, one per regime or comparison. A case has effects with 95 % intervals and two one-sided tests, for and against
the claim; it *agrees* or *disagrees* where one of them is below 2.5 % after Holm's correction over the cases of the claim, else it
*cannot be told*. Seeds are paired: run s of one arm and run s of another share their data and their initial weights. Equivalence
is shown by tests against both ends of a range, never by a large p. The statistics are in `grokscope.analysis`.
"""

from ..settle import ALPHA as ALPHA
from ..settle import FEWEST as FEWEST
from ..settle import Rule as Rule
from .made_of_rules import Conditional as Conditional
from .made_of_rules import Custom as Custom
from .made_of_rules import InEach as InEach
from .made_of_rules import InRegimes as InRegimes
from .made_of_rules import NotTested as NotTested
from .made_of_rules import Reached as Reached
from .made_of_rules import in_regimes as in_regimes
from .numbers import Correlated as Correlated
from .numbers import Greater as Greater
from .numbers import Less as Less
from .numbers import PowerLaw as PowerLaw
from .numbers import WithinRange as WithinRange
from .shares import BestShareAtLeast as BestShareAtLeast
from .shares import ShareAtLeast as ShareAtLeast
from .shares import ShareAtMost as ShareAtMost
from .times import PAIRED as PAIRED
from .times import Alike as Alike
from .times import Differ as Differ
from .times import Fastest as Fastest
from .times import NoLater as NoLater
from .times import Sooner as Sooner
