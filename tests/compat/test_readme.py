# SPDX-License-Identifier: Apache-2.0
"""The program in Python on the README's first page does what it says."""
import contextlib
import io
import os
import re

import support


def test_readme():
    text = (support.ROOT / "README.md").read_text()
    (program,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    os.environ["TENON_DEVICE"] = "cpu"  # as the program assumes; nothing has asked for a device before
    os.chdir(support.ROOT)
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(program, "README.md", "exec"), {})  # pylint: disable=exec-used
    expected = re.search(r"print\(answer.argmax\(\)\)  # (\d)", program)[1]
    assert said.getvalue().strip() == expected, said.getvalue()
