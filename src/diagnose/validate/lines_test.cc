#include "src/diagnose/validate/lines.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "src/diagnose/validate/view.h"

namespace kgpu::validate {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(LineReaderTest, TakesLinesInPiecesOfAnySize) {
  Report report;
  const SteadyTime start{};
  LineReader lines(report, start);
  lines.Take("begin lo", start);
  lines.Take("ad\nset name NVIDIA A100 MIG\nbegin init\nset h2d 12.5e9\n", start + milliseconds(5));
  EXPECT_EQ(lines.phase(), "init");
  EXPECT_EQ(report.name, "NVIDIA A100 MIG");
  EXPECT_EQ(report.host_to_device, 12.5e9);
  EXPECT_FALSE(lines.is_finished());
  lines.Take("done\n", start + milliseconds(9));
  EXPECT_TRUE(lines.is_finished());
  EXPECT_EQ(report.outcome, Outcome::kPassed);
  ASSERT_EQ(report.phases.size(), 2U);
  EXPECT_EQ(report.phases[1].took, milliseconds(4));
}

TEST(LineReaderTest, TakesAFailureWithItsNumber) {
  Report report;
  LineReader lines(report, SteadyTime{});
  lines.Take("begin init\nfail 100 cuInit: no device\ndone\n", SteadyTime{});
  EXPECT_EQ(report.outcome, Outcome::kFailed);
  EXPECT_EQ(report.error, 100);
  EXPECT_EQ(report.reason, "cuInit: no device");
}

TEST(LineReaderTest, DropsALineWithoutEnd) {
  Report report;
  LineReader lines(report, SteadyTime{});
  for (int i = 0; i < 100; ++i) {
    lines.Take(std::string(1000, 'x'), SteadyTime{});
  }
  lines.Take("\nbegin init\n", SteadyTime{});
  EXPECT_EQ(lines.phase(), "init");
}

TEST(LineReaderTest, KnowsTheHelpersVersion) {
  Report report;
  LineReader lines(report, SteadyTime{});
  lines.Take("hello 1.2.3\nbegin load\n", SteadyTime{});
  EXPECT_EQ(lines.version(), "1.2.3");
}

TEST(ValidateTextTest, WhatIsAbsentWasNotTried) {
  Report report;
  report.outcome = Outcome::kAbsent;
  report.name = "0000:41:00.0";
  report.reason = "off the bus: reboot";
  EXPECT_EQ(Text(report), "0000:41:00.0\nTest FAILED: off the bus: reboot\n");
}

TEST(ValidateTextTest, NeverSaysPassedOfAGpuThatFailsLater) {
  Report report;
  LineReader lines(report, SteadyTime{});
  lines.Take(
      "begin check\n"
      "begin burn\n"
      "fail 0 Burn test gave a wrong result\n",
      SteadyTime{});
  EXPECT_THAT(Text(report), HasSubstr("All sums are correct\n"
                                      "Test FAILED: Burn test"));
  EXPECT_THAT(Text(report), Not(HasSubstr("PASSED")));
}

TEST(ValidateTextTest, SaysPassedOfAGpuThatDidAllItWasAsked) {
  Report report;
  LineReader lines(report, SteadyTime{});
  lines.Take("begin check\nbegin burn\ndone\n", SteadyTime{});
  EXPECT_THAT(Text(report), HasSubstr("Test PASSED\nDone\n"));
}

TEST(ValidateAdviceTest, NamesTheFixOfEachError) {
  const std::vector<std::pair<int, std::string>> rows = {
      {-2, "1 GiB"},
      {-1, "could not be loaded"},
      {0, "computes wrong results"},
      {2, "The GPU's memory is in use"},
      {34, "stub"},
      {218, "has the driver's version"},
      {221, "install libnvidia-ptxjitcompiler"},
      {222, "update the driver"},
      {223, "CUDA_DISABLE_PTX_JIT"},
      {804, "cuda-compat"},
      {719, "dmesg"},
  };
  for (const auto& [error, words] : rows) {
    Report report;
    report.outcome = Outcome::kFailed;
    report.error = error;
    EXPECT_THAT(Advice(report), HasSubstr(words)) << error;
  }
}

TEST(ValidateTextTest, ShowsTheStepsUpToTheFailure) {
  Report report;
  LineReader lines(report, SteadyTime{});
  lines.Take("begin copy-in\nfail 2 out of memory\n", SteadyTime{});
  const std::string text = Text(report);
  EXPECT_THAT(text, HasSubstr("Copy input data"));
  EXPECT_THAT(text, Not(HasSubstr("CUDA kernel launch")));
  EXPECT_THAT(text, HasSubstr("Test FAILED: out of memory\n"
                              "The GPU's memory is in use"));
}

}  // namespace
}  // namespace kgpu::validate
