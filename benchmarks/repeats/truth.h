// What all executions of a network must agree with: the first results of the same inputs.
#pragma once

#include <map>
#include <mutex>

#include "device.h"

namespace repeats {

using Results = std::vector<std::vector<char>>;  // by output

// What of the network all rounds share: tensors, values of inputs, the first results.
class Truth {
 public:
  Truth(const nv::ICudaEngine& engine, nv::IExecutionContext& context, int sets) {
    std::mt19937_64 random(1);
    for (int i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* const name = engine.getIOTensorName(i);
      const auto type = engine.getTensorDataType(name);
      const auto dims = context.getTensorShape(name);
      size_t bytes = bitsOf(type) / 8;
      for (int axis = 0; axis < dims.nbDims; ++axis) {
        if (dims.d[axis] < 0) fail(std::string("its shape is not known before the execution: ") + name);
        bytes *= static_cast<size_t>(dims.d[axis]);
      }
      if (engine.getTensorFormat(name) != nv::TensorFormat::kLINEAR) fail(std::string("not linear: ") + name);
      const bool isInput = engine.getTensorIOMode(name) == nv::TensorIOMode::kINPUT;
      (isInput ? inputs : outputs).push_back({name, type, bytes});
    }
    for (int set = 0; set < sets; ++set) {
      values_.emplace_back();
      for (const auto& input : inputs) {
        const auto bytes = randomValues(input, random);
        values_.back().emplace_back(bytes.size());
        check(cudaMemcpy(values_.back().back().data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "copy");
      }
    }
    first_.resize(static_cast<size_t>(sets));
  }
  const DeviceMemory& value(size_t set, size_t input) const { return values_[set][input]; }
  size_t sets() const { return values_.size(); }

  // Thread-safe.
  void compare(const std::string& way, size_t set, Results results) {
    const std::lock_guard lock(mutex_);
    auto& count = counts_[way];
    ++count.executions;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (isFinite(outputs[i], results[i])) continue;
      ++notFinite_;
      break;
    }
    if (first_[set].empty()) {
      first_[set] = std::move(results);
    } else if (first_[set] != results) {
      ++count.different;
      describe(way, set, results);
    }
  }

  // Returns how many results differ.
  int report() const {
    Count all;
    for (const auto& [way, count] : counts_) {
      std::printf("%s %d %d\n", way.c_str(), count.executions, count.different);
      all.executions += count.executions;
      all.different += count.different;
    }
    std::printf("all %d %d\nnot_finite %d\n", all.executions, all.different, notFinite_);
    return all.different;
  }

  std::vector<Tensor> inputs, outputs;

 private:
  struct Count {
    int executions = 0, different = 0;
  };

  void describe(const std::string& way, size_t set, const Results& results) {
    constexpr int kDescribed = 8;
    if (++described_ > kDescribed) return;
    for (size_t i = 0; i < results.size(); ++i) {
      const auto &now = results[i], &before = first_[set][i];
      const size_t size = bitsOf(outputs[i].type) / 8;
      size_t different = 0, place = 0;
      for (size_t at = 0; at + size <= now.size(); at += size) {
        if (std::memcmp(now.data() + at, before.data() + at, size) == 0) continue;
        if (different++ == 0) place = at / size;
      }
      if (different == 0) continue;
      std::printf("different: %s, execution %d, inputs %zu, output %s: %zu of %zu elements, the first is %zu",
                  way.c_str(), counts_[way].executions, set, outputs[i].name.c_str(), different, now.size() / size,
                  place);
      if (outputs[i].type == nv::DataType::kFLOAT) {
        float a = 0, b = 0;
        std::memcpy(&a, before.data() + place * 4, 4);
        std::memcpy(&b, now.data() + place * 4, 4);
        std::printf(", %.9g before and %.9g now", static_cast<double>(a), static_cast<double>(b));
      }
      std::printf("\n");
    }
  }

  std::mutex mutex_;
  std::vector<std::vector<DeviceMemory>> values_;  // by set and input
  std::vector<Results> first_;                     // by set
  std::map<std::string, Count> counts_;
  int notFinite_ = 0, described_ = 0;
};

}  // namespace repeats
