// SPDX-License-Identifier: Apache-2.0
// Calibrators and selectors of algorithms, as classes in Python define them for a build.
#include <pybind11/stl.h>

#include "module.h"

namespace tenon::python {

namespace {

using nvinfer1::CalibrationAlgoType;
using nvinfer1::IInt8Calibrator;

// What all calibrators do alike; kBase is the class that knows its algorithm.
template <class Base>
class PythonCalibrator : public Base {
 public:
  int32_t getBatchSize() const noexcept override {
    return fromLibrary("IInt8Calibrator.get_batch_size", -1,
                       [&] { return definedIn(base(), "get_batch_size")().template cast<int32_t>(); });
  }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    return fromLibrary("IInt8Calibrator.get_batch", false, [&] {
      py::list list;
      for (int32_t i = 0; i < count; ++i) list.append(textOf(names[i]));
      const py::object answer = definedIn(base(), "get_batch")(list);
      if (answer.is_none()) return false;  // no more batches
      const auto addresses = answer.cast<std::vector<size_t>>();
      if (addresses.size() != static_cast<size_t>(count)) {
        if (addresses.empty()) return false;
        throw py::value_error("get_batch() returned " + std::to_string(addresses.size()) + " addresses; expected " +
                              std::to_string(count));
      }
      for (int32_t i = 0; i < count; ++i) bindings[i] = pointerOf<void*>(addresses[i]);
      return true;
    });
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    return read("read_calibration_cache", cache_, length);
  }
  void writeCalibrationCache(const void* data, std::size_t length) noexcept override {
    write("write_calibration_cache", data, length);
  }

 protected:
  const void* read(const char* name, std::string& kept, std::size_t& length) noexcept {
    length = 0;
    return fromLibrary<const void*>(name, nullptr, [&]() -> const void* {
      const py::object answer = definedIn(base(), name)();
      if (answer.is_none()) return nullptr;
      const Bytes bytes(answer);
      kept.assign(static_cast<const char*>(bytes.data()), bytes.size());  // lives until the next question
      length = kept.size();
      return kept.data();
    });
  }
  void write(const char* name, const void* data, std::size_t length) noexcept {
    fromLibrary(name, [&] { definedIn(base(), name)(py::bytes(static_cast<const char*>(data), length)); });
  }
  const Base* base() const { return this; }

 private:
  std::string cache_;
};

class PythonAnyCalibrator : public PythonCalibrator<IInt8Calibrator> {
 public:
  nvinfer1::InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return fromLibrary("IInt8Calibrator.get_algorithm", CalibrationAlgoType::kENTROPY_CALIBRATION_2,
                       [&] { return definedIn(base(), "get_algorithm")().cast<CalibrationAlgoType>(); });
  }
};

class PythonLegacyCalibrator : public PythonCalibrator<nvinfer1::IInt8LegacyCalibrator> {
 public:
  double getQuantile() const noexcept override { return number("get_quantile"); }
  double getRegressionCutoff() const noexcept override { return number("get_regression_cutoff"); }
  const void* readHistogramCache(std::size_t& length) noexcept override {
    return read("read_histogram_cache", histogram_, length);
  }
  void writeHistogramCache(const void* data, std::size_t length) noexcept override {
    write("write_histogram_cache", data, length);
  }

 private:
  double number(const char* name) const noexcept {
    return fromLibrary(name, 0.5, [&] { return definedIn(base(), name)().cast<double>(); });
  }
  std::string histogram_;
};

template <class T, class Trampoline, class... Base>
void declareCalibrator(py::module_& module, const char* name) {
  py::class_<T, Base..., Trampoline>(module, name)
      .def(py::init<>())
      .def("get_batch_size", &T::getBatchSize)
      .def("get_algorithm", &T::getAlgorithm)
      .def(
          "get_batch",
          [](T& self, const std::vector<std::string>& names) -> py::object {
            std::vector<const char*> texts;
            for (const std::string& text : names) texts.push_back(text.c_str());
            std::vector<void*> addresses(names.size());
            if (!self.getBatch(addresses.data(), texts.data(), static_cast<int32_t>(names.size()))) return py::none();
            py::list numbers;
            for (const void* address : addresses) numbers.append(numberOf(address));
            return numbers;
          },
          py::arg("names"))
      .def("read_calibration_cache",
           [](T& self) -> py::object {
             std::size_t length = 0;
             const void* const data = self.readCalibrationCache(length);
             return data ? py::object(py::bytes(static_cast<const char*>(data), length)) : py::none();
           })
      .def(
          "write_calibration_cache",
          [](T& self, const py::buffer& cache) {
            const Bytes bytes(cache);
            self.writeCalibrationCache(bytes.data(), bytes.size());
          },
          py::arg("cache"));
}

using nvinfer1::IAlgorithm;
using nvinfer1::IAlgorithmContext;
using nvinfer1::IAlgorithmSelector;

class PythonAlgorithmSelector : public IAlgorithmSelector {
 public:
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices, int32_t count,
                           int32_t* selection) noexcept override {
    return fromLibrary("IAlgorithmSelector.select_algorithms", -1, [&] {
      const IAlgorithmSelector* const self = this;
      const auto chosen = definedIn(self, "select_algorithms")(reference(&context), references(choices, count))
                              .cast<std::vector<int32_t>>();
      if (chosen.size() > static_cast<size_t>(count)) {
        throw py::value_error("select_algorithms() returned " + std::to_string(chosen.size()) + " choices of " +
                              std::to_string(count));
      }
      std::copy(chosen.begin(), chosen.end(), selection);
      return static_cast<int32_t>(chosen.size());
    });
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    fromLibrary("IAlgorithmSelector.report_algorithms", [&] {
      const IAlgorithmSelector* const self = this;
      definedIn(self, "report_algorithms")(references(contexts, count), references(choices, count));
    });
  }

 private:
  template <class T>
  static py::object reference(const T* object) {
    return py::cast(object, py::return_value_policy::reference);
  }
  template <class T>
  static py::list references(const T* const* objects, int32_t count) {
    py::list list;
    for (int32_t i = 0; i < count; ++i) list.append(reference(objects[i]));
    return list;
  }
};

std::vector<const IAlgorithm*> pointersOf(const py::list& list) {
  std::vector<const IAlgorithm*> pointers;
  for (const py::handle item : list) pointers.push_back(item.cast<const IAlgorithm*>());
  return pointers;
}

}  // namespace

void declareBuildInterfaces(py::module_& module) {
  declareCalibrator<IInt8Calibrator, PythonAnyCalibrator>(module, "IInt8Calibrator");
  using namespace nvinfer1;
  declareCalibrator<IInt8LegacyCalibrator, PythonLegacyCalibrator, IInt8Calibrator>(module, "IInt8LegacyCalibrator");
  declareCalibrator<IInt8EntropyCalibrator, PythonCalibrator<IInt8EntropyCalibrator>, IInt8Calibrator>(
      module, "IInt8EntropyCalibrator");
  declareCalibrator<IInt8EntropyCalibrator2, PythonCalibrator<IInt8EntropyCalibrator2>, IInt8Calibrator>(
      module, "IInt8EntropyCalibrator2");
  declareCalibrator<IInt8MinMaxCalibrator, PythonCalibrator<IInt8MinMaxCalibrator>, IInt8Calibrator>(
      module, "IInt8MinMaxCalibrator");
  py::class_<IAlgorithmSelector, PythonAlgorithmSelector>(module, "IAlgorithmSelector")
      .def(py::init<>())
      .def(
          "select_algorithms",
          [](IAlgorithmSelector& self, const IAlgorithmContext& context, const py::list& choices) {
            const auto pointers = pointersOf(choices);
            std::vector<int32_t> chosen(pointers.size());
            const int32_t count =
                self.selectAlgorithms(context, pointers.data(), static_cast<int32_t>(pointers.size()), chosen.data());
            chosen.resize(static_cast<size_t>(std::max(count, 0)));
            return chosen;
          },
          py::arg("context"), py::arg("choices"))
      .def(
          "report_algorithms",
          [](IAlgorithmSelector& self, const py::list& contexts, const py::list& choices) {
            std::vector<const IAlgorithmContext*> list;
            for (const py::handle item : contexts) list.push_back(item.cast<const IAlgorithmContext*>());
            const auto pointers = pointersOf(choices);
            const size_t count = std::min(list.size(), pointers.size());
            self.reportAlgorithms(list.data(), pointers.data(), static_cast<int32_t>(count));
          },
          py::arg("contexts"), py::arg("choices"));
}

}  // namespace tenon::python
