"""Published methods as functions of networks that return a Keras model.

Each takes built networks and hyperparameters, and returns a
`tfcap.training.JointTraining` of the networks that learn, for `compile()`
with an optimizer for each and `fit()` on what Keras' `fit` takes. Annealed
hyperparameters are schedules of the step. Methods that differ in
hyperparameters alone are presets: they share one function.

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

Arguments that they share:

- `speaker`, `generator`: `tfcap.decoding.Speaker` that is a `keras.Model`,
  built;
- `listener`: `keras.Model`, built, with `embed_images()` and `embed_texts()`,
  as in `tfcap.rewards.Retrieval`;
- `reward`: `tfcap.rewards.Reward`, such as `CIDErD`, or a function of strings;
- `global_clipnorm`: float or `None`, norm to clip the gradient of each network
  to;
- with sampled words, `max_length=16`: integer `T`, maximum number of words,
  end token included; `suppress=()`: tuple of integers, ids that are never
  generated, such as the unknown word's; `seed`: integer;
- with a listener, `margin=0.2`: float, of its hinge loss;
  `negatives="hardest"`, `same`: as in `tfcap.rewards.Retrieval`.

They raise a `TypeError` if a network has another type or an argument is
unknown, and a `ValueError` if a network is not built or a value is out of
range.
"""

from tfcap.methods.cooperative import frozen_listener
from tfcap.methods.cooperative import frozen_speaker
from tfcap.methods.cooperative import psst
from tfcap.methods.cooperative import reinforce
from tfcap.methods.cooperative import sr_pl
from tfcap.methods.cooperative import straight_through
from tfcap.methods.dialogs import dialog_mle
from tfcap.methods.dialogs import gan1
from tfcap.methods.dialogs import gan2
from tfcap.methods.dialogs import gdis
from tfcap.methods.dialogs import n_pair
from tfcap.methods.distinctive import g_gan
from tfcap.methods.distinctive import retriever_ensemble
from tfcap.methods.distinctive import rl
from tfcap.methods.distinctive import wtf
from tfcap.methods.distinctive import wtf_rl
from tfcap.methods.groups import dapo
from tfcap.methods.groups import dpo
from tfcap.methods.groups import dr_grpo
from tfcap.methods.groups import gdpo
from tfcap.methods.groups import grpo
from tfcap.methods.groups import gspo
from tfcap.methods.groups import ipo
from tfcap.methods.groups import ppo
from tfcap.methods.groups import rloo
from tfcap.methods.groups import simpo
from tfcap.methods.groups import structured
from tfcap.methods.policies import actor_critic
from tfcap.methods.policies import mixer
from tfcap.methods.policies import mle
from tfcap.methods.policies import policy_gradient
from tfcap.methods.policies import scst
from tfcap.methods.policies import sll
from tfcap.methods.policies import sll_me
from tfcap.methods.policies import sll_sle
