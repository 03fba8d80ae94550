#!/bin/sh
# Install a locked environment: `envs/setup.sh PYTHON FOLDER [dev]`, called by `make setup` at the project's root, or
# `envs/setup.sh PYTHON FOLDER comet`, called by `mdnmt comet --make-environment` in any folder.
# TORCH=cpu or TORCH=cuda chooses the build of torch, EXTRAS=export,pretrained adds optional parts. An environment whose
# packages differ from the lock gets the locked ones. Two calls at once do the work once: the second waits for the first.
set -eu
python=$1
folder=$2
also=${3:-}
here=$(dirname "$0")
lock=$here/lock
base=run
project=pyproject.toml
case $also in
    dev) also="export pretrained dev" ;;
    comet) base=comet project="" also="" ;;
esac

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null || echo "no Python"
}
# COMET's may be another Python than the one that asks for it.
if [ $base = comet ]; then
    for other in "$folder/bin/python" "$python" python3.12 python3.11; do
        case $(version_of "$other") in 3.11 | 3.12) python=$other && break ;; esac
    done
fi
# The pins have wheels for these versions; with any other, numpy would be compiled from source for many minutes.
version=$(version_of "$python")
case $base-$version in
    run-3.11 | run-3.12 | run-3.13 | comet-3.11 | comet-3.12) ;;
    comet-*)
        echo "mdnmt: found $version ($python), expected Python 3.11 or 3.12 for COMET; install one, so that the command python3.12 starts it" >&2
        exit 2
        ;;
    *)
        echo "mdnmt: found $version ($python), expected Python 3.11, 3.12 or 3.13; name one: make PYTHON=python3.11" >&2
        exit 2
        ;;
esac
# Python's tools cannot install into such a folder, and Snakemake takes braces for wildcards.
case $PWD in
    *["{}\$:"]* | *"
"*)
        echo "mdnmt: $(printf %s "$PWD" | tr '\n' ' '): found a brace, a dollar sign, a colon or a line break in the project's path; rename or move the folder, then start again" >&2
        exit 2
        ;;
esac
torch=${TORCH:-}
case $torch in
    cpu | cuda | "") ;;
    *)
        echo "mdnmt: found TORCH=$torch, expected cpu or cuda" >&2
        exit 2
        ;;
esac
for extra in $(echo "${EXTRAS:-}" | tr ',' ' '); do
    case $extra in
        serve) ;; # every environment has it
        export | pretrained) also="$also $extra" ;;
        *)
            echo "mdnmt: found EXTRAS=$EXTRAS, expected some of serve, export, pretrained, with commas between" >&2
            exit 2
            ;;
    esac
done

mkdir -p "$folder"
# Not .lock, which uv locks itself.
exec 9> "$folder/setup.lock"
if command -v flock > /dev/null; then
    flock 9
fi
# Without a choice, the build of torch that is installed stays.
if [ -z "$torch" ]; then
    torch=$(cat "$folder/installed" 2> /dev/null) || torch=""
fi
# The Python that the folder was made with may have been removed or replaced since.
if [ -e "$folder/pyvenv.cfg" ] && ! "$folder/bin/python" -c 'import pip' 2> /dev/null; then
    "$python" -m venv --clear "$folder"
fi
# The stamp of a whole installation contains its build of torch.
is_whole() {
    # shellcheck disable=SC2086  # one file or none
    [ -e "$1" ] && [ -z "$(find "$lock" $project -newer "$1")" ] &&
        { [ -z "$torch" ] || [ "$torch" = "$(cat "$1")" ]; }
}
all_whole() {
    is_whole "$folder/installed" || return 1
    for part in $also; do
        is_whole "$folder/installed-$part" || return 1
    done
}
# Another pip may have installed into the environment since. What is installed beside the lock stays.
drifted() {
    set -- "$lock/$base.txt" "$lock/torch-$(cat "$folder/installed").txt"
    for part in $also; do
        set -- "$@" "$lock/$part.txt"
    done
    [ $base = comet ] || set -- "$@" --if-installed "$lock/export.txt" "$lock/pretrained.txt" "$lock/dev.txt"
    "$folder/bin/python" "$here/drift.py" "$@" > "$folder/drift.txt"
    [ -s "$folder/drift.txt" ]
}
found=""
if all_whole; then
    drifted || exit 0
    found=yes
fi
if [ -x "$folder/bin/python" ]; then
    before=$(version_of "$folder/bin/python")
    if [ "$before" != "$version" ]; then
        echo "mdnmt: $folder has Python $before, found $version ($python); remove $folder, then start again" >&2
        exit 2
    fi
fi
if [ -z "$torch" ]; then
    torch=cuda
    if [ ! -e /proc/driver/nvidia/version ] && ! command -v nvidia-smi > /dev/null; then
        torch=cpu
        echo "No NVIDIA driver found: installing torch without CUDA. For the other build: make setup TORCH=cuda"
    fi
fi

log=$folder/setup.log
uv() {
    "$folder/bin/uv" --no-config pip "$@" --quiet --python "$folder/bin/python" 2>> "$log"
}

# Every file is compared with its hash. Mirrors of any order will do, since only files with these hashes pass.
install_locked() {
    uv install --require-hashes --no-deps --index-strategy unsafe-best-match "$@"
}

# uv knows where the builds without CUDA are published; it looks there where no mirror of the user has one.
install_with_torch() {
    if ! install_locked "$@"; then
        [ "$torch" = cpu ] && grep -q 'No solution found' "$log" || return 1
        install_locked --torch-backend cpu "$@" || return 1
    fi
}

install_base() {
    "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --require-hashes \
        --requirement "$lock/uv.txt" 2>> "$log" || return 1
    install_with_torch --requirement "$lock/$base.txt" --requirement "$lock/torch-$torch.txt" || return 1
    [ $base = comet ] || uv install --no-deps --no-build-isolation --editable . || return 1
    echo "$torch" > "$folder/installed"
}

# A run that uses the environment at the same time is not disturbed: packages are only added.
install_parts() {
    for part in $also; do
        is_whole "$folder/installed-$part" || install_locked --requirement "$lock/$part.txt" || return 1
        echo "$torch" > "$folder/installed-$part"
    done
}

mend() {
    [ -n "$found" ] || drifted || return 0
    install_with_torch --requirement "$folder/drift.txt"
}

: > "$log"
is_whole "$folder/installed" || "$python" -m venv "$folder"
eval "$("$folder/bin/python" "$here/uv_mirrors.py")"
if ! { is_whole "$folder/installed" || install_base; } || ! install_parts || ! mend; then
    offline='connection broken|NewConnectionError|name resolution|dns error|network is unreachable|ProxyError|client error .Connect'
    if grep -q -i -E "$offline" "$log"; then
        echo "mdnmt: no network: the package index cannot be reached; check the connection or proxy, then start again" >&2
    else
        tail -n 5 "$log" >&2
        echo "mdnmt: the environment could not be installed; all messages are in $log" >&2
    fi
    exit 2
fi
