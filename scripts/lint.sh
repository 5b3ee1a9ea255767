#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs clang-tidy with the checks of .clang-tidy over what has changed, or over all sources of the product.
set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

usage() {
  cat <<'END'
Usage: scripts/lint.sh [--preset NAME] [--jobs N] [--at-most N] [--all | BASE | FILE.cpp ...]

Runs clang-tidy 14 and ends with status 1 if it finds anything.
  BASE           a commit: the sources that differ from it, and those of changed headers (src/a/b.h: src/a/b.cpp);
                 default: where this branch left main, or the last commit
  --all          every source of the product
  FILE.cpp ...   these files
  --preset NAME  the build folder with the compile commands and the generated headers, build/NAME (default: release)
  --jobs N       files at once (default: by cores and memory)
  --at-most N    only N of the files, spread evenly over all; it says so
Each file takes 3 to 20 seconds of a processor.
END
}

preset=release jobs='' most=0 all='' names=()
folders=(src parsers plugins tools hostcuda capture)

readOptions() {
  while [ $# -gt 0 ]; do
    case $1 in
      --help | -h) usage; exit 0 ;;
      --all) all=yes; shift ;;
      --preset | --jobs | --at-most)
        [ $# -ge 2 ] || { usage >&2; die "the value of '$1' is missing"; }
        case $1 in
          --preset) preset=$2 ;;
          --jobs) jobs=$2 ;;
          *) most=$2 ;;
        esac
        shift 2 ;;
      -*) usage >&2; die "unknown option '$1'" ;;
      *) names+=("$1"); shift ;;
    esac
  done
  checkPreset "$preset"
  jobs=${jobs:-$(defaultJobs)}
}

tidy() {
  local name
  for name in clang-tidy-14 clang-tidy; do
    if command -v $name >/dev/null && $name --version | grep -q 'version 14\.'; then
      command -v $name
      return
    fi
  done
  die "clang-tidy 14 is missing (other versions have other checks); install it: apt-get install clang-tidy-14"
}

# Where this branch left main; on main itself the commit before.
defaultBase() {
  local base
  base=$(git merge-base HEAD main 2>/dev/null || true)
  [ -n "$base" ] && [ "$base" != "$(git rev-parse HEAD)" ] || base=$(git rev-parse -q --verify HEAD~1) ||
    die "there is no commit before this one; name one, or use --all"
  echo "$base"
}

# The sources of what differs from a commit, what is not committed included.
changedSince() {
  git rev-parse -q --verify "$1^{commit}" >/dev/null || die "'$1' is not a commit"
  git diff --name-only --diff-filter=d "$1" -- "${folders[@]}" | sed -nE 's/\.(cpp|h)$/.cpp/p' | sort -u |
    while read -r file; do [ ! -f "$file" ] || echo "$file"; done
}

sources() {
  if [ -n "$all" ]; then
    git ls-files -- "${folders[@]}" | grep '\.cpp$'
  elif [ ${#names[@]} -gt 0 ] && [[ ${names[0]} == *.cpp ]]; then
    printf '%s\n' "${names[@]}"
  else
    changedSince "${names[0]:-$(defaultBase)}"
  fi
}

# The compile commands as Clang reads them: without the precompiled headers and the options that only GCC knows, and with one
# for each source of those that the build joins.
writeDatabase() {
  python3 - "$root/build/$preset/compile_commands.json" "$1" <<'END'
import json, pathlib, re, shutil, sys
database, folder = json.loads(pathlib.Path(sys.argv[1]).read_text()), pathlib.Path(sys.argv[2])
folder.mkdir(parents=True, exist_ok=True)
headers = {}
for row in [row for row in database if "/unity/" in row["file"] and pathlib.Path(row["file"]).exists()]:
    for source in re.findall(r'^#include "(.+)"$', pathlib.Path(row["file"]).read_text(), re.M):
        database.append(dict(row, file=source, command=row["command"].replace(f"-c {row['file']}", f"-c {source}")))
for row in database:
    for header in re.findall(r"-include (\S+cmake_pch\.hxx)", row["command"]):
        copy = headers.setdefault(header, folder / f"precompiled_{len(headers)}.h")
        row["command"] = row["command"].replace(header, str(copy))
    row["command"] = re.sub(r" (-Winvalid-pch|-Werror)\b", "", row["command"])
for header, copy in headers.items():
    shutil.copy(header, copy)
(folder / "compile_commands.json").write_text(json.dumps(database))
print("\n".join(row["file"] for row in database))
END
}

main() {
  local program database files known count
  readOptions "$@"
  cd "$root"
  program=$(tidy)
  [ -f "build/$preset/compile_commands.json" ] ||
    die "build/$preset has no compile commands; build it first: scripts/test.sh --preset $preset --build-only"
  database="$root/build/$preset/lint"
  known=$(writeDatabase "$database")
  files=$(sources | while read -r file; do grep -qxF "$root/$file" <<<"$known" && echo "$file" || true; done)
  [ -n "$files" ] || { echo "lint: no sources of the product have changed"; return; }
  count=$(wc -l <<<"$files")
  if [ "$most" -gt 0 ] && [ "$count" -gt "$most" ]; then
    echo "lint: $most of $count changed files; scripts/lint.sh ${names[*]} takes them all"
    files=$(awk -v most="$most" -v count="$count" 'int(NR * most / count) > int((NR - 1) * most / count)' <<<"$files")
  fi
  if xargs -P "$jobs" -n 1 "$program" --quiet -p "$database" --extra-arg=-Wno-unknown-warning-option \
    --extra-arg=-Wno-ignored-optimization-argument <<<"$files" 2> >(grep -vE '^[0-9]+ warnings? (generated|treated)' >&2); then
    echo "lint: $(wc -l <<<"$files") files, nothing found"
  else
    die "clang-tidy found what is listed above, in $(wc -l <<<"$files") files; .clang-tidy lists its checks"
  fi
}

main "$@"
