"""A measurement in a process of its own, whose memory and compiled kernels are nobody else's."""

import json
import subprocess
import sys


def in_new_process(module, **arguments):
    """What ``python -m module --measure JSON`` prints as JSON, in a fresh process."""
    command = [sys.executable, "-m", module, "--measure", json.dumps(arguments)]
    result = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)  # noqa: S603
    return json.loads(result.stdout)
