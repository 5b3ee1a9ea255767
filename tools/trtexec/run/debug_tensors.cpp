// A listener that writes what it is shown.
#include "debug_tensors.h"

#include "../options/values.h"
#include "../report/tensor_values.h"
#include "failure.h"
#include "files.h"
#include "log.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

namespace tenon::trtexec {

namespace {

std::string elementText(const Element& element) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, element);
}

double numberOf(const Element& element) {
  return std::visit([](auto value) { return static_cast<double>(value); }, element);
}

//! The least, greatest and mean element; what is no number is counted apart.
std::string summaryOf(const TensorView& tensor) {
  double least = std::numeric_limits<double>::infinity();
  double most = -least;
  double sum = 0;
  int64_t strange = 0;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const double value = numberOf(readElement(tensor.type, tensor.data, static_cast<size_t>(i)));
    if (!std::isfinite(value)) {
      ++strange;
      continue;
    }
    least = std::min(least, value);
    most = std::max(most, value);
    sum += value;
  }
  const int64_t count = tensor.volume() - strange;
  const auto range = count == 0 ? std::string("no number")
                                : fmt::format("min = {:.6g}, max = {:.6g}, mean = {:.6g}", least, most,
                                              sum / static_cast<double>(count));
  return fmt::format("{} ({}) {}: {}{}", tensor.name, dimensionsText(tensor.shape), dataTypeName(tensor.type), range,
                     strange == 0 ? "" : fmt::format(", {} infinite or not a number", strange));
}

//! Elements as text, a row of the last axis in a line.
std::string textOf(const TensorView& tensor) {
  std::string text;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    const bool rowEnds = tensor.shape.empty() || (i + 1) % tensor.shape.back() == 0;
    text += elementText(readElement(tensor.type, tensor.data, static_cast<size_t>(i))) + (rowEnds ? '\n' : ' ');
  }
  return text;
}

//! What numpy calls a type; empty where it has none of the kind.
std::string_view numpyType(nvinfer1::DataType type) {
  switch (type) {
    case nvinfer1::DataType::kFLOAT: return "<f4";
    case nvinfer1::DataType::kHALF: return "<f2";
    case nvinfer1::DataType::kINT8: return "|i1";
    case nvinfer1::DataType::kINT32: return "<i4";
    case nvinfer1::DataType::kINT64: return "<i8";
    case nvinfer1::DataType::kBOOL: return "|b1";
    case nvinfer1::DataType::kUINT8: return "|u1";
    default: return "";
  }
}

//! A file of numpy (.npy, version 1.0). Types that numpy lacks are widened to FP32.
std::string numpyFile(const TensorView& tensor, size_t bytes) {
  std::string data;
  std::string_view type = numpyType(tensor.type);
  if (type.empty()) {
    type = "<f4";
    for (int64_t i = 0; i < tensor.volume(); ++i) {
      const auto value = static_cast<float>(numberOf(readElement(tensor.type, tensor.data, static_cast<size_t>(i))));
      char raw[sizeof value];
      std::memcpy(raw, &value, sizeof value);
      data.append(raw, sizeof value);
    }
  } else {
    data.assign(static_cast<const char*>(tensor.data), bytes);
  }
  std::string shape;
  for (const int64_t extent : tensor.shape) {
    shape += fmt::format("{},", extent);
  }
  std::string header = fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}), }}", type, shape);
  constexpr size_t kBefore = 10;  // magic, version, length of the header
  constexpr size_t kAlignment = 64;
  header.append(kAlignment - (kBefore + header.size() + 1) % kAlignment, ' ');
  header += '\n';
  const size_t length = header.size();
  std::string file("\x93NUMPY\x01\x00", 8);
  file += static_cast<char>(length & 0xff);
  file += static_cast<char>(length >> 8);
  return file + header + data;
}

class DebugWriter final : public nvinfer1::IDebugListener {
 public:
  explicit DebugWriter(const InferenceOptions& options) : options_(options) {}

  bool processDebugTensor(const void* addr, nvinfer1::TensorLocation location, nvinfer1::DataType type,
                          const nvinfer1::Dims& shape, const char* name, cudaStream_t stream) override {
    try {
      TensorView view;
      view.name = name;
      view.type = type;
      view.shape.assign(shape.d, shape.d + shape.nbDims);
      const size_t bytes = bytesOf(type, static_cast<size_t>(view.volume()));
      const Memory host(MemoryKind::kHost, bytes);
      const auto kind = location == nvinfer1::TensorLocation::kHOST ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
      checkCuda(cudaMemcpyAsync(host.get(), addr, bytes, kind, stream), "copying a debug tensor to the host");
      checkCuda(cudaStreamSynchronize(stream), "waiting for a debug tensor");
      view.data = host.get();
      const auto file = options_.debugTensorFiles.find(name);
      if (file != options_.debugTensorFiles.end()) {
        write(name, file->second, tensorsJson({view}));
      }
      for (const DebugFormat format : options_.debugFormats) {
        writeAs(format, view, bytes);
      }
      written_.insert(name);
      return true;
    } catch (const std::exception& problem) {
      error("{}", problem.what());
      return false;
    }
  }

  const std::set<std::string>& written() const { return written_; }

 private:
  static void write(const std::string& name, const std::string& path, const std::string& contents) {
    writeFile(path, contents, fmt::format("debug tensor '{}'", name));
    info("Wrote debug tensor {} to {}", name, path);
  }

  static void writeAs(DebugFormat format, const TensorView& view, size_t bytes) {
    const std::string name(view.name);
    const std::string stem = fileNamePart(name);
    switch (format) {
      case DebugFormat::kSummary: info("Debug tensor {}", summaryOf(view)); break;
      case DebugFormat::kNumpy: write(name, stem + ".npy", numpyFile(view, bytes)); break;
      case DebugFormat::kString: write(name, stem + ".txt", textOf(view)); break;
      case DebugFormat::kRaw:
        write(name, stem + ".raw", std::string(static_cast<const char*>(view.data), bytes));
        break;
    }
  }

  const InferenceOptions& options_;
  std::set<std::string> written_;
};

}  // namespace

void saveDebugTensors(const nvinfer1::ICudaEngine& engine, InferenceStream& stream, const InferenceOptions& options) {
  DebugWriter writer(options);
  nvinfer1::IExecutionContext& context = stream.context();
  if (!options.debugFormats.empty() &&
      !(context.setAllTensorsDebugState(true) && context.setUnfusedTensorsDebugState(true))) {
    throw Failure("--saveAllDebugTensors: the debug tensors cannot be switched on; the messages above say why");
  }
  for (const auto& [name, file] : options.debugTensorFiles) {
    if (context.getDebugState(name.c_str())) {
      continue;
    }
    if (!engine.isDebugTensor(name.c_str()) || !context.setTensorDebugState(name.c_str(), true)) {
      throw Failure("--saveDebugTensors: '{}' is not a debug tensor of the engine; build it with --markDebug={}", name,
                    name);
    }
  }
  if (!context.setDebugListener(&writer) || !context.enqueueV3(stream.computeStream())) {
    throw Failure("--saveDebugTensors: the inference could not be started; the messages above say why");
  }
  checkCuda(cudaStreamSynchronize(stream.computeStream()), "waiting for the debug tensors");
  context.setDebugListener(nullptr);
  for (const auto& [name, file] : options.debugTensorFiles) {
    if (writer.written().count(name) == 0) {
      throw Failure("--saveDebugTensors: '{}' was not computed, and is not written", name);
    }
  }
  if (writer.written().empty()) {
    warn(
        "--saveAllDebugTensors: the engine has no debug tensors; build it with --markDebug or "
        "--markUnfusedTensorsAsDebugTensors");
  }
}

}  // namespace tenon::trtexec
