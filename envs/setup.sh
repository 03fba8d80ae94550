#!/bin/sh
# Install the pinned environment: `envs/setup.sh PYTHON FOLDER`, called by `make setup` at the project's root.
# Two calls at once do the work once: the second waits for the first.
set -eu
python=$1
folder=$2

# The pins have wheels for these versions; with any other, pip would compile numpy from source for many minutes.
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || version="no Python"
case $version in
    3.11 | 3.12) ;;
    *)
        echo "mdnmt: found $version ($python), expected Python 3.11 or 3.12; name one: make PYTHON=python3.11" >&2
        exit 2
        ;;
esac

mkdir -p "$folder"
exec 9> "$folder/.lock"
if command -v flock > /dev/null; then
    flock 9
fi
if [ -e "$folder/installed" ] && [ -z "$(find envs/requirements.txt pyproject.toml -newer "$folder/installed")" ]; then
    exit 0
fi
if [ -x "$folder/bin/python" ]; then
    before=$("$folder/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null) || before="none"
    if [ "$before" != "$version" ]; then
        echo "mdnmt: $folder has Python $before, found $version ($python); remove $folder, then start make again" >&2
        exit 2
    fi
fi

install() {
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check "$@" 2>> "$folder/setup.log"
}

: > "$folder/setup.log"
"$python" -m venv "$folder"
if ! install -r envs/requirements.txt || ! install --no-deps --no-build-isolation -e .; then
    if grep -q -i -E 'connection broken|NewConnectionError|name resolution|network is unreachable|ProxyError' "$folder/setup.log"; then
        echo "mdnmt: no network: pip cannot reach its package index; check the connection or proxy, then start make again" >&2
    else
        tail -n 5 "$folder/setup.log" >&2
        echo "mdnmt: pip could not install the environment; all that it said is in $folder/setup.log" >&2
    fi
    exit 2
fi
touch "$folder/installed"
