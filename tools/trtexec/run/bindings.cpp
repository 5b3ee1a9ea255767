// The memory of all inputs and outputs of one execution context, and what is in it.
#include "bindings.h"

#include "../options/shapes.h"
#include "../options/values.h"
#include "../report/tensor_values.h"
#include "failure.h"
#include "files.h"
#include "log.h"
#include "network.h"

#include <algorithm>
#include <cstring>

namespace tenon::trtexec {

namespace {

bool isOpen(const Shape& shape) { return std::count(shape.begin(), shape.end(), -1) > 0; }

//! Bytes with the padding of vector formats.
size_t storedBytes(const TensorView& view) {
  Shape stored = view.shape;
  if (view.vectorDimension >= 0) {
    int64_t& extent = stored[static_cast<size_t>(view.vectorDimension)];
    extent = (extent + view.components - 1) / view.components * view.components;
  }
  size_t elements = 1;
  for (const int64_t extent : stored) {
    elements *= static_cast<size_t>(extent);
  }
  return bytesOf(view.type, elements);
}

}  // namespace

void* GrowingOutput::reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) {
  if (size <= size_ && memory_.get() != nullptr) {
    return memory_.get();
  }
  try {
    memory_ = Memory();
    memory_ = Memory(MemoryKind::kDevice, size);
    size_ = size;
  } catch (const Failure& failure) {
    error("{}", failure.what());
    size_ = 0;
  }
  return memory_.get();
}

void GrowingOutput::notifyShape(const char*, const nvinfer1::Dims& dims) noexcept { shape_ = toShape(dims); }

Bindings::Bindings(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context,
                   const InferenceOptions& options, bool announce)
    : engine_(engine), context_(context), options_(options), announce_(announce) {
  checkNames();
  const int32_t count = engine.getNbIOTensors();
  for (int32_t i = 0; i < count; ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
      addInput(name);
    }
  }
  if (context.inferShapes(0, nullptr) != 0) {
    throw Failure("the engine finds no output shapes for these input shapes; the messages above say why");
  }
  for (int32_t i = 0; i < count; ++i) {
    const char* name = engine.getIOTensorName(i);
    if (engine.getTensorIOMode(name) == nvinfer1::TensorIOMode::kOUTPUT) {
      addOutput(name);
    }
  }
}

void Bindings::checkNames() const {
  std::vector<std::string> inputs;
  std::string list;
  for (int32_t i = 0; i < engine_.getNbIOTensors(); ++i) {
    const char* name = engine_.getIOTensorName(i);
    if (engine_.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT) {
      inputs.emplace_back(name);
      list += fmt::format("{}'{}'", list.empty() ? "" : ", ", name);
    }
  }
  const auto check = [&](std::string_view flag, const std::string& pattern) {
    if (std::none_of(inputs.begin(), inputs.end(),
                     [&](const std::string& name) { return matchesName(pattern, name); })) {
      throw Failure("{} names an input '{}', which the engine does not have; its inputs are {}", flag, pattern, list);
    }
  };
  for (const auto& [pattern, shape] : options_.shapes) {
    check("--shapes", pattern);
  }
  for (const auto& [name, file] : options_.inputFiles) {
    check("--loadInputs", name);
  }
}

BoundTensor Bindings::describe(const char* name) const {
  BoundTensor tensor;
  tensor.name = name;
  tensor.isInput = engine_.getTensorIOMode(name) == nvinfer1::TensorIOMode::kINPUT;
  tensor.onHost = engine_.getTensorLocation(name) == nvinfer1::TensorLocation::kHOST;
  tensor.view.name = name;
  tensor.view.type = engine_.getTensorDataType(name);
  if (!tensor.onHost) {
    tensor.view.vectorDimension = engine_.getTensorVectorizedDim(name, options_.profile);
    tensor.view.components = std::max(1, engine_.getTensorComponentsPerElement(name, options_.profile));
  }
  return tensor;
}

void Bindings::allocate(BoundTensor& tensor) const {
  tensor.bytes = storedBytes(tensor.view);
  if (tensor.onHost) {
    tensor.host = Memory(MemoryKind::kHost, tensor.bytes);
  } else if (options_.managedMemory) {
    tensor.host = Memory(MemoryKind::kManaged, tensor.bytes);
  } else {
    tensor.host = Memory(MemoryKind::kHost, tensor.bytes);
    tensor.device = Memory(MemoryKind::kDevice, tensor.bytes);
  }
}

void Bindings::resolveInputShape(BoundTensor& tensor) {
  const Shape own = toShape(engine_.getTensorShape(tensor.name.c_str()));
  const Shape* wanted = findShape(options_.shapes, tensor.name);
  tensor.view.shape = own;
  if (wanted == nullptr && isOpen(own)) {
    const auto best =
        engine_.getProfileShape(tensor.name.c_str(), options_.profile, nvinfer1::OptProfileSelector::kOPT);
    tensor.view.shape = toShape(best);
    if (announce_) {
      warn("input '{}' is {} in the engine and --shapes does not name it: it runs as {}", tensor.name, shapeText(own),
           shapeText(tensor.view.shape));
    }
  } else if (wanted != nullptr) {
    tensor.view.shape = *wanted;
  }
  if (!context_.setInputShape(tensor.name.c_str(), toDims(tensor.view.shape))) {
    throw Failure("input '{}' is {} in the engine and does not accept the shape {} with optimization profile {}",
                  tensor.name, shapeText(own), shapeText(tensor.view.shape), options_.profile);
  }
}

//! --shapes gives the values of a shape input, not its extents.
void Bindings::resolveShapeValues(BoundTensor& tensor) {
  const char* name = tensor.name.c_str();
  tensor.view.shape = toShape(engine_.getTensorShape(name));
  const Shape* wanted = findShape(options_.shapes, tensor.name);
  if (isOpen(tensor.view.shape)) {
    tensor.view.shape = {static_cast<int64_t>(wanted == nullptr ? 1 : wanted->size())};
    if (!context_.setInputShape(name, toDims(tensor.view.shape))) {
      throw Failure("shape input '{}' does not accept {} values", name, tensor.view.shape[0]);
    }
  }
  const auto count = static_cast<size_t>(tensor.view.volume());
  allocate(tensor);
  if (options_.inputFiles.count(tensor.name) != 0) {
    fillInput(tensor);
    return;
  }
  if (wanted != nullptr && wanted->size() != count) {
    throw Failure("shape input '{}' has {} values; --shapes gives {}", name, count, wanted->size());
  }
  const int64_t* best = engine_.getProfileTensorValuesV2(name, options_.profile, nvinfer1::OptProfileSelector::kOPT);
  for (size_t i = 0; i < count; ++i) {
    const int64_t value = wanted != nullptr ? (*wanted)[i] : (best != nullptr ? best[i] : 1);
    writeElement(tensor.view.type, tensor.host.get(), i, static_cast<double>(value));
  }
}

void Bindings::addInput(const char* name) {
  BoundTensor tensor = describe(name);
  if (tensor.onHost) {
    resolveShapeValues(tensor);
    if (!context_.setTensorAddress(name, tensor.host.get())) {
      throw Failure("the context does not accept the values of shape input '{}'", name);
    }
  } else {
    resolveInputShape(tensor);
    allocate(tensor);
    fillInput(tensor);
  }
  tensor.view.data = tensor.host.get();
  if (announce_) {
    info("Input binding for {} with dimensions {} is created.", name, shapeText(tensor.view.shape));
  }
  tensors_.push_back(std::move(tensor));
}

void Bindings::fillInput(BoundTensor& tensor) {
  const auto file = std::find_if(options_.inputFiles.begin(), options_.inputFiles.end(),
                                 [&](const auto& entry) { return matchesName(entry.first, tensor.name); });
  if (file == options_.inputFiles.end()) {
    if (announce_) {
      info("Using random values for input {}", tensor.name);
    }
    const size_t elements = tensor.bytes * 8 / bitsPerElement(tensor.view.type);
    fillRandom(tensor.view.type, tensor.host.get(), elements, tensor.name);
    return;
  }
  if (announce_) {
    info("Using values loaded from {} for input {}", file->second, tensor.name);
  }
  const files::InputFile data = readFile(file->second, fmt::format("values of input '{}'", tensor.name));
  if (data.size() != tensor.bytes) {
    throw Failure("the file '{}' has {} bytes; input '{}' is {} {} and takes {} bytes", file->second, data.size(),
                  tensor.name, dataTypeName(tensor.view.type), shapeText(tensor.view.shape), tensor.bytes);
  }
  std::memcpy(tensor.host.get(), data.data(), data.size());
}

void Bindings::addOutput(const char* name) {
  BoundTensor tensor = describe(name);
  tensor.view.shape = toShape(context_.getTensorShape(name));
  if (isOpen(tensor.view.shape)) {
    tensor.growing = std::make_unique<GrowingOutput>();
  } else {
    if (tensor.view.vectorDimension >= 0) {
      tensor.view.strides = toShape(context_.getTensorStrides(name));
    }
    allocate(tensor);
    tensor.view.data = tensor.host.get();
  }
  if (announce_) {
    info("Output binding for {} with dimensions {} is created.", name, shapeText(tensor.view.shape));
  }
  tensors_.push_back(std::move(tensor));
}

void Bindings::bind(nvinfer1::IExecutionContext& context) const {
  for (const BoundTensor& tensor : tensors_) {
    const bool done = tensor.growing ? context.setOutputAllocator(tensor.name.c_str(), tensor.growing.get())
                                     : context.setTensorAddress(tensor.name.c_str(), tensor.engineAddress());
    if (!done) {
      throw Failure("the context does not accept the address of tensor '{}'", tensor.name);
    }
  }
}

void Bindings::copyInputs(cudaStream_t stream) const {
  for (const BoundTensor& tensor : tensors_) {
    if (tensor.isInput && tensor.device.get() != nullptr && tensor.bytes != 0) {
      checkCuda(cudaMemcpyAsync(tensor.device.get(), tensor.host.get(), tensor.bytes, cudaMemcpyHostToDevice, stream),
                "copying an input to the device");
    }
  }
}

void Bindings::copyOutputs(cudaStream_t stream) {
  for (BoundTensor& tensor : tensors_) {
    if (tensor.isInput) {
      continue;
    }
    const void* source = tensor.device.get();
    if (tensor.growing != nullptr) {
      source = tensor.growing->memory();
      tensor.view.shape = tensor.growing->shape();
      const size_t bytes = isOpen(tensor.view.shape) ? 0 : storedBytes(tensor.view);
      if (bytes > tensor.bytes || tensor.host.get() == nullptr) {
        tensor.host = Memory(MemoryKind::kHost, bytes);
      }
      tensor.bytes = bytes;
      tensor.view.data = tensor.host.get();
    }
    if (source != nullptr && tensor.bytes != 0) {
      checkCuda(cudaMemcpyAsync(tensor.host.get(), source, tensor.bytes, cudaMemcpyDeviceToHost, stream),
                "copying an output to the host");
    }
  }
}

std::vector<TensorView> Bindings::hostViews(bool inputs) const {
  std::vector<TensorView> views;
  for (const BoundTensor& tensor : tensors_) {
    if (tensor.isInput == inputs) {
      views.push_back(tensor.view);
    }
  }
  return views;
}

}  // namespace tenon::trtexec
