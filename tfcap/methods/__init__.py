"""Published methods as functions of networks that return a Keras model."""

from tfcap.methods.dialog_mle import dialog_mle
from tfcap.methods.gan1 import gan1
from tfcap.methods.gan2 import gan2
from tfcap.methods.gdis import gdis
from tfcap.methods.n_pair import n_pair
from tfcap.methods.psst import psst
