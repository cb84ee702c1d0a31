"""Truth of captions of the embedded world: claims, facts, and what holds."""

from reproduce.world.truth.answers import answer_truth
from reproduce.world.truth.claims import Claims
from reproduce.world.truth.claims import Happening
from reproduce.world.truth.claims import Mention
from reproduce.world.truth.facts import Facts
from reproduce.world.truth.judgement import Judgement
from reproduce.world.truth.judgement import judge_claims
from reproduce.world.truth.questions import fact_weights
from reproduce.world.truth.questions import read_answers
from reproduce.world.truth.questions import true_answers
from reproduce.world.truth.questions import usual_answers
from reproduce.world.truth.reader import claim_places
from reproduce.world.truth.reader import read_caption
from reproduce.world.truth.scores import MEASURES
from reproduce.world.truth.scores import Truth
