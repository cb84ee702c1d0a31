import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import pytest


@pytest.fixture(autouse=True)
def doctest_names(doctest_namespace):
    import keras

    import tfcap

    doctest_namespace.update(tfcap=tfcap, np=np, keras=keras)
