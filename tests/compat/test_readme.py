# SPDX-License-Identifier: Apache-2.0
"""The programs in Python on the README's first page do what they say."""
import contextlib
import io
import os
import re

import support
import tensorrt_bindings


def test_readme():
    text = (support.ROOT / "README.md").read_text()
    programs = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    assert len(programs) == 2, len(programs)
    os.environ["TENON_DEVICE"] = "cpu"  # as the program assumes; nothing has asked for a device before
    os.chdir(support.ROOT)
    for program in programs:
        if ".Runner(" in program and not hasattr(tensorrt_bindings, "Runner"):
            continue  # for our module alone
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(program, "README.md", "exec"), {})  # pylint: disable=exec-used
        expected = re.search(r"print\(.*argmax\(\)\)  # (\d)", program)[1]
        assert said.getvalue().strip() == expected, said.getvalue()
