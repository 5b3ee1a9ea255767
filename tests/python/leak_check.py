# SPDX-License-Identifier: Apache-2.0
"""Under the address sanitizer: a case that loses memory fails, and one that does not passes. Elsewhere it is skipped."""
import ctypes
import sys

import support
import tensorrt as trt


def loses():
    new = ctypes.CDLL("libstdc++.so.6")._Znwm
    new.restype = ctypes.c_void_p
    new(ctypes.c_size_t(12345))


def keeps():
    assert trt.Builder(trt.Logger(trt.Logger.ERROR)).create_network().num_layers == 0


def main():
    if not hasattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check"):
        print("skipped: this process has no leak sanitizer; scripts/sanitize.sh --python-memory runs it with one")
        return support.SKIPPED
    status, text = support.run_one(loses)
    assert status == 1 and "12345 byte(s)" in text, (status, text)
    status, text = support.run_one(keeps)
    assert status == 0, text
    print("lost memory is found")
    return 0


if __name__ == "__main__":
    sys.exit(main())
