// The parts that run without an engine: log, progress, files, the version in an engine file.
#include "../../tools/trtexec/run/failure.h"
#include "../../tools/trtexec/run/files.h"
#include "../../tools/trtexec/run/log.h"
#include "../../tools/trtexec/run/plan_version.h"
#include "../../tools/trtexec/run/progress.h"
#include "process/interrupt.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <regex>
#include <thread>

namespace tenon::trtexec {
namespace {

using Severity = nvinfer1::ILogger::Severity;
using tools::interruptName;
using tools::InterruptScope;
using tools::interruptSignal;
using tools::UnfinishedFile;
using tools::wasInterrupted;

//! A path in a fresh folder of this test case.
std::string fresh(const std::string& name) {
  char folder[] = "/tmp/trtexec_test_XXXXXX";
  return std::string(mkdtemp(folder)) + "/" + name;
}

struct Captured {
  std::string out;
  std::string err;
};

template <typename Function>
Captured capture(Function&& function) {
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  function();
  std::fflush(stdout);
  return {testing::internal::GetCapturedStdout(), testing::internal::GetCapturedStderr()};
}

TEST(Log, LinesHaveTheFormOfTensorRT) {
  const Captured seen = capture([] {
    info("a {}", 1);
    warn("b\nc");
    error("d");
    verbose("e");
    theLog().log(Severity::kINFO, "f");
    theLog().log(Severity::kVERBOSE, "g");
  });
  const std::string date = R"(\[\d\d/\d\d/\d{4}-\d\d:\d\d:\d\d\])";
  EXPECT_TRUE(std::regex_match(seen.out, std::regex(date + R"( \[I\] a 1\n)" + date + R"( \[W\] b\n)" + date +
                                                    R"( \[W\] c\n)" + date + R"( \[I\] \[TRT\] f\n)")))
      << seen.out;
  EXPECT_TRUE(std::regex_match(seen.err, std::regex(date + R"( \[E\] d\n)"))) << seen.err;
}

TEST(Log, NoTextBeginsALineOrSteersTheTerminal) {
  const Captured seen = capture([] {
    info("file '{}'", "a\n&&&& PASSED\x1b[2J");
    theLog().log(Severity::kINFO, "layer\n&&&& PASSED\r\x07");
    theLog().log(Severity::kERROR, "none:\n  refused: \x9b");
    theLog().log(Severity::kERROR, nullptr);
    theLog().writeBare("&&&& RUNNING # --onnx=a\n&&&& PASSED");
  });
  EXPECT_NE(seen.out.find("] &&&& PASSED\\x1b[2J'\n"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("[TRT] layer\n  &&&& PASSED\\r\\x07\n"), std::string::npos) << seen.out;
  EXPECT_NE(seen.out.find("\n&&&& RUNNING # --onnx=a\\n&&&& PASSED\n"), std::string::npos) << seen.out;
  EXPECT_EQ(seen.out.find("\n&&&& PASSED"), std::string::npos) << seen.out;
  EXPECT_NE(seen.err.find("none:\n  refused: \\x9b\n"), std::string::npos) << seen.err;
}

TEST(Log, VerboseShowsEverything) {
  const Captured seen = capture([] {
    theLog().setVerbose(true);
    theLog().log(Severity::kVERBOSE, "g");
    theLog().setVerbose(false);
  });
  EXPECT_NE(seen.out.find("[V] [TRT] g"), std::string::npos);
}

TEST(Log, ThreadsDoNotMixLines) {
  const Captured seen = capture([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([t] {
        for (int i = 0; i < 200; ++i) {
          info("{}", std::string(50, static_cast<char>('a' + t)));
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
  });
  std::istringstream lines(seen.out);
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    ASSERT_TRUE(std::regex_search(line, std::regex(R"(\[I\] (a{50}|b{50}|c{50}|d{50})$)"))) << line;
  }
  EXPECT_EQ(count, 800);
}

TEST(Progress, PhasesNestAndVanish) {
  const Captured seen = capture([] {
    Progress progress(true);
    progress.phaseStart("outer", nullptr, 4);
    progress.stepComplete("outer", 0);
    progress.phaseStart("inner", "outer", 10);
    info("a line of the log");
    progress.phaseFinish("inner");
    progress.phaseFinish("outer");
    info("the end");
  });
  EXPECT_NE(seen.out.find("outer [====            ] 1/4 > inner [                ] 0/10"), std::string::npos)
      << seen.out;
  EXPECT_NE(seen.out.find("\r\033[K["), std::string::npos) << "the log line does not take the place of the progress";
  EXPECT_NE(seen.out.find("the end\n"), std::string::npos);
  EXPECT_EQ(seen.out.find("outer", seen.out.find("the end")), std::string::npos) << "progress stays after the end";
}

TEST(Progress, NothingIsDrawnInAFile) {
  const Captured seen = capture([] {
    Progress progress(false);
    progress.phaseStart("outer", nullptr, 4);
    progress.stepComplete("outer", 0);
  });
  EXPECT_EQ(seen.out, "");
}

TEST(Progress, LinesFitTheTerminal) {
  const std::vector<PhaseState> phases{
      {"Building Engine", 3, 1}, {"Tactic selection", 345, 17}, {"Timing /model/layer.0/Conv", 56, 7}};
  for (size_t depth = 0; depth <= phases.size(); ++depth) {
    const std::vector<PhaseState> open(phases.begin(), phases.begin() + static_cast<std::ptrdiff_t>(depth));
    for (size_t width = 0; width <= 250; ++width) {
      EXPECT_LE(progressLine(open, width).size(), width);
    }
    for (size_t i = 0; i < depth; ++i) {
      const std::string counts = fmt::format("{}/{}", phases[i].done, phases[i].steps);
      EXPECT_NE(progressLine(open, 79).find(counts), std::string::npos)
          << "the counts of phase " << i << " of " << depth;
    }
  }
  EXPECT_EQ(progressLine({phases[0], phases[1]}, 79),
            "Building Engine [====        ] 1/3 > Tactic selection [            ] 17/345");
  EXPECT_EQ(progressLine({phases[0], phases[1]}, 39), "Building E.. 1/3 > Tactic sel.. 17/345");
  EXPECT_EQ(progressLine({{"\033[2J\u00e4", 0, 3}, {"b", -1, 1 << 30}}, 79),
            "?[2J?? [                ] 3/0 > b [                ] 1073741824/-1");
}

TEST(Progress, AnInterruptCancelsTheBuild) {
  for (const auto& [signal, name] :
       {std::pair(SIGINT, "Ctrl-C (SIGINT)"), std::pair(SIGTERM, "SIGTERM"), std::pair(SIGHUP, "SIGHUP")}) {
    Progress progress(false);
    const InterruptScope scope;
    EXPECT_TRUE(progress.stepComplete("any", 0));
    std::raise(signal);
    EXPECT_TRUE(wasInterrupted());
    EXPECT_EQ(interruptSignal(), signal);
    EXPECT_EQ(interruptName(), name);
    EXPECT_FALSE(progress.stepComplete("any", 1));
  }
}

TEST(Interrupts, TheSecondOneEndsTheProcess) {
  EXPECT_EXIT(
      {
        const InterruptScope scope;
        std::raise(SIGINT);
        std::raise(SIGTERM);
      },
      testing::KilledBySignal(SIGTERM), "Once more");
}

TEST(Interrupts, AnUnfinishedFileIsRemoved) {
  const std::string path = fresh("part");
  writeFile(path, "half", "test");
  EXPECT_EXIT(
      {
        const UnfinishedFile unfinished(path);
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_FALSE(fileExists(path));
  writeFile(path, "whole", "test");
  EXPECT_EXIT(
      {
        { const UnfinishedFile unfinished(path); }
        std::raise(SIGINT);
      },
      testing::KilledBySignal(SIGINT), "");
  EXPECT_TRUE(fileExists(path));
}

TEST(Interrupts, WhatIsIgnoredStaysIgnored) {
  std::signal(SIGHUP, SIG_IGN);
  {
    const InterruptScope scope;
    std::raise(SIGHUP);
    EXPECT_FALSE(wasInterrupted());
  }
  std::raise(SIGHUP);
  std::signal(SIGHUP, SIG_DFL);
}

TEST(Files, RoundTripOfAllSizes) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4099}, size_t{3} << 20}) {
    const std::string path = fresh("data");
    std::vector<char> data(bytes);
    for (size_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<char>(i * 31);
    }
    writeFile(path, data.data(), data.size(), "test");
    EXPECT_EQ(readFile(path, "test").bytes(), std::string_view(data.data(), data.size()));
  }
}

TEST(Files, FailuresNameFileAndPurpose) {
  const auto message = [](auto&& function) {
    try {
      function();
    } catch (const Failure& failure) {
      return std::string(failure.what());
    }
    return std::string();
  };
  EXPECT_EQ(message([] { readFile("/nowhere/x", "engine"); }),
            "cannot open the file '/nowhere/x' (engine): No such file or directory");
  EXPECT_EQ(message([] { readFile("/tmp", "engine"); }), "cannot read '/tmp' (engine): it is a folder");
  const std::string model = fresh("model");
  writeFile(model, "\x08\x07 a model", "test");
  EXPECT_NE(message([&] { readPlan(model); }).find("a model becomes an engine by --onnx="), std::string::npos);
  EXPECT_EQ(message([] { writeFile("/nowhere/x", "text", "times"); }),
            "cannot write 4 bytes to the file '/nowhere/x' (times): No such file or directory");
}

TEST(Files, NamesBecomeSafe) { EXPECT_EQ(fileNamePart("a/b:0 c.d-e_f"), "a_b_0_c.d-e_f"); }

TEST(PlanVersion, IsReadFromTheHead) {
  const std::string path = fresh("engine");
  // 10.16.0 is 0x00018ce0, 1.2.3 is 0x000027db.
  const std::string head("TENONPLN\1\0\0\0\x80\0\0\0\xdb\x27\0\0\xe0\x8c\1\0rest", 28);
  writeFile(path, head, "test");
  EXPECT_NE(capture([&] { printPlanVersion(path); }).out.find("created with TensorRT version 10.16.0, by Tenon 1.2.3"),
            std::string::npos);
  for (size_t length = 0; length < 24; ++length) {
    writeFile(path, head.substr(0, length), "test");
    EXPECT_THROW(printPlanVersion(path), Failure) << length;
  }
  writeFile(path, "ftrt, and then something that is not ours", "test");
  EXPECT_THROW(printPlanVersion(path), Failure);
}

}  // namespace
}  // namespace tenon::trtexec
