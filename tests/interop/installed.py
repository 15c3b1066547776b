"""leaselog as its users have it: a wheel, installed into an empty environment, run far from the checkout.

Versions are those of the lock files, so that nothing changes under a test because somebody has published something.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from interop.broker_process import CHECKOUT

__all__ = ["Environment", "build_wheel", "constraints"]

PINNED = re.compile(r"^([a-z0-9-]+==[^ ]+(?: ; [^\\\n]+)?)", re.MULTILINE)
#: for whoever starts a program: what this process has found its own modules by is not for it
OURS = ("PYTHONPATH", "VIRTUAL_ENV", "MYPYPATH")


def build_wheel(folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def constraints(folder: Path, *locks: str) -> Path:
    """The versions of these lock files without their hashes, which a wheel that was just built cannot have."""
    path = folder / f"{'-'.join(locks)}.txt"
    path.write_text("\n".join(one for lock in locks for one in PINNED.findall((CHECKOUT / lock).read_text())))
    return path


class Environment:
    """A virtual environment with what is asked for and nothing else, not even pip; programs run in ``home``."""

    def __init__(self, folder: Path, constraints: Path) -> None:
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        venv = folder / "venv"
        self._constraints = constraints
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(venv)], check=True)
        self.programs = venv / "bin"
        self.python = str(self.programs / "python")

    @property
    def variables(self) -> dict[str, str]:
        """As after `activate`."""
        inherited = {name: value for name, value in os.environ.items() if name not in OURS}
        path = f"{self.programs}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**inherited, "PATH": path, "PYTHONUNBUFFERED": "1"}

    def install(self, *what: str) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "install", "--quiet", "--no-compile"]
        command += ["--only-binary", ":all:", "--constraint", str(self._constraints), *what]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr

    def installed(self) -> set[str]:
        code = "from importlib.metadata import distributions as d; print(*(one.name for one in d()))"
        return set(self.run("python", "-c", code).stdout.split())

    def run(
        self, *command: str, cwd: Path | None = None, is_to_fail: bool = False, timeout_s: float = 120
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            command,
            cwd=cwd or self.home,
            env=self.variables,
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
        assert (done.returncode != 0) is is_to_fail, done.stdout + done.stderr
        return done
