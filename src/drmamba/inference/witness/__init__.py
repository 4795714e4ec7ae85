"""The witness: a second opinion on a result that owes nothing to the network.

It measures what is clearly darker than its surroundings (`structures`) and compares that with the result, both ways
(`judging`): what is missing, and what is ink without a cause.
"""

from drmamba.inference.witness.judging import Comparison, Verdict, Witness
from drmamba.inference.witness.structures import Structures

__all__ = ["Comparison", "Structures", "Verdict", "Witness"]
