// SPDX-License-Identifier: Apache-2.0
// What is told something: loggers, profilers, recorders of errors, monitors of progress, listeners to tensors.
#include "module.h"

#include <pthread.h>

#include <atomic>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <mutex>

namespace tenon::python {

void declareSeverity(py::handle scope);

namespace {

using nvinfer1::ILogger;
using Severity = nvinfer1::ILogger::Severity;

class PythonLogger : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    fromLibrary("ILogger.log", [&] { definedIn<ILogger>(this, "log")(severity, textOf(message)); });
  }
};

// The C library reads time zones under a lock that a fork leaves as it is: no thread of ours may hold it then.
std::mutex clockMutex;

__attribute__((constructor)) void keepClockFromForks() {
  pthread_atfork([] { clockMutex.lock(); }, [] { clockMutex.unlock(); }, [] { clockMutex.unlock(); });
}

std::string timeOfDay() {
  char time[32];
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  const std::lock_guard lock(clockMutex);
  localtime_r(&now, &parts);
  std::strftime(time, sizeof time, "%m/%d/%Y-%H:%M:%S", &parts);
  return time;
}

// Writes to standard error what is severe enough, each message by one call: whole lines need no lock of ours.
class Logger : public ILogger {
 public:
  explicit Logger(Severity least) : least_(least) {}

  void log(Severity severity, const char* message) noexcept override {
    if (severity > least_) return;
    constexpr char kLetters[] = "FEWIV";
    const auto place = static_cast<size_t>(severity) < 5 ? static_cast<size_t>(severity) : 4;
    const std::string line = "[" + timeOfDay() + "] [TRT] [" + kLetters[place] + "] " + (message ? message : "") + "\n";
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  Severity least() const { return least_; }
  void setLeast(Severity least) { least_ = least; }

 private:
  std::atomic<Severity> least_;
};

// A class in Python that derives from Logger and defines log().
class DerivedLogger : public Logger {
 public:
  using Logger::Logger;
  void log(Severity severity, const char* message) noexcept override {
    const bool called = fromLibrary("Logger.log", false, [&] {
      const py::function found = py::get_override(static_cast<const Logger*>(this), "log");
      if (found) found(severity, textOf(message));
      return static_cast<bool>(found);
    });
    if (!called) Logger::log(severity, message);
  }
};

void declareLoggers(py::module_& module) {
  py::class_<ILogger, PythonLogger> base(module, "ILogger");
  declareSeverity(base);
  base.def(py::init<>()).def("log", &ILogger::log, py::arg("severity"), py::arg("msg"));
  for (const auto& [name, value] : py::cast<py::dict>(base.attr("Severity").attr("__members__")))
    base.attr(name) = value;
  py::class_<Logger, ILogger, DerivedLogger>(module, "Logger")
      .def(py::init<Severity>(), py::arg("min_severity") = Severity::kWARNING)
      .def_property("min_severity", &Logger::least, &Logger::setLeast)
      .def(
          "log", [](Logger& self, Severity severity, const char* message) { self.Logger::log(severity, message); },
          py::arg("severity"), py::arg("msg"));
}

using nvinfer1::IProfiler;

class PythonProfiler : public IProfiler {
 public:
  void reportLayerTime(const char* layer, float milliseconds) noexcept override {
    fromLibrary("IProfiler.report_layer_time",
                [&] { definedIn<IProfiler>(this, "report_layer_time")(textOf(layer), milliseconds); });
  }
};

// Writes each time to standard output.
class Profiler : public IProfiler {
 public:
  void reportLayerTime(const char* layer, float milliseconds) noexcept override {
    std::cout << (std::string(layer ? layer : "") + ": " + std::to_string(milliseconds) + "ms\n") << std::flush;
  }
};

void declareProfilers(py::module_& module) {
  py::class_<IProfiler, PythonProfiler>(module, "IProfiler")
      .def(py::init<>())
      .def("report_layer_time", &IProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"));
  py::class_<Profiler, IProfiler>(module, "Profiler")
      .def(py::init<>())
      .def("report_layer_time", &IProfiler::reportLayerTime, py::arg("layer_name"), py::arg("ms"));
}

using nvinfer1::IErrorRecorder;

class PythonErrorRecorder : public IErrorRecorder {
 public:
  int32_t getNbErrors() const noexcept override {
    return fromLibrary("IErrorRecorder.get_num_errors", 0, [&] {
      py::function found = py::get_override(base(), "get_num_errors");
      if (!found) found = definedIn(base(), "num_errors");
      return found().cast<int32_t>();
    });
  }
  nvinfer1::ErrorCode getErrorCode(int32_t index) const noexcept override {
    return fromLibrary("IErrorRecorder.get_error_code", nvinfer1::ErrorCode::kUNSPECIFIED_ERROR,
                       [&] { return definedIn(base(), "get_error_code")(index).cast<nvinfer1::ErrorCode>(); });
  }
  const char* getErrorDesc(int32_t index) const noexcept override {
    return fromLibrary<const char*>("IErrorRecorder.get_error_desc", "", [&] {
      text_ = definedIn(base(), "get_error_desc")(index).cast<std::string>();  // lives until the next question
      return text_.c_str();
    });
  }
  bool hasOverflowed() const noexcept override {
    return fromLibrary("IErrorRecorder.has_overflowed", false,
                       [&] { return definedIn(base(), "has_overflowed")().cast<bool>(); });
  }
  void clear() noexcept override {
    fromLibrary("IErrorRecorder.clear", [&] { definedIn(base(), "clear")(); });
  }
  bool reportError(nvinfer1::ErrorCode code, const char* text) noexcept override {
    return fromLibrary("IErrorRecorder.report_error", false, [&] {
      const py::object answer = definedIn(base(), "report_error")(code, textOf(text));
      return answer.is_none() || answer.cast<bool>();
    });
  }
  RefCount incRefCount() noexcept override { return ++count_; }
  RefCount decRefCount() noexcept override { return --count_; }

 private:
  const IErrorRecorder* base() const { return this; }
  std::atomic<RefCount> count_{0};
  mutable std::string text_;
};

void declareErrorRecorder(py::module_& module) {
  py::class_<IErrorRecorder, PythonErrorRecorder>(module, "IErrorRecorder")
      .def(py::init<>())
      .def_property_readonly_static("MAX_DESC_LENGTH",
                                    [](const py::object&) { return IErrorRecorder::kMAX_DESC_LENGTH; })
      .def("num_errors", &IErrorRecorder::getNbErrors)
      .def("get_error_code", &IErrorRecorder::getErrorCode)
      .def("get_error_desc", &IErrorRecorder::getErrorDesc)
      .def("has_overflowed", &IErrorRecorder::hasOverflowed)
      .def("clear", &IErrorRecorder::clear)
      .def("report_error", &IErrorRecorder::reportError);
}

using nvinfer1::IProgressMonitor;

// A step that raises stops the build, whose call then raises the exception.
class PythonProgressMonitor : public IProgressMonitor {
 public:
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    fromLibrary("IProgressMonitor.phase_start",
                [&] { definedIn(base(), "phase_start")(textOf(phase), textOf(parent), steps); });
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    return fromLibrary("IProgressMonitor.step_complete", false,
                       [&] { return definedIn(base(), "step_complete")(textOf(phase), step).cast<bool>(); });
  }
  void phaseFinish(const char* phase) noexcept override {
    fromLibrary("IProgressMonitor.phase_finish", [&] { definedIn(base(), "phase_finish")(textOf(phase)); });
  }

 private:
  const IProgressMonitor* base() const { return this; }
};

using nvinfer1::IDebugListener;

class PythonDebugListener : public IDebugListener {
 public:
  bool processDebugTensor(const void* address, nvinfer1::TensorLocation location, nvinfer1::DataType type,
                          const nvinfer1::Dims& shape, const char* name, cudaStream_t stream) override {
    return fromLibrary("IDebugListener.process_debug_tensor", false, [&] {
      const IDebugListener* const self = this;
      const py::object answer = definedIn(self, "process_debug_tensor")(numberOf(address), location, type, shape,
                                                                        textOf(name), numberOf(stream));
      return answer.is_none() || answer.cast<bool>();
    });
  }
};

}  // namespace

void declareWatchers(py::module_& module) {
  declareLoggers(module);
  declareProfilers(module);
  declareErrorRecorder(module);
  py::class_<IProgressMonitor, PythonProgressMonitor>(module, "IProgressMonitor")
      .def(py::init<>())
      .def("phase_start", &IProgressMonitor::phaseStart, py::arg("phase_name"), py::arg("parent_phase"),
           py::arg("num_steps"))
      .def("step_complete", &IProgressMonitor::stepComplete, py::arg("phase_name"), py::arg("step"))
      .def("phase_finish", &IProgressMonitor::phaseFinish, py::arg("phase_name"));
  py::class_<IDebugListener, PythonDebugListener>(module, "IDebugListener")
      .def(py::init<>())
      .def(
          "process_debug_tensor",
          [](IDebugListener& self, size_t address, nvinfer1::TensorLocation location, nvinfer1::DataType type,
             const nvinfer1::Dims& shape, const char* name, size_t stream) {
            return self.processDebugTensor(pointerOf<void*>(address), location, type, shape, name,
                                           pointerOf<cudaStream_t>(stream));
          },
          py::arg("addr"), py::arg("location"), py::arg("type"), py::arg("shape"), py::arg("name"), py::arg("stream"));
}

}  // namespace tenon::python
