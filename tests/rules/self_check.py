#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that check.py notices each kind of breach, on small trees made for it, and nothing in a clean one."""
import contextlib
import io
import pathlib
import sys
import tempfile

sys.dont_write_bytecode = True
import check

BREACHES = {
    "src/core/a.cpp": '// A.\n#include "graph/graph.h"\n',
    "src/runtime/a.cpp": '// A.\n#include "compile/builder.h"\n',
    "src/compile/a.cpp": '// A.\n#include "backends/cpu/kernel.h"\n',
    "src/graph/a.h": '// A.\n#pragma once\n#include <NvInfer.h>\n',
    "src/backends/cpu/a.cpp": '// A.\n#include "backends/ref/kernel.h"\n',
    "parsers/onnx/a.cpp": '// A.\n#include "core/error.h"\n',
    "parsers/common/a.cpp": '// A.\n#include "onnx/model.h"\n',
    "src/ops/a.cpp": "int a;\n",
    "src/ops/b.h": "// B.\nint b;\n",
    "src/ops/c.cpp": "// C.\n#ifdef __linux__\n#endif\n",
    "src/ops/d.cpp": "// D.\n" + "int d;\n" * 700,
    "docs/a.md": "this is " + "TO" + "DO\n",
    "docs/b.md": "see [a](a.md)\n",
    "docs/c.md": "# Top\nsee [a](#bottom)\n",
    "docs/d.md": "# Top\nsee [a](d.md#bottom)\n",
    "docs/map.md": "| a | b | `src/core/a.h` | `Missing` |\n",
    "docs/architecture.md": "    docs/   here\n      none/   not here\n",
    "scripts/a.sh": "# A.\ncd /ro" + "ot/x\n",
}
CLEAN = {
    "src/core/platform/a.cpp": "// A.\n#ifdef __linux__\n#endif\n",
    "src/api/a.cpp": '// A.\n#include <NvInfer.h>\n#include "graph/graph.h"\n',
    "src/backends/cpu/a.cpp": '// A.\n#include "backends/cpu/kernel.h"\n#include "runtime/kernel.h"\n',
    "parsers/onnx/a.cpp": '// A.\n#include <NvInfer.h>\n#include "context.h"\n',
    "docs/map.md": "| a | b | `src/core/platform/a.cpp` | `endif` |\n",
    "docs/architecture.md": "    src/   here\n      api/   here\n      none/   goal: not here\n    docs/   here\n",
    "docs/b.md": "# Top, and `more`\nsee [b](b.md#top-and-more), [b](#top-and-more) and [c](https://example.org/c#d)\n",
    "src/core/environment.cpp": '// E.\n    {"TENON_A", 0, 1},\n',
    "README.md": "| `TENON_A` | `0` | a |\n",
}


def breaches(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            path = pathlib.Path(folder) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        with contextlib.redirect_stdout(io.StringIO()) as said:
            status = check.main(pathlib.Path(folder))
        return status, said.getvalue()


def main():
    wrong = 0
    status, said = breaches({"src/core/environment.cpp": '// E.\n    {"TENON_B", 0, 1},\n', "README.md": CLEAN["README.md"]})
    if status == 0 or "TENON_B" not in said:
        wrong += 1
        print(f"a variable without a row was not noticed: {said}")
    for name, text in BREACHES.items():
        status, said = breaches({name: text})
        if status == 0 or name not in said:
            wrong += 1
            print(f"{name} was not noticed: {said}")
    status, said = breaches(CLEAN)
    if status != 0:
        wrong += 1
        print(f"a clean tree was refused: {said}")
    print(f"{len(BREACHES) + 2 - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
