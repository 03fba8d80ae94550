"""Build a task's data stage by stage: text, tokens, codes, arrays. What is made already is not made again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from mdnmt.corpora.temporary_folder import partial_folder
from mdnmt.tasks.arrays_stage import make_arrays
from mdnmt.tasks.codes_stage import make_codes
from mdnmt.tasks.stage_folder import Say, make_once, publish, stage_folder
from mdnmt.tasks.task_data import MANIFEST
from mdnmt.tasks.task_lock import Splits
from mdnmt.tasks.task_spec import ARRAYS, STAGES, TaskSpec
from mdnmt.tasks.text_stage import make_text
from mdnmt.tasks.tokens_stage import make_tokens
from mdnmt.tasks.workers import workers


def build_task(
    spec: TaskSpec,
    corpora: Path,
    out: Path,
    jobs: int = 1,
    say: Say = lambda line: None,
    stages: Sequence[str] = (*STAGES, ARRAYS),
    accept: Callable[[Splits], object] = lambda splits: None,
) -> None:
    """Make the data of a task from fetched corpora; `jobs` does not change the result by a byte.

    Worker processes handle the text chunk by chunk; between stages it is on disk. The first three stages have
    folders of their own below the folder that `out` is in, and are made once, for all tasks that share them.

    Args:
        spec: the task.
        corpora: the folder with a subfolder for each fetched corpus.
        out: the task's folder; existing files in it stay until everything is made.
        jobs: number of processes.
        say: called with lines that report progress.
        stages: which stages to make; those before them must be there.
        accept: raises an error if the text of the task is not the one that is expected.

    Raises:
        TooLarge: there is not enough disk space for the pairs.
        DataError: a corpus or an earlier stage is missing or damaged, or there is too little text; the message says
            where and what to do.
    """
    folder = {stage: stage_folder(out.parent, spec, stage) for stage in STAGES}
    text, tokens = folder["text"], folder["tokens"]
    with workers(jobs) as run:
        make = {
            "text": lambda part: make_text(spec, corpora, text, part, run, say),
            "tokens": lambda part: make_tokens(spec, text, tokens, part, run),
            "codes": lambda part: make_codes(spec, tokens, part, run, say),
        }
        for stage in STAGES:
            if stage in stages:
                make_once(folder[stage], spec, make[stage])
        if ARRAYS in stages:
            with partial_folder(out) as part:
                facts = make_arrays(spec, out, part, run, say, accept)
                publish(part, out / MANIFEST, facts)
