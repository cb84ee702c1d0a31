"""Published methods as functions of networks that return a Keras model.

Each takes built networks and numbers, and returns a
`tfcap.training.JointTraining`, for `compile()` with an optimizer for each who
learns and `fit()` on what Keras' `fit` takes. What is annealed is given as a
schedule of the step.

| function | published as | paper | who learns |
|---|---|---|---|
| `mle` | teacher forcing, scheduled sampling | NIPS 2015 | speaker |
| `scst` | SCST, and the naturalness term of PSST | CVPR 2017 | speaker |
| `psst` | PSST Multinomial, PSST Gumbel | ICCV 2019 | speaker, listener |
| `straight_through` | ST Multinomial, ST Gumbel (Annealed) | ICCV 2019 | both |
| `reinforce` | REINFORCE | ICCV 2019 | both, in turns |
| `frozen_listener` | Luo et al. 2018 | CVPR 2018 | speaker |
| `sr_pl` | SR-PL | ECCV 2018 | speaker |
| `frozen_speaker` | Table 3 of PSST | ICCV 2019 | listener |
| `g_gan` | G-GAN | ICCV 2017 | speaker, evaluator |
| `sll`, `sll_me`, `sll_sle` | SLL, SLL-ME, SLL-SLE | CVPR 2020 | speaker |
| `policy_gradient` | PG-BCMR, PG-SPIDEr, ... | ICCV 2017 | speaker, baseline |
| `mixer` | MIXER | ICLR 2016 | speaker, baseline |
| `wtf_rl`, `wtf`, `rl` | WTF-RL, WTF, RL | 2024 | speaker, discriminator |
| `grpo`, `dr_grpo` | GRPO, Dr. GRPO | 2024, 2025 | speaker |
| `dapo`, `gspo`, `gdpo` | DAPO, GSPO, GDPO | 2025, 2026 | speaker |
| `rloo`, `ppo` | RLOO, PPO without a critic | 2019, 2017 | speaker |
| `retriever_ensemble` | this project's | - | speaker |
| `actor_critic` | A2C with GAE | ICLR 2016 | speaker, baseline |
| `dpo`, `ipo`, `simpo` | DPO, IPO, SimPO | 2023, 2024 | speaker |
| `structured` | minimum risk, margins | NAACL 2018 | speaker |
| `dialog_mle` | LF-G, HREA-G, MN-G, HCIAE-G-MLE | NIPS 2017 | generator |
| `n_pair` | HCIAE-D-MLE, D-NP, D-NP-ATT | NIPS 2017 | discriminator |
| `gdis` | HCIAE-G-DIS | NIPS 2017 | generator |
| `gan1`, `gan2` | HCIAE-GAN1, HCIAE-GAN2 | NIPS 2017 | both |
"""

from tfcap.methods.actor_critic import actor_critic
from tfcap.methods.dialog_mle import dialog_mle
from tfcap.methods.dpo import dpo
from tfcap.methods.dpo import ipo
from tfcap.methods.dpo import simpo
from tfcap.methods.frozen_listener import frozen_listener
from tfcap.methods.frozen_speaker import frozen_speaker
from tfcap.methods.g_gan import g_gan
from tfcap.methods.gan1 import gan1
from tfcap.methods.gan2 import gan2
from tfcap.methods.gdis import gdis
from tfcap.methods.grpo import dapo
from tfcap.methods.grpo import dr_grpo
from tfcap.methods.grpo import gdpo
from tfcap.methods.grpo import grpo
from tfcap.methods.grpo import gspo
from tfcap.methods.mixer import mixer
from tfcap.methods.mle import mle
from tfcap.methods.n_pair import n_pair
from tfcap.methods.policy_gradient import policy_gradient
from tfcap.methods.psst import psst
from tfcap.methods.reinforce import reinforce
from tfcap.methods.retriever_ensemble import retriever_ensemble
from tfcap.methods.rloo import ppo
from tfcap.methods.rloo import rloo
from tfcap.methods.scst import scst
from tfcap.methods.sll import sll
from tfcap.methods.sll import sll_me
from tfcap.methods.sll import sll_sle
from tfcap.methods.sr_pl import sr_pl
from tfcap.methods.straight_through import straight_through
from tfcap.methods.structured import structured
from tfcap.methods.wtf_rl import rl
from tfcap.methods.wtf_rl import wtf
from tfcap.methods.wtf_rl import wtf_rl
