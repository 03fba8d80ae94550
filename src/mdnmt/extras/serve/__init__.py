"""Open a page that translates with finished runs and shows their decisions for each word."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import socket

LOOPBACK = ("127.0.0.1", "localhost", "::1")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="folder of a finished run")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    parser.add_argument("--port", type=int, default=8765, help="0: any free one (default: %(default)s)")
    parser.add_argument("--open", action="store_true", help="open the page in a browser")
    parser.add_argument("--beam-size", type=int, default=5, help="default: %(default)s")
    parser.add_argument("--max-characters", type=int, default=20_000, help="per text (default: %(default)s)")
    parser.add_argument("--max-sentence", type=int, default=1_000, help="characters (default: %(default)s)")
    parser.add_argument("--requests-per-minute", type=int, default=60, help="per client (default: %(default)s)")
    parser.add_argument("--pretrained", type=Path, default="resources/pretrained", help="folder of pretrained weights")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--threads", type=int, help="CPU threads; as many runs work at the same time (default: all)")


def run(args: argparse.Namespace) -> None:
    """Serve the page until Ctrl-C."""
    from mdnmt.config.decoding import Decoding
    from mdnmt.config.loader import validate_model
    from mdnmt.errors import ConfigError

    try:
        import starlette  # noqa: F401
        import uvicorn
    except ModuleNotFoundError as error:
        raise ConfigError(
            f"needs the package {error.name}, which is not installed; "
            "run `make setup EXTRAS=serve`, or `pip install '.[serve]'`, in a clone of the repository"
        ) from None
    for name in ("max_characters", "max_sentence", "requests_per_minute"):
        if (value := getattr(args, name)) < 1:
            raise ConfigError(f"found --{name.replace('_', '-')} {value}, expected 1 or more")
    if not 0 <= args.port <= 65_535:
        raise ConfigError(f"found --port {args.port}, expected 0 to 65535")
    validate_model({"beam_size": args.beam_size}, Decoding, "options")
    listener = _listen(args.host, args.port)
    with listener:
        import torch

        from mdnmt.extras.serve.app import create_app, server_config
        from mdnmt.extras.serve.requests import Limits
        from mdnmt.extras.serve.service import ServedRun, Service
        from mdnmt.train.device import SEED_OF_LOADING, choose_device, make_deterministic
        from mdnmt.training_code import say_other_code

        make_deterministic(SEED_OF_LOADING, args.threads)
        device = choose_device(args.device)
        runs = [ServedRun.load(folder, device, args.pretrained) for folder in dict.fromkeys(args.runs)]
        say_other_code(args.runs)
        limits = Limits(args.max_characters, args.max_sentence, args.requests_per_minute)
        service = Service(runs, limits, args.beam_size, torch.get_num_threads())
        any_name = args.host in ("0.0.0.0", "::")
        app = create_app(service, None if any_name else frozenset({args.host.lower(), *LOOPBACK}))
        listener.listen(128)  # clients that connect before the server starts wait
        _announce(args, listener.getsockname()[1])
        try:
            uvicorn.Server(server_config(app)).run(sockets=[listener])
        finally:
            service.close()


def _listen(host: str, port: int) -> socket.socket:
    """Return a bound socket, so that a port in use is reported before anything is loaded."""
    import socket

    from mdnmt.errors import ConfigError

    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(place)
    except OSError as error:
        reason = error.strerror or error
        raise ConfigError(
            f"cannot listen on port {port} of {host} ({reason}); choose another --port or --host"
        ) from None
    return listener


def _announce(args: argparse.Namespace, port: int) -> None:
    host = "127.0.0.1" if args.host in ("0.0.0.0", "::") else args.host
    address = f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
    print(f"Open {address} (Ctrl-C ends it)", flush=True)
    if args.host not in LOOPBACK:
        print("Everybody who reaches this address can use the page, without a password.", flush=True)
    if args.open:
        import webbrowser

        webbrowser.open(address)
