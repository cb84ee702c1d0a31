"""Whether this system has network namespaces to give, and who asks for one."""

import sys

from tfcap.cluster.network_namespace import NetworkNamespace

#: Runs the program that follows, without root's right to administrate:
#: prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN).
WITHOUT_ADMINISTRATION = [
    *(sys.executable, "-I", "-S", "-c"),
    "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 21);"
    "os.execvp(sys.argv[1], sys.argv[1:])",
]


def refusal():
    """Why there is no network namespace, or an empty string."""
    try:
        NetworkNamespace().close()
    except OSError as error:
        return f"this system gives no network namespace: {error}"
    return ""


def own_network_options():
    """Options with which workers of this machine are started here."""
    return ["--trusted-network"] if refusal() else []
