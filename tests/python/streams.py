# SPDX-License-Identifier: Apache-2.0
"""Readers and writers of engines, written in Python."""
import sys

import support

support.need_numpy()
import numpy as np  # noqa: E402  pylint: disable=wrong-import-position
import tensorrt as trt  # noqa: E402  pylint: disable=wrong-import-position

QUIET = trt.Logger(trt.Logger.INTERNAL_ERROR)
X = np.array([1, -2, 3], np.float32)


class Oops(Exception):
    pass


def raised(function, *arguments):
    try:
        function(*arguments)
    except Oops as error:
        return str(error)
    raise AssertionError("the exception of the callback is lost")


class Reader(trt.IStreamReader):
    def __init__(self, data, fail=False):
        trt.IStreamReader.__init__(self)
        self.data, self.place, self.fail = bytes(data), 0, fail

    def read(self, size):
        if self.fail:
            raise Oops("unreadable")
        part = self.data[self.place:self.place + size]
        self.place += len(part)
        return part


class ReaderV2(trt.IStreamReaderV2):
    def __init__(self, data):
        trt.IStreamReaderV2.__init__(self)
        self.data, self.place = bytes(data), 0

    def read(self, num_bytes, stream):
        part = self.data[self.place:self.place + num_bytes]
        self.place += len(part)
        return part

    def seek(self, offset, where):
        start = {trt.SeekPosition.SET: 0, trt.SeekPosition.CUR: self.place, trt.SeekPosition.END: len(self.data)}[where]
        self.place = start + offset
        return 0 <= self.place <= len(self.data)


class Writer(trt.IStreamWriter):
    def __init__(self):
        trt.IStreamWriter.__init__(self)
        self.data = b""

    def write(self, data):
        self.data += data
        return len(data)


def test_streams():
    builder, network = support.small_network(trt, QUIET)
    writer = Writer()
    assert builder.build_serialized_network_to_stream(network, builder.create_builder_config(), writer)
    runtime = trt.Runtime(QUIET)
    for reader in (Reader(writer.data), ReaderV2(writer.data)):
        assert np.array_equal(trt.Runner(runtime.deserialize_cuda_engine(reader))(X)["y"], 2 * X)
    assert raised(runtime.deserialize_cuda_engine, Reader(b"", fail=True)) == "unreadable"

    class Greedy(Reader):
        def read(self, size):
            return bytes(size + 1)

    try:
        runtime.deserialize_cuda_engine(Greedy(b""))
    except ValueError as error:
        assert "at most" in str(error)
    else:
        raise AssertionError("more bytes than were asked for were taken")


if __name__ == "__main__":
    sys.exit(support.run_all(support.cases_of(globals()), sys.argv[1:]))
