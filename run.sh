#!/usr/bin/env bash
# Installs what is missing, builds, and runs Saccade.
#   ./run.sh                      starts the server with the bundled model and prints its address
#   ./run.sh ask FILE "question"  runs that saccade command instead; every argument is passed on
set -euo pipefail
caller=$PWD
here=$(cd "$(dirname "$0")" && pwd)
build=$here/build/release
cd "$here"
mkdir -p build

tools/install_packages.sh

# Configure once; afterwards ninja itself finds out what changed.
if [[ ! -f $build/build.ninja ]]; then
  echo "Configuring ..." >&2
  cmake --preset release >"$here/build/configure.log" 2>&1 ||
    { cat "$here/build/configure.log" >&2; echo "Configuring failed." >&2; exit 1; }
fi
if [[ ! -x $build/saccade ]]; then echo "Building Saccade; the first time takes some minutes ..." >&2; fi
cmake --build "$build" --target saccade >"$here/build/build.log" 2>&1 ||
  { tail -n 60 "$here/build/build.log" >&2; echo "The build failed; the whole log is build/build.log." >&2; exit 1; }

export SACCADE_HOME=${SACCADE_HOME:-$here}
cd "$caller"  # file names in the arguments are the caller's
# Accepted tasks live with the data of the user, not under /tmp.
[[ $# -gt 0 ]] || set -- serve --data-dir "${XDG_DATA_HOME:-${HOME:-$here/build}/.local/share}/saccade"
exec "$build/saccade" "$@"
