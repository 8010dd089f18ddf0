"""Constraints for pip that install the oldest version of every dependency that pyproject allows.

``python tests/oldest.py > oldest.txt; pip install -c oldest.txt ".[test]"``
"""

import re
import tomllib
from pathlib import Path

PYPROJECT = Path(__file__).parents[1] / "pyproject.toml"
LEAST = re.compile(r"(?P<name>[\w.-]+)(\[[^]]*])?>=(?P<version>[\w.]+)")


def oldest(extras=("dask", "onnx", "test")):
    """Lines ``name==version`` of what is required and of some extras, each once.

    Raises
    ------
    ValueError
        If a dependency states no least version.
    """
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    lines = {}
    for part in (project["dependencies"], *(project["optional-dependencies"][e] for e in extras)):
        for dependency in part:
            found = LEAST.match(dependency)
            if found is None:
                raise ValueError(f"{dependency!r} has no least version in {PYPROJECT.name}.")
            lines[found["name"]] = f"{found['name']}=={found['version']}"
    return sorted(lines.values())


if __name__ == "__main__":
    print("\n".join(oldest()))
