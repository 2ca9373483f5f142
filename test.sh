#!/usr/bin/env bash
# Installs what is missing, checks the rules of CONTRIBUTING.md, builds, and runs every test.
#   ./test.sh            everything
#   ./test.sh --quick    without the sanitizer builds, which are also the clang build
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here"
mkdir -p build
quick=${1:-}
started=$SECONDS

say() { printf '\n== %s (%d s)\n' "$1" $((SECONDS - started)); }

say "packages"
tools/install_packages.sh --with-tests

say "layers, sizes, format"
python3 tools/check_layers.py
python3 tools/check_sizes.py
clang_format=$(command -v clang-format-14 || command -v clang-format)
git ls-files -z -- 'src/*.cc' 'src/*.h' 'tests/*.cc' 'fuzz/*.cc' 'benchmarks/*.cc' | xargs -0 "$clang_format" --dry-run -Werror
echo "format: clean"

# build PRESET [TARGET...]: configures once and builds; the log is shown when it fails.
build() {
  local preset=$1
  shift
  cmake --preset "$preset" >"build/$preset.log" 2>&1 || { cat "build/$preset.log"; return 1; }
  cmake --build "build/$preset" ${1:+--target "$@"} >>"build/$preset.log" 2>&1 || { tail -n 80 "build/$preset.log"; return 1; }
}

say "g++: optimised with assertions, warnings are errors"
build relcheck

say "kernel symbols"
python3 tools/check_isa_symbols.py build/relcheck

say "unit and integration tests"
ctest --test-dir build/relcheck --output-on-failure -j2 | tee build/ctest.log | tail -n 25
for isa in avx2 scalar; do
  say "integration tests with SACCADE_FORCE_ISA=$isa"
  SACCADE_FORCE_ISA=$isa ctest --test-dir build/relcheck --output-on-failure -L integration | tail -n 8
done

say "command line and server"
python3 -m venv .venv >/dev/null
.venv/bin/pip install -q --disable-pip-version-check -r tests/requirements.txt
SACCADE_BINARY=$here/build/relcheck/saccade .venv/bin/python -m pytest -q tests/e2e

if [[ $quick != --quick ]]; then
  say "clang, warnings are errors; AddressSanitizer + UBSan"
  build dev
  ASAN_OPTIONS=detect_leaks=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
    ctest --test-dir build/dev --output-on-failure -j2 | tail -n 8
  say "ThreadSanitizer: everything with threads of our own"
  build tsan base_tests server_tests integration_tests
  for tests in base_tests server_tests tests/integration_tests; do
    TSAN_OPTIONS="suppressions=$here/tests/tsan.supp halt_on_error=1 ignore_noninstrumented_modules=1" "build/tsan/$tests" --gtest_brief=1
  done
fi
say "all tests passed"
