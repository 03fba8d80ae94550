"""What pyproject.toml cannot say: a wheel also has the workflow and its configuration, which are beside `src`."""

from __future__ import annotations

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

# In a checkout -> in `mdnmt/project/` of a wheel, where `mdnmt.workspace` finds it.
PARTS = {
    "Snakefile": "Snakefile",
    "workflow/rules": "workflow/rules",
    "workflow/report": "workflow/report",
    "workflow/profiles": "profiles",
    "config": "config",
    "envs": "envs",
    "LICENSE": "LICENSE",
}
OF_THIS_MACHINE = ("*.own.lock.yaml", "__pycache__")  # git ignores these too


class BuildWithWorkflow(build_py):
    """Copies these parts beside the modules. An editable installation needs no copy."""

    def run(self) -> None:
        """Copy the modules, then the parts."""
        super().run()
        if self.editable_mode:
            return
        project = Path(self.build_lib, "mdnmt", "project")
        shutil.rmtree(project, ignore_errors=True)  # of an earlier build
        for part, place in PARTS.items():
            target = project / place
            target.parent.mkdir(parents=True, exist_ok=True)
            if Path(part).is_dir():
                shutil.copytree(part, target, ignore=shutil.ignore_patterns(*OF_THIS_MACHINE))
            else:
                shutil.copy(part, target)


setup(cmdclass={"build_py": BuildWithWorkflow})
