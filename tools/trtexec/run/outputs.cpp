// What is shown and written of an engine and of the last inference.
#include "outputs.h"

#include "../options/values.h"
#include "../report/tensor_values.h"
#include "failure.h"
#include "files.h"
#include "log.h"

#include <algorithm>
#include <memory>

namespace tenon::trtexec {

namespace {

using nvinfer1::LayerInformationFormat;
using nvinfer1::OptProfileSelector;

std::string elementText(const Element& element) {
  return std::visit([](auto value) { return fmt::format("{}", value); }, element);
}

void printTensor(const TensorView& tensor) {
  info("{}: ({})", tensor.name, dimensionsText(tensor.shape));
  std::string line;
  for (int64_t i = 0; i < tensor.volume(); ++i) {
    line += elementText(readElement(tensor.type, tensor.data, tensor.offsetOf(i)));
    const bool rowEnds = tensor.shape.empty() || (i + 1) % tensor.shape.back() == 0;
    if (rowEnds) {
      info("{}", line);
      line.clear();
    } else {
      line += ' ';
    }
  }
}

void writeRaw(const BoundTensor& tensor) {
  std::string shape;
  for (const int64_t extent : tensor.view.shape) {
    shape += fmt::format("{}.", extent);
  }
  const std::string path = fmt::format("{}.{}.{}{}.raw", fileNamePart(tensor.name), tensor.isInput ? "input" : "output",
                                       shape, dataTypeName(tensor.view.type));
  writeFile(path, tensor.view.data, tensor.bytes, fmt::format("tensor '{}'", tensor.name));
  info("Wrote {} bytes of {} to {}", tensor.bytes, tensor.name, path);
}

std::string layerText(const nvinfer1::ICudaEngine& engine, const nvinfer1::IExecutionContext* context,
                      LayerInformationFormat format) {
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine.createEngineInspector());
  if (inspector == nullptr || (context != nullptr && !inspector->setExecutionContext(context))) {
    throw Failure("the engine cannot be inspected; the messages above say why");
  }
  const char* text = inspector->getEngineInformation(format);
  if (text == nullptr) {
    throw Failure("the engine gives no layer information; the messages above say why");
  }
  return text;
}

//! Writes the tensors it is asked for, once each.
class DebugWriter final : public nvinfer1::IDebugListener {
 public:
  explicit DebugWriter(const std::map<std::string, std::string>& files) : files_(files) {}

  bool processDebugTensor(const void* addr, nvinfer1::TensorLocation location, nvinfer1::DataType type,
                          const nvinfer1::Dims& shape, const char* name, cudaStream_t stream) override {
    const auto file = files_.find(name);
    if (file == files_.end()) {
      return true;
    }
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
      writeFile(file->second, tensorsJson({view}), fmt::format("debug tensor '{}'", name));
      info("Wrote debug tensor {} to {}", name, file->second);
      ++written_;
      return true;
    } catch (const std::exception& problem) {
      error("{}", problem.what());
      return false;
    }
  }

  size_t written() const { return written_; }

 private:
  const std::map<std::string, std::string>& files_;
  size_t written_ = 0;
};

}  // namespace

void reportLayers(const nvinfer1::ICudaEngine& engine, const nvinfer1::IExecutionContext* context,
                  const ReportOptions& options) {
  if (options.dumpLayerInfo) {
    info("Layer Information:\n{}", layerText(engine, context, LayerInformationFormat::kONELINE));
  }
  if (!options.exportLayerInfo.empty()) {
    writeFile(options.exportLayerInfo, layerText(engine, context, LayerInformationFormat::kJSON), "layer information");
  }
}

void reportOptimizationProfiles(const nvinfer1::ICudaEngine& engine) {
  info("=== Optimization Profile Information ===");
  for (int32_t profile = 0; profile < engine.getNbOptimizationProfiles(); ++profile) {
    info("Optimization profile {}:", profile);
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT) {
        continue;
      }
      const auto text = [&](OptProfileSelector selector) {
        const auto dims = engine.getProfileShape(name, profile, selector);
        return shapeText(Shape(dims.d, dims.d + std::max(dims.nbDims, 0)));
      };
      info("  {}: Minimum shape: {}, Optimum shape: {}, Maximum shape: {}", name, text(OptProfileSelector::kMIN),
           text(OptProfileSelector::kOPT), text(OptProfileSelector::kMAX));
    }
  }
}

void reportOutputs(Bindings& bindings, const ReportOptions& options) {
  const std::vector<TensorView> outputs = bindings.hostViews(false);
  if (options.dumpOutput) {
    info("Output Tensors:");
    for (const TensorView& tensor : outputs) {
      printTensor(tensor);
    }
  }
  if (!options.exportOutput.empty()) {
    writeFile(options.exportOutput, tensorsJson(outputs), "outputs");
  }
  if (options.dumpRawBindings) {
    for (const BoundTensor& tensor : bindings.tensors()) {
      writeRaw(tensor);
    }
  }
}

void saveDebugTensors(const nvinfer1::ICudaEngine& engine, InferenceStream& stream, const InferenceOptions& options) {
  DebugWriter writer(options.debugTensorFiles);
  nvinfer1::IExecutionContext& context = stream.context();
  for (const auto& [name, file] : options.debugTensorFiles) {
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
  if (writer.written() != options.debugTensorFiles.size()) {
    throw Failure("--saveDebugTensors: {} of {} tensors were written", writer.written(),
                  options.debugTensorFiles.size());
  }
}

}  // namespace tenon::trtexec
