"""`make setup` sees packages that differ from the lock."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "envs"))

import drift

LOCK = "numpy==1.26.4 \\\n    --hash=sha256:aa\nml-dtypes==0.5.4 \\\n    --hash=sha256:bb\n"
WINDOWS = "colorama==0.4.6 ; sys_platform == 'win32' \\\n    --hash=sha256:cc\n"


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for name in ("numpy-1.26.4", "ml_dtypes-0.5.4", "torch-2.13.0+cpu"):
        (tmp_path / "site" / f"{name}.dist-info").mkdir(parents=True)
    return tmp_path / "site"


def found(site: Path, text: str, **options: Any) -> list[str]:
    lock = site.parent / "lock.txt"
    lock.write_text(text)
    return [why for _, why in drift.drift([lock], drift.installed({site}), **{"needed": True, **options})]


def test_an_environment_as_locked_has_no_drift(site: Path) -> None:
    assert found(site, LOCK + WINDOWS + "torch==2.13.0+cpu \\\n") == []


def test_another_version_and_what_is_missing_are_found(site: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (site / "numpy-1.26.4.dist-info").rename(site / "numpy-2.4.6.dist-info")
    assert found(site, LOCK + "scipy==1.0 \\\n") == ["numpy 2.4.6 (lock: 1.26.4)", "scipy missing (lock: 1.0)"]
    assert found(site, LOCK + "scipy==1.0 \\\n", needed=False) == ["numpy 2.4.6 (lock: 1.26.4)"]


def test_what_is_printed_can_be_installed(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("drift.sysconfig.get_path", lambda kind: str(site))
    found(site, LOCK.replace("1.26.4", "1.26.5"))
    drift.main([str(site.parent / "lock.txt"), "--if-installed", str(site.parent / "lock.txt")])
    out, err = capsys.readouterr()
    assert out == "numpy==1.26.5 \\\n    --hash=sha256:aa\n"
    assert err.count("\n") == 1 and "numpy 1.26.4 (lock: 1.26.5)" in err
