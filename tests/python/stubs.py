# SPDX-License-Identifier: Apache-2.0
"""The type stubs name what the module has, and nothing else."""
import ast
import pathlib
import re
import sys

import tensorrt as trt

FOLDER = pathlib.Path(trt.__file__).parent
HIDDEN = {"tensorrt"}  # the compiled module
OLDER = {"ResizeMode", "SliceMode", "shutdown_protobuf_library"}  # names of release 8


def names_of(body):
    names = set()
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            names.add(node.name)
        elif isinstance(node, ast.AnnAssign):
            names.add(node.target.id)
    return names


def main():
    wrong = []
    tree = ast.parse((FOLDER / "__init__.pyi").read_text())
    stubs = names_of(tree.body)
    wrong += [f"{name} is no name of the module" for name in sorted(stubs) if not hasattr(trt, name)]
    public = {name for name in vars(trt) if not name.startswith("_")} - HIDDEN
    wrong += [f"{name} has no stub" for name in sorted(public - stubs - OLDER)]
    members = 0
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and hasattr(trt, node.name) and node.name != "Runner":
            for name in names_of(node.body):
                members += 1
                if not hasattr(getattr(trt, node.name), name) and name != "__buffer__":  # which Python 3.12 makes of the buffer protocol
                    wrong.append(f"{node.name}.{name} is no name of the module")
    texts = [text for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) for text in [ast.get_docstring(node)] if text]
    wrong += [f"a text speaks C++: {text}" for text in texts if re.search(r"\bnullptr\b|\bk[A-Z][A-Z0-9]+\b|nvinfer1::", text)]
    if len(texts) < 400:
        wrong.append(f"{len(texts)} functions and properties have a text; expected 400 or more")
    if not (FOLDER / "py.typed").exists():
        wrong.append("py.typed is missing, without which no checker reads the stubs")
    print("\n".join(wrong))
    print(f"{len(stubs)} names and {members} members, {len(texts)} texts, {len(wrong)} wrong")
    return 1 if wrong or members < 800 else 0


if __name__ == "__main__":
    sys.exit(main())
