// The parts that run without an engine: log, progress, files, the version in an engine file.
#include "../../tools/trtexec/run/failure.h"
#include "../../tools/trtexec/run/files.h"
#include "../../tools/trtexec/run/log.h"
#include "../../tools/trtexec/run/plan_version.h"
#include "../../tools/trtexec/run/progress.h"

#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <regex>
#include <thread>

namespace tenon::trtexec {
namespace {

using Severity = nvinfer1::ILogger::Severity;

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
  EXPECT_NE(seen.out.find("outer [====            ] 1/4 > inner [                ] 0/10"), std::string::npos) << seen.out;
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

TEST(Progress, AnInterruptCancelsTheBuild) {
  Progress progress(false);
  const InterruptScope scope;
  EXPECT_TRUE(progress.stepComplete("any", 0));
  std::raise(SIGINT);
  EXPECT_TRUE(wasInterrupted());
  EXPECT_FALSE(progress.stepComplete("any", 1));
}

TEST(Files, RoundTripOfAllSizes) {
  for (const size_t bytes : {size_t{0}, size_t{1}, size_t{4099}, size_t{3} << 20}) {
    const std::string path = fresh("data");
    std::vector<char> data(bytes);
    for (size_t i = 0; i < bytes; ++i) {
      data[i] = static_cast<char>(i * 31);
    }
    writeFile(path, data.data(), data.size(), "test");
    EXPECT_EQ(readFile(path, "test"), data);
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

} // namespace
} // namespace tenon::trtexec
