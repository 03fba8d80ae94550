#!/usr/bin/env bash
# Install the toolkits that we are measured against, each into an environment of its own:
#   benchmarks/peers/install.sh               all of them
#   benchmarks/peers/install.sh eole sockeye  some
# A line at the end names those that could not be installed. Not here: fairseq (its newest version is in no registry)
# and Marian (a C++ program to be built from source).
set -uo pipefail
cd "$(dirname "$0")"
PYTHON=${PYTHON:-python3}
wanted=("$@")
[ ${#wanted[@]} -gt 0 ] || wanted=(eole opennmt-py sockeye joeynmt hugging-face ctranslate2)
failed=()
for name in "${wanted[@]}"; do
    folder="envs/$name"
    if [ -f "$folder/installed" ] && [ "$folder/installed" -nt "$name.txt" ]; then
        echo "$name: there"
        continue
    fi
    echo "$name: installing"
    if "$PYTHON" -m venv "$folder" &&
        "$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$name.txt" &&
        { [ ! -f "$name.no-deps.txt" ] ||
            "$folder/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps -r "$name.no-deps.txt"; }; then
        touch "$folder/installed"
    else
        failed+=("$name")
    fi
done
[ ${#failed[@]} -eq 0 ] || { echo "could not be installed: ${failed[*]}" && exit 1; }
