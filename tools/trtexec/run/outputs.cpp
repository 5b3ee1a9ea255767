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

}  // namespace tenon::trtexec
