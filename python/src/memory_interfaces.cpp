// SPDX-License-Identifier: Apache-2.0
// Allocators of device memory and of outputs, readers and writers of streams, as classes in Python define them.
#include "module.h"

#include <cstring>

namespace tenon::python {

namespace {

using nvinfer1::AllocatorFlags;
using nvinfer1::IGpuAllocator;
using nvinfer1::IGpuAsyncAllocator;

// An address as Python gives it: a number, or None for none.
void* addressOf(const py::object& answer) {
  return answer.is_none() ? nullptr : pointerOf<void*>(answer.cast<size_t>());
}

py::object objectOf(const void* address) { return address ? py::object(py::int_(numberOf(address))) : py::none(); }

template <class T>
class PythonAllocator : public T {
 public:
  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override {
    return fromLibrary<void*>("IGpuAllocator.allocate", nullptr, [&] {
      const py::function function = py::get_override(base(), "allocate");
      if (function) return addressOf(function(size, alignment, flags));
      return addressOf(definedIn(base(), "allocate_async")(size, alignment, flags, 0));
    });
  }
  void* reallocate(void* address, uint64_t alignment, uint64_t size) noexcept override {
    return fromLibrary<void*>("IGpuAllocator.reallocate", nullptr, [&]() -> void* {
      const py::function function = py::get_override(base(), "reallocate");
      return function ? addressOf(function(numberOf(address), alignment, size)) : nullptr;
    });
  }
  bool deallocate(void* address) noexcept override {
    return fromLibrary("IGpuAllocator.deallocate", false, [&] {
      if (const py::function function = release()) return truth(function(numberOf(address)));
      return truth(definedIn(base(), "deallocate_async")(numberOf(address), 0));
    });
  }
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags, cudaStream_t stream) noexcept override {
    return fromLibrary<void*>("IGpuAllocator.allocate_async", nullptr, [&] {
      const py::function function = py::get_override(base(), "allocate_async");
      if (function) return addressOf(function(size, alignment, flags, numberOf(stream)));
      return addressOf(definedIn(base(), "allocate")(size, alignment, flags));
    });
  }
  bool deallocateAsync(void* address, cudaStream_t stream) noexcept override {
    return fromLibrary("IGpuAllocator.deallocate_async", false, [&] {
      const py::function function = py::get_override(base(), "deallocate_async");
      if (function) return truth(function(numberOf(address), numberOf(stream)));
      if (const py::function older = release()) return truth(older(numberOf(address)));
      return truth(definedIn(base(), "deallocate")(numberOf(address)));
    });
  }

 private:
  const T* base() const { return this; }
  // Classes written for release 9 and before call it `free`.
  py::function release() const {
    const py::function function = py::get_override(base(), "deallocate");
    return function ? function : py::get_override(base(), "free");
  }
  static bool truth(const py::object& answer) { return answer.is_none() || answer.cast<bool>(); }
};

template <class T, class Class>
void defineAllocator(Class& type) {
  type.def(py::init<>())
      .def(
          "allocate",
          [](T& self, uint64_t size, uint64_t alignment, AllocatorFlags flags) {
            return objectOf(self.allocate(size, alignment, flags));
          },
          py::arg("size"), py::arg("alignment"), py::arg("flags"))
      .def(
          "deallocate", [](T& self, size_t memory) { return self.deallocate(pointerOf<void*>(memory)); },
          py::arg("memory"))
      .def(
          "allocate_async",
          [](T& self, uint64_t size, uint64_t alignment, AllocatorFlags flags, size_t stream) {
            return objectOf(self.allocateAsync(size, alignment, flags, pointerOf<cudaStream_t>(stream)));
          },
          py::arg("size"), py::arg("alignment"), py::arg("flags"), py::arg("stream"))
      .def(
          "deallocate_async",
          [](T& self, size_t memory, size_t stream) {
            return self.deallocateAsync(pointerOf<void*>(memory), pointerOf<cudaStream_t>(stream));
          },
          py::arg("memory"), py::arg("stream"));
}

void declareAllocators(py::module_& module) {
  using nvinfer1::IVersionedInterface;
  py::class_<IGpuAllocator, IVersionedInterface, Owned<IGpuAllocator>, PythonAllocator<IGpuAllocator>> plain(
      module, "IGpuAllocator");
  defineAllocator<IGpuAllocator>(plain);
  plain.def(
      "reallocate",
      [](IGpuAllocator& self, size_t address, uint64_t alignment, uint64_t size) {
        return objectOf(self.reallocate(pointerOf<void*>(address), alignment, size));
      },
      py::arg("address"), py::arg("alignment"), py::arg("new_size"));
  py::class_<IGpuAsyncAllocator, IGpuAllocator, Owned<IGpuAsyncAllocator>, PythonAllocator<IGpuAsyncAllocator>> async(
      module, "IGpuAsyncAllocator");
  defineAllocator<IGpuAsyncAllocator>(async);
}

using nvinfer1::IOutputAllocator;

class PythonOutputAllocator : public IOutputAllocator {
 public:
  void* reallocateOutput(const char* tensor, void* memory, uint64_t size, uint64_t alignment) noexcept override {
    return fromLibrary<void*>("IOutputAllocator.reallocate_output", nullptr, [&] {
      return addressOf(definedIn(base(), "reallocate_output")(textOf(tensor), numberOf(memory), size, alignment));
    });
  }
  void* reallocateOutputAsync(const char* tensor, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    return fromLibrary<void*>("IOutputAllocator.reallocate_output_async", nullptr, [&] {
      const py::function function = py::get_override(base(), "reallocate_output_async");
      if (function) return addressOf(function(textOf(tensor), numberOf(memory), size, alignment, numberOf(stream)));
      return addressOf(definedIn(base(), "reallocate_output")(textOf(tensor), numberOf(memory), size, alignment));
    });
  }
  void notifyShape(const char* tensor, const nvinfer1::Dims& shape) noexcept override {
    fromLibrary("IOutputAllocator.notify_shape", [&] { definedIn(base(), "notify_shape")(textOf(tensor), shape); });
  }

 private:
  const IOutputAllocator* base() const { return this; }
};

using nvinfer1::IStreamReader;
using nvinfer1::IStreamReaderV2;
using nvinfer1::IStreamWriter;

// What a reader returned, copied to where the library wants it; the number of bytes, or -1.
int64_t copyTo(void* target, int64_t capacity, const py::object& answer) {
  const Bytes bytes(answer);
  if (static_cast<int64_t>(bytes.size()) > capacity) {
    throw py::value_error("read() returned " + std::to_string(bytes.size()) + " bytes; expected at most " +
                          std::to_string(capacity));
  }
  std::memcpy(target, bytes.data(), bytes.size());
  return static_cast<int64_t>(bytes.size());
}

class PythonReader : public IStreamReader {
 public:
  int64_t read(void* destination, int64_t size) override {
    return fromLibrary<int64_t>("IStreamReader.read", -1, [&] {
      return copyTo(destination, size, definedIn<IStreamReader>(this, "read")(size));
    });
  }
};

class PythonReaderV2 : public IStreamReaderV2 {
 public:
  int64_t read(void* destination, int64_t size, cudaStream_t stream) noexcept override {
    return fromLibrary<int64_t>("IStreamReaderV2.read", -1, [&] {
      return copyTo(destination, size, definedIn(base(), "read")(size, numberOf(stream)));
    });
  }
  bool seek(int64_t offset, nvinfer1::SeekPosition where) noexcept override {
    return fromLibrary("IStreamReaderV2.seek", false,
                       [&] { return definedIn(base(), "seek")(offset, where).cast<bool>(); });
  }

 private:
  const IStreamReaderV2* base() const { return this; }
};

class PythonWriter : public IStreamWriter {
 public:
  int64_t write(const void* data, int64_t size) override {
    return fromLibrary<int64_t>("IStreamWriter.write", -1, [&] {
      const py::bytes bytes(static_cast<const char*>(data), static_cast<size_t>(size));
      return definedIn<IStreamWriter>(this, "write")(bytes).cast<int64_t>();
    });
  }
};

}  // namespace

void declareMemoryInterfaces(py::module_& module) {
  declareAllocators(module);
  py::class_<IOutputAllocator, PythonOutputAllocator>(module, "IOutputAllocator").def(py::init<>());
  py::class_<IStreamReader, PythonReader>(module, "IStreamReader")
      .def(py::init<>())
      .def(
          "read",
          [](IStreamReader& self, size_t destination, int64_t size) {
            return self.read(pointerOf<void*>(destination), size);
          },
          py::arg("destination"), py::arg("size"));
  py::class_<IStreamReaderV2, PythonReaderV2>(module, "IStreamReaderV2")
      .def(py::init<>())
      .def(
          "read",
          [](IStreamReaderV2& self, size_t destination, int64_t size, size_t stream) {
            return self.read(pointerOf<void*>(destination), size, pointerOf<cudaStream_t>(stream));
          },
          py::arg("destination"), py::arg("num_bytes"), py::arg("stream"))
      .def("seek", &IStreamReaderV2::seek, py::arg("offset"), py::arg("where"));
  py::class_<IStreamWriter, PythonWriter>(module, "IStreamWriter")
      .def(py::init<>())
      .def(
          "write",
          [](IStreamWriter& self, size_t data, int64_t size) { return self.write(pointerOf<void*>(data), size); },
          py::arg("data"), py::arg("size"));
}

}  // namespace tenon::python
