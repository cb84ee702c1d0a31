"""The register of claims: which hold by the records, and by new runs."""

from reproduce.evidence.check import check_claim
from reproduce.evidence.check import claims_of
from reproduce.evidence.check import straddling
from reproduce.evidence.claim import Claim
from reproduce.evidence.quantity import Quantity
from reproduce.evidence.register import Page
from reproduce.evidence.register import Run
from reproduce.evidence.register import load_pages
from reproduce.evidence.register import load_runs
from reproduce.evidence.verdict import Registered
from reproduce.evidence.verdict import judge
