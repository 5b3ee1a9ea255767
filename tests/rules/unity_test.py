#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which sources cmake/unity_batches.py joins: none that declare a hidden name which another of the batch mentions."""
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "cmake" / "unity_batches.py"


def source(hidden="", seen="", scope="tenon::a"):
    return f"// A source.\nnamespace {scope} {{\nnamespace {{\n{hidden}\n}}  // namespace\n\n{seen}\n}}  // namespace {scope}\n"


# Pairs of sources, and whether they may be one.
PAIRS = {
    "nothing in common": (source("int f() {\n  return 1;\n}"), source("int g() {\n  return 2;\n}"), True),
    "one function twice": (source("int f() {\n  return 1;\n}"), source("int f() {\n  return 2;\n}"), False),
    "another signature": (source("int f() {\n  return 1;\n}"), source("int f(int) {\n  return 2;\n}"), False),
    "a call that would mean another function": (source("bool has(int);"), source(seen="bool g() {\n  return has('x');\n}"), False),
    "a constant": (source("constexpr std::array<std::pair<int, int>, 2> kMost = {};"), source("[[maybe_unused]] int kMost[2];"), False),
    "a type": (source("struct Join {\n  int a;\n};"), source("class Join final : public Base {};"), False),
    "an alias": (source("using Word = int;"), source("Word f() {\n  return 1;\n}"), False),
    "a name on a line of its own": (source("std::vector<std::function<void(int)>>\nmake(int) {\n}"), source("int make;"), False),
    "static outside": (source(seen="static int count = 0;"), source("int count;"), False),
    "a member of that name": (source("int size();"), source("int f(X& x, X* p) {\n  return x.size() + p->size();\n}"), True),
    "a qualified name": (source("int max();"), source("int f() {\n  return std::max(1, 2);\n}"), True),
    "behind a comparison": (source("int most = 1;"), source("bool f(int a) {\n  return a>most;\n}"), False),
    "in a text or a comment": (source("int f();"), source('const char* g = "f";  // f'), True),
    "namespaces beside each other": (source("int f();", scope="a::b"), source("int f();", scope="a::c"), True),
    "a namespace within": (source("int f();", scope="a"), source("int f();", scope="a::c"), False),
    "a namespace of a longer name": (source("int f();", scope="a::b"), source("int f();", scope="a::bc"), True),
    "a function that all may see": (source(seen="int f() {\n  return 1;\n}"), source(seen="int g() {\n  return f();\n}"), True),
}
ALONE = ["#define A 1\n", "using namespace std;\n", "enum Kind { kA };\n", "#  undef A\n"]


def run(*arguments):
    return subprocess.run([sys.executable, "-B", SCRIPT, *map(str, arguments)], capture_output=True, text=True)


def plan(folder, *texts):
    """How many batches there are, and the sources that stand alone."""
    paths = [folder / f"{i}.cpp" for i in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_text(text)
    count, *alone = run("plan", *paths).stdout.split()
    return int(count), alone


def check_writing(folder):
    """Each source is in one batch, what did not change keeps its time, and too few batches are an error that says so."""
    paths = [folder / f"{i}.cpp" for i in range(20)]
    for i, path in enumerate(paths):
        path.write_text(source(f"int f{i}();"))
    prefix = folder / "out" / "all"
    yield "writes", run("write", prefix, 3, *paths).returncode == 0
    batches = [folder / "out" / f"all_{i}.cpp" for i in range(3)]
    included = [line.split('"')[1] for batch in batches for line in batch.read_text().splitlines() if line.startswith("#include")]
    yield "each once", included == [str(path) for path in paths]
    before = [batch.stat().st_mtime_ns for batch in batches]
    paths[0].write_text(source("int g();"))
    run("write", prefix, 3, *paths)
    yield "keeps what did not change", before == [batch.stat().st_mtime_ns for batch in batches]
    paths[0].write_text(source("int f1();"))
    run("write", prefix, 3, *paths)
    yield "moves what clashes", str(paths[0]) in batches[0].read_text() and str(paths[1]) not in batches[0].read_text()
    paths[0].write_text(source("int f1();"))
    failed = run("write", prefix, 1, *paths[:2])
    yield "says what does not fit", failed.returncode == 1 and "1.cpp fits into none of 1 batches" in failed.stderr and "f1" in failed.stderr
    yield "asks for another plan", (folder / "out" / "all_plan").exists()
    paths[0].write_text("#define A\n")
    failed = run("write", prefix, 3, *paths)
    yield "says what stands alone now", failed.returncode == 1 and "0.cpp has macros" in failed.stderr


def main():
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for what, (first, second, joins) in PAIRS.items():
            if plan(folder, first, second) != (1 if joins else 2, []):
                wrong.append(what)
        for text in ALONE:
            if plan(folder, text, source()) != (1, [str(folder / "0.cpp")]):
                wrong.append(f"alone: {text}")
        wrong += [what for what, right in check_writing(folder) if not right]
    for what in wrong:
        print(f"not as expected: {what}")
    print(f"{len(PAIRS) + len(ALONE) + 7 - len(wrong)} as expected, {len(wrong)} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
