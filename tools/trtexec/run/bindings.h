// The memory of all inputs and outputs of one execution context, on both sides, and what is in it.
#pragma once

#include "../options/options.h"
#include "../report/exports.h"
#include "cuda.h"

#include <NvInferRuntime.h>

#include <memory>
#include <string>
#include <vector>

namespace tenon::trtexec {

//! Memory of an output whose shape only the inference itself finds out.
class GrowingOutput final : public nvinfer1::IOutputAllocator {
 public:
  void* reallocateOutputAsync(const char* tensorName, void* currentMemory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override;
  void notifyShape(const char* tensorName, const nvinfer1::Dims& dims) noexcept override;

  void* memory() const { return memory_.get(); }
  const Shape& shape() const { return shape_; }

 private:
  Memory memory_;
  uint64_t size_ = 0;
  Shape shape_;
};

//! One input or output.
struct BoundTensor {
  std::string name;
  bool isInput = false;
  //! Shape values and the like: the engine reads or writes them on the host.
  bool onHost = false;
  TensorView view;
  size_t bytes = 0;
  Memory device;
  Memory host;
  std::unique_ptr<GrowingOutput> growing;

  void* engineAddress() const { return onHost || device.get() == nullptr ? host.get() : device.get(); }
};

class Bindings {
 public:
  //! Sets the input shapes of the context, allocates, and fills the inputs. `announce` logs what is made.
  Bindings(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext& context, const InferenceOptions& options,
           bool announce);

  //! Gives the context all addresses.
  void bind(nvinfer1::IExecutionContext& context) const;

  //! Start the transfers; nothing happens with managed memory, where both sides are one.
  void copyInputs(cudaStream_t stream) const;
  void copyOutputs(cudaStream_t stream);

  const std::vector<BoundTensor>& tensors() const { return tensors_; }
  //! The inputs or the outputs, as they are on the host. Copy and wait first.
  std::vector<TensorView> hostViews(bool inputs) const;

 private:
  BoundTensor describe(const char* name) const;
  void addInput(const char* name);
  void addOutput(const char* name);
  void resolveInputShape(BoundTensor& tensor);
  void resolveShapeValues(BoundTensor& tensor);
  void fillInput(BoundTensor& tensor);
  void allocate(BoundTensor& tensor) const;
  void checkNames() const;

  const nvinfer1::ICudaEngine& engine_;
  nvinfer1::IExecutionContext& context_;
  const InferenceOptions& options_;
  bool announce_;
  std::vector<BoundTensor> tensors_;
};

}  // namespace tenon::trtexec
