"""Start the command line so that Ctrl-C at any moment, also during imports and at exit, leaves one line."""

from __future__ import annotations

import sys

_CTRL_C = 130  # 128 + SIGINT


def main() -> int:
    """Run `mdnmt.cli.main` on the arguments of this process and return its status."""
    interrupted = False
    status = _CTRL_C
    try:
        import signal
        from types import FrameType

        def interrupt(number: int, frame: FrameType | None) -> None:
            nonlocal interrupted
            interrupted = True
            signal.default_int_handler(number, frame)

        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # ignored in a job in the background
            signal.signal(signal.SIGINT, interrupt)
        from mdnmt import cli

        status = cli.main()
    except KeyboardInterrupt:  # while modules were imported
        print("mdnmt: stopped by Ctrl-C", file=sys.stderr)
    except Exception:
        # A C extension whose import is interrupted raises an ImportError of its own (numpy, for example).
        if not interrupted:
            raise
        print("mdnmt: stopped by Ctrl-C", file=sys.stderr)
    if status == _CTRL_C:
        import signal

        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a second Ctrl-C ends the process at once, without a traceback
    return status


if __name__ == "__main__":
    sys.exit(main())
