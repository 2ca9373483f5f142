#!/usr/bin/env bash
# Installs the packages of tools/packages.txt that are missing. Usage: install_packages.sh [--with-tests]
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
with_tests=${1:-}

installed() { dpkg-query -W -f='${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }
available() { apt-cache show "$1" >/dev/null 2>&1; }

missing=()
while IFS= read -r line; do
  line=${line%%#*}
  if [[ $line == test:* ]]; then
    [[ $with_tests == --with-tests ]] || continue
    line=${line#test:}
  fi
  line=$(echo "$line" | tr -d ' ')
  [[ -n $line ]] || continue
  IFS='|' read -ra choices <<<"$line"
  found=
  for package in "${choices[@]}"; do installed "$package" && found=yes && break; done
  [[ -n $found ]] || missing+=("$line")
done <"$here/packages.txt"
[[ ${#missing[@]} -gt 0 ]] || exit 0

if ! command -v apt-get >/dev/null; then
  echo "These packages are missing and this system has no apt-get; install their equivalents:" >&2
  printf '  %s\n' "${missing[@]}" >&2
  exit 1
fi
sudo=
if [[ $(id -u) -ne 0 ]]; then
  command -v sudo >/dev/null || { echo "Run as root, or install sudo, so that packages can be installed: ${missing[*]}" >&2; exit 1; }
  sudo=sudo
fi
echo "Installing ${#missing[@]} packages that are missing ..." >&2
$sudo apt-get update -qq >&2
chosen=()
for line in "${missing[@]}"; do
  IFS='|' read -ra choices <<<"$line"
  pick=${choices[0]}
  for package in "${choices[@]}"; do available "$package" && pick=$package && break; done
  chosen+=("$pick")
done
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${chosen[@]}" >&2
