"""The files of a check: three, whatever it measures, and copies of them as they come."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from gpu_check.report import Report

REPORT, RESULTS, LOG = "report.md", "results.json", "log.txt"


class KeptFiles:
    """Each file is whole at any moment, also in the copies, so that whatever ends the check leaves all results but
    those of the last seconds."""

    def __init__(self, out: Path, copies: Path | None):
        self.out, self._copies = out, copies
        out.mkdir(parents=True, exist_ok=True)
        self.log = (out / LOG).open("w")

    def write(self, report: Report) -> None:
        self._replace(self.out / REPORT, report.markdown())
        self._replace(self.out / RESULTS, report.json())
        if self._copies:
            self._copy(self._copies)

    def _copy(self, folder: Path) -> None:
        """Where that fails, the results here are to be kept all the same."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for name in (REPORT, RESULTS, LOG):
                shutil.copyfile(self.out / name, folder / "part")
                os.replace(folder / "part", folder / name)
        except OSError as error:
            print(f"gpu-check: {folder}: {error}", file=sys.stderr, flush=True)

    @staticmethod
    def _replace(path: Path, text: str) -> None:
        part = path.with_name("part")
        part.write_text(text)
        os.replace(part, path)
