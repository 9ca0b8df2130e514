#include "src/gpu/cuda/requirement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

namespace kgpu::cuda {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

HostFacts Host(const std::string& driver, const std::string& cuda, const std::string& arch = "8.0",
               const std::string& brand = "nvidia") {
  return {driver, cuda, {{"GPU 0", arch, brand}}};
}

// As NVIDIA's own images ask: their CUDA, or a branch of drivers that their compatibility package
// knows, a brand each.
std::string ImageFor(std::string_view cuda, const std::vector<unsigned>& branches) {
  std::string text = fmt::format("cuda>={}", cuda);
  for (const unsigned branch : branches) {
    for (const std::string_view brand :
         {"tesla", "unknown", "nvidia", "nvidiartx", "geforce", "geforcertx", "quadro", "quadrortx",
          "titan", "titanrtx"}) {
      text += fmt::format(" brand={},driver>={},driver<{}", brand, branch, branch + 1);
    }
  }
  return text;
}

struct RequirementRow {
  std::string_view expression;
  Outcome outcome;
};

TEST(RequirementTest, OneOfTheAlternativesIsEnough) {
  const HostFacts host = Host("535.104.05", "12.2", "8.0", "Tesla");
  constexpr RequirementRow kRows[] = {
      {"", Outcome::kSatisfied},
      {",", Outcome::kSatisfied},
      {"cuda>=12.2", Outcome::kSatisfied},
      {"cuda>=12.4", Outcome::kUnsatisfied},
      {"cuda>=12.2,driver>=550", Outcome::kUnsatisfied},
      {"cuda>=12.2 driver>=550", Outcome::kSatisfied},
      {"cuda>=13.0 brand=tesla,driver>=535,driver<536", Outcome::kSatisfied},
      {"cuda>=13.0 brand=geforce,driver>=535,driver<536", Outcome::kUnsatisfied},
      {"cuda<13,arch>=8.0,brand!=geforce", Outcome::kSatisfied},
      {"arch>8.0", Outcome::kUnsatisfied},
      {"DRIVER>=535,Brand=TESLA", Outcome::kSatisfied},
      {"cuda>=12.4 nonsense", Outcome::kMalformed},
      {"nonsense cuda>=12.2", Outcome::kSatisfied},
  };
  for (const RequirementRow& row : kRows) {
    EXPECT_EQ(CheckRequirement(row.expression, host).outcome, row.outcome) << row.expression;
  }
}

TEST(RequirementTest, TheTextNamesDemandHostAndFix) {
  const Verdict verdict = CheckRequirement("cuda>=12.4", Host("535.104.05", "12.2"));
  EXPECT_THAT(verdict.reason,
              StartsWith("image requires cuda>=12.4; driver 535.104.05 supports up to 12.2; use "
                         "driver 550.54.14 or newer, or an image for CUDA 12.2 or older"));
}

TEST(RequirementTest, MinorVersionCompatibilityIsReportedNotGranted) {
  EXPECT_THAT(CheckRequirement("cuda>=12.4", Host("535.104.05", "12.2")).reason,
              AllOf(HasSubstr("minor-version compatibility"), HasSubstr("NVIDIA_DISABLE_REQUIRE=1"),
                    HasSubstr("compile PTX")));
  EXPECT_THAT(CheckRequirement("cuda>=12.4", Host("470.57.02", "11.4")).reason,
              Not(HasSubstr("minor-version")));
  EXPECT_THAT(CheckRequirement("cuda>=11.8", Host("450.51.06", "11.0")).reason,
              Not(HasSubstr("minor-version")))
      << "the promise begins with 450.80.02";
}

TEST(RequirementTest, NvidiasOwnImagesRunOnTheBranchesTheyName) {
  const std::string image = ImageFor("12.4", {470, 525, 535});
  EXPECT_EQ(CheckRequirement(image, Host("535.104.05", "12.2")).outcome, Outcome::kSatisfied);
  EXPECT_EQ(CheckRequirement(image, Host("550.54.15", "12.4")).outcome, Outcome::kSatisfied);
  EXPECT_EQ(CheckRequirement(image, Host("535.104.05", "12.2", "8.0", "grid")).outcome,
            Outcome::kUnsatisfied);
}

TEST(RequirementTest, EveryAlternativeThatCouldHelpIsNamedOnce) {
  const Verdict verdict =
      CheckRequirement(ImageFor("12.4", {470, 525, 535}), Host("545.23.08", "12.3"));
  EXPECT_EQ(verdict.outcome, Outcome::kUnsatisfied);
  EXPECT_THAT(
      verdict.reason,
      StartsWith(
          "image requires cuda>=12.4, or driver branch 470, 525 or 535; driver 545.23.08 supports "
          "up to 12.3; use driver 550.54.14 or newer, or an image for CUDA 12.3 or older"));
}

TEST(RequirementTest, AlternativesOfOtherBrandsAreNotOffered) {
  const Verdict verdict = CheckRequirement("cuda>=12.4 brand=tesla,driver>=470,driver<471",
                                           Host("535.104.05", "12.2", "8.6", "geforce"));
  EXPECT_THAT(verdict.reason,
              AllOf(StartsWith("image requires cuda>=12.4; "), Not(HasSubstr("470"))));
}

TEST(RequirementTest, AnotherGpuIsTheFixWhereNoDriverHelps) {
  EXPECT_EQ(CheckRequirement("arch>=9.0 brand=tesla,cuda>=11", Host("535.104.05", "12.2")).reason,
            "image requires arch>=9.0 or brand=tesla,cuda>=11; GPU 0 has compute capability 8.0 "
            "and brand nvidia; use another GPU, or another image");
}

TEST(RequirementTest, NoDriverBringsCudaBackToGpusItDropped) {
  EXPECT_EQ(CheckRequirement("cuda>=13.0", Host("535.104.05", "12.2", "7.0")).reason,
            "image requires cuda>=13.0; driver 535.104.05 supports up to 12.2; CUDA 13 does not "
            "support GPUs of compute capability 7.0: use an image for CUDA 12.2 or older");
  EXPECT_THAT(CheckRequirement("cuda>=13.1", Host("580.65.06", "13.0", "7.0")).reason,
              HasSubstr("use an image for CUDA 12 or older"));
  EXPECT_THAT(CheckRequirement("cuda>=13.0", Host("535.104.05", "12.2", "7.5")).reason,
              HasSubstr("use driver 580.65.06 or newer"));
}

struct TextRow {
  std::string_view expression;
  std::string_view reason;
};

TEST(RequirementTest, FixesFitTheDemand) {
  constexpr TextRow kRows[] = {
      {"driver>=550",
       "image requires driver>=550; the host has driver 535.104.05; use driver 550 or newer, or "
       "another image"},
      {"cuda>=12.4,driver>=570",
       "image requires cuda>=12.4,driver>=570; driver 535.104.05 supports up to 12.2; use driver "
       "570 or newer, or an image for CUDA 12.2 or older; most"},
      {"cuda>=12.4.1", "use driver 555.42.02 or newer"},
      {"driver>550", "use a driver newer than 550, or another image"},
      {"driver>=560 driver>550", "use a driver newer than 550, or another image"},
      {"cuda>=15.0 cuda>=12.8", "use driver 570.26 or newer"},
      {"cuda>12.3", "use driver 550.54.14 or newer"},
      {"cuda>=12.8 cuda>=12.4", "use driver 550.54.14 or newer"},
      {"cuda>=15.0", "use a driver for CUDA 15.0 or newer, or an image for CUDA 12.2 or older"},
      {"cuda<12.0",
       "image requires cuda<12.0; driver 535.104.05 supports up to 12.2; use a compatible driver, "
       "or another image"},
      {"driver>=470,driver<471",
       "image requires driver branch 470; the host has driver 535.104.05; use a compatible driver"},
  };
  for (const TextRow& row : kRows) {
    EXPECT_THAT(CheckRequirement(row.expression, Host("535.104.05", "12.2")).reason,
                HasSubstr(std::string(row.reason)))
        << row.expression;
  }
}

TEST(RequirementTest, EveryVisibleGpuMustSuffice) {
  HostFacts host = Host("535.104.05", "12.2");
  host.gpus.push_back({"GPU 1", "7.0", "tesla"});
  EXPECT_EQ(CheckRequirement("arch>=7.0", host).outcome, Outcome::kSatisfied);
  EXPECT_THAT(CheckRequirement("arch>=8.0", host).reason,
              HasSubstr("GPU 1 has compute capability 7.0 and brand tesla"));
  EXPECT_THAT(CheckRequirement("cuda>=12.4 brand=nvidia", host).reason,
              HasSubstr("image requires cuda>=12.4 for GPU 1; "));
}

TEST(RequirementTest, WhatIsNotKnownCountsAsMetAndIsReported) {
  Verdict verdict = CheckRequirement("cuda>=99,driver>=999,arch>=99,brand=x", {});
  EXPECT_EQ(verdict.outcome, Outcome::kSatisfied);
  EXPECT_EQ(verdict.notes.size(), 4U);
  EXPECT_THAT(verdict.notes[1], HasSubstr("driver version is unknown"));
  verdict = CheckRequirement("cuda>=12.4", Host("nonsense", "12.2"));
  EXPECT_THAT(verdict.reason, HasSubstr("the driver supports up to 12.2"));
}

TEST(RequirementTest, CudaIsTakenFromTheDriverWhereItIsNotSaid) {
  const Verdict verdict = CheckRequirement("cuda>=12.4", Host("535.104.05", ""));
  EXPECT_EQ(verdict.outcome, Outcome::kUnsatisfied);
  EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("12.2, is derived from the driver's")));
  EXPECT_EQ(CheckRequirement("cuda>=14.0", Host("700.10", "")).outcome, Outcome::kSatisfied)
      << "a driver after all that we know may support it";
}

TEST(RequirementTest, MalformedTextsAreNamedWithTheirPlace) {
  EXPECT_EQ(CheckRequirement("cuda>=99 gpu>=2", Host("535.104.05", "12.2")).reason,
            "byte 10: \"gpu\" must be one of the properties cuda, driver, arch and brand: correct "
            "the expression");
  EXPECT_THAT(CheckEnvironment({{"NVIDIA_REQUIRE_CUDA=gpu>=2"}}, Host("535.104.05", "12.2")).reason,
              AllOf(StartsWith("malformed requirement: byte 1 of NVIDIA_REQUIRE_CUDA: "),
                    EndsWith(": fix the image, or start it with NVIDIA_DISABLE_REQUIRE=1")));
}

TEST(RequirementTest, AMalformedAlternativeThatIsNotNeededIsANote) {
  const Verdict verdict = CheckRequirement("cuda>=12.0 gpu>=2", Host("535.104.05", "12.2"));
  EXPECT_EQ(verdict.outcome, Outcome::kSatisfied);
  EXPECT_THAT(verdict.notes,
              ElementsAre(HasSubstr("byte 12: \"gpu\" must be one of the properties")));
}

TEST(RequirementTest, LongTextsAreRefusedAndShortened) {
  const HostFacts host = Host("535.104.05", "12.2");
  EXPECT_EQ(CheckRequirement(std::string(kRequirementLimit + 1, ' '), host).outcome,
            Outcome::kMalformed);
  std::string text;
  for (unsigned i = 0; text.size() < kRequirementLimit - 20; ++i) {
    text += fmt::format("driver>={} ", 1000 + i);
  }
  const Verdict verdict = CheckRequirement(text, host);
  EXPECT_EQ(verdict.outcome, Outcome::kUnsatisfied);
  EXPECT_LT(verdict.reason.size(), 1000U);
  EXPECT_THAT(verdict.reason, AllOf(HasSubstr(" more;"), HasSubstr("use driver 1000 or newer")));
}

TEST(EnvironmentTest, EveryVariableMustHold) {
  const HostFacts host = Host("535.104.05", "12.2");
  const std::vector<std::string> environment = {"PATH=/bin", "NVIDIA_REQUIRE_CUDA=cuda>=12.0",
                                                "NVIDIA_REQUIRE_DRIVER=driver>=550",
                                                "NVIDIA_REQUIRE", "NVIDIA_REQUIRE_EMPTY="};
  const Verdict verdict = CheckEnvironment(environment, host);
  EXPECT_EQ(verdict.outcome, Outcome::kUnsatisfied);
  EXPECT_THAT(verdict.reason, HasSubstr("image requires driver>=550 (NVIDIA_REQUIRE_DRIVER); "));
}

TEST(EnvironmentTest, SeveralReasonsAreReported) {
  const std::vector<std::string> environment = {"NVIDIA_REQUIRE_A=arch>=9.0",
                                                "NVIDIA_REQUIRE_B=gpu=1"};
  const Verdict verdict = CheckEnvironment(environment, Host("535.104.05", "12.2"));
  EXPECT_EQ(verdict.outcome, Outcome::kUnsatisfied);
  EXPECT_THAT(verdict.reason,
              AllOf(HasSubstr("(NVIDIA_REQUIRE_A)"),
                    HasSubstr("; and malformed requirement: byte 1 of NVIDIA_REQUIRE_B: ")));
}

TEST(EnvironmentTest, JetpackIsNoRequirement) {
  const std::vector<std::string> environment = {"NVIDIA_REQUIRE_JETPACK=csv-mounts=all",
                                                "NVIDIA_REQUIRE_JETPACK_HOST_MOUNTS=x"};
  EXPECT_EQ(CheckEnvironment(environment, Host("535.104.05", "12.2")).outcome, Outcome::kSatisfied);
}

TEST(EnvironmentTest, TheLastOfEqualNamesCounts) {
  const std::vector<std::string> environment = {"NVIDIA_REQUIRE_CUDA=cuda>=13.0",
                                                "NVIDIA_REQUIRE_CUDA=cuda>=12.0"};
  EXPECT_EQ(CheckEnvironment(environment, Host("535.104.05", "12.2")).outcome, Outcome::kSatisfied);
}

TEST(EnvironmentTest, ChecksCanBeDisabled) {
  for (const std::string_view word : {"1", "t", "true", "True", "TRUE"}) {
    const std::vector<std::string> environment = {"NVIDIA_REQUIRE_CUDA=cuda>=13.0",
                                                  fmt::format("NVIDIA_DISABLE_REQUIRE={}", word)};
    const Verdict verdict = CheckEnvironment(environment, Host("535.104.05", "12.2"));
    EXPECT_EQ(verdict.outcome, Outcome::kSatisfied) << word;
    EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("nothing was checked")));
  }
  for (const std::string_view word : {"", "0", "false", "yes", "truely"}) {
    const std::vector<std::string> environment = {"NVIDIA_REQUIRE_CUDA=cuda>=13.0",
                                                  fmt::format("NVIDIA_DISABLE_REQUIRE={}", word)};
    EXPECT_EQ(CheckEnvironment(environment, Host("535.104.05", "12.2")).outcome,
              Outcome::kUnsatisfied)
        << word;
  }
}

TEST(EnvironmentTest, LegacyImagesAskByTheirCudaVersion) {
  const HostFacts host = Host("390.48", "9.1", "6.1");
  EXPECT_EQ(CheckEnvironment(std::vector<std::string>{"CUDA_VERSION=9.0.176"}, host).outcome,
            Outcome::kSatisfied);
  EXPECT_THAT(CheckEnvironment(std::vector<std::string>{"CUDA_VERSION=10.0.130"}, host).reason,
              StartsWith("image requires cuda>=10.0 (CUDA_VERSION=10.0.130); driver 390.48 "
                         "supports up to 9.1; use driver 410.48 or newer"));
  EXPECT_EQ(
      CheckEnvironment(
          std::vector<std::string>{"CUDA_VERSION=10.0.130", "NVIDIA_REQUIRE_CUDA=cuda>=9.0"}, host)
          .outcome,
      Outcome::kSatisfied);
}

TEST(EnvironmentTest, ACudaVersionThatIsNoneAsksForNothing) {
  const Verdict verdict = CheckEnvironment(std::vector<std::string>{"CUDA_VERSION=cu121"},
                                           Host("390.48", "9.1", "6.1"));
  EXPECT_EQ(verdict.outcome, Outcome::kSatisfied);
  EXPECT_THAT(verdict.notes, ElementsAre(HasSubstr("\"cu121\" must be a version")));
}

TEST(EnvironmentTest, NothingAskedIsSatisfied) {
  const Verdict verdict = CheckEnvironment({}, {});
  EXPECT_EQ(verdict.outcome, Outcome::kSatisfied);
  EXPECT_THAT(verdict.notes, IsEmpty());
}

}  // namespace
}  // namespace kgpu::cuda
