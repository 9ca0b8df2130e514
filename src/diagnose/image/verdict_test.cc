#include "src/diagnose/image/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <fstream>
#include <iterator>
#include <string>

#include "src/diagnose/image/host_facts.h"
#include "src/diagnose/image/view.h"
#include "testing/status_matchers.h"

namespace kgpu::image {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

HostFacts Host(const std::string& driver, const std::string& model = "") {
  auto host = FactsOfWords({driver, "", model, "amd64"});
  EXPECT_OK(host);
  return host.ok() ? *std::move(host) : HostFacts{};
}

ImageFacts Image(const std::string& cuda) {
  ImageFacts image;
  image.name = "x:1";
  image.architecture = "amd64";
  image.is_looked_into = true;
  if (!cuda.empty()) {
    image.env.push_back("CUDA_VERSION=" + cuda);
    image.env.push_back("NVIDIA_DISABLE_REQUIRE=1");
  }
  return image;
}

struct Row {
  std::string_view cuda;
  std::string_view driver;
  std::string_view model;
  Answer answer;
};

TEST(VerdictTest, EveryPairOfCudaDriverAndGpuHasOneAnswer) {
  constexpr Row kRows[] = {
      {"12.2.0", "535.104.05", "A100", Answer::kRuns},
      {"11.8.0", "535.104.05", "A100", Answer::kRuns},
      {"12.4.1", "535.104.05", "A100", Answer::kRunsByMinor},
      {"12.9.1", "525.60.13", "A100", Answer::kRunsByMinor},
      {"12.9.1", "520.61.05", "A100", Answer::kNot},  // a branch that cuda-compat does not know
      {"12.4.1", "470.57.02", "A100", Answer::kNeedsCompat},
      {"12.4.1", "470.57.02", "", Answer::kNeedsCompat},
      {"12.4.1", "470.57.02", "GeForce RTX 3090", Answer::kNot},
      {"9.2", "375.26", "V100", Answer::kNot},  // before there was cuda-compat
      {"13.0.0", "580.65.06", "V100", Answer::kNot},
      {"13.0.0", "580.65.06", "GeForce GTX 1080", Answer::kNot},
      {"13.0.0", "580.65.06", "T4", Answer::kRuns},
      {"13.2.0", "580.65.06", "T4", Answer::kRunsByMinor},
      {"13.0.0", "535.104.05", "A100", Answer::kNeedsCompat},
      {"12.1.0", "535.104.05", "K80", Answer::kNot},
      {"11.7.1", "535.104.05", "H100", Answer::kPtxOnly},
      {"11.8.0", "535.104.05", "H100", Answer::kRuns},
      {"12.4.1", "580.65.06", "B200", Answer::kPtxOnly},
      {"12.8.0", "580.65.06", "GeForce RTX 5090", Answer::kRuns},
      {"10.2.89", "535.104.05", "A100", Answer::kPtxOnly},
      {"11.0.3", "535.104.05", "GeForce RTX 4090", Answer::kRuns},
      {"13.0.0", "470.57.02", "A100", Answer::kNot},  // a branch that this cuda-compat left behind
      {"12.4.1", "450.51.06", "A100", Answer::kNot},
      {"12.4.1", "470.57.02", "RTX A6000", Answer::kNeedsCompat},  // some of them are certified
      {"14.0.0", "610.43.02", "H100", Answer::kNot},
      {"", "535.104.05", "A100", Answer::kRuns},
  };
  for (const Row& row : kRows) {
    const ImageVerdict verdict =
        Judge(Image(std::string(row.cuda)), Host(std::string(row.driver), std::string(row.model)));
    EXPECT_EQ(ToString(verdict.answer), ToString(row.answer))
        << row.cuda << " " << row.driver << " " << row.model;
    EXPECT_EQ(verdict.mend.empty(), verdict.answer == Answer::kRuns)
        << row.cuda << " " << row.driver << " " << row.model;
  }
}

TEST(VerdictTest, ADriverThatSaysItHasACudaIsBelieved) {
  HostFacts host = Host("699.1");
  host.cuda = "14.1";
  EXPECT_EQ(Judge(Image("14.0.0"), host).answer, Answer::kRuns);
}

TEST(VerdictTest, AnImageForAnotherMachineDoesNotRun) {
  ImageFacts image = Image("12.2.0");
  image.architecture = "arm64";
  const ImageVerdict verdict = Judge(image, Host("535.104.05"));
  EXPECT_EQ(verdict.answer, Answer::kNot);
  EXPECT_THAT(verdict.mend, Contains("podman pull --platform linux/amd64 x:1"));
}

TEST(VerdictTest, TheNewestLibraryDecidesOverTheVariable) {
  ImageFacts image = Image("11.8.0");
  image.libraries = {
      {LibraryKind::kRuntime, "site-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info", "12.4"},
      {LibraryKind::kRuntime, "usr/lib/libcudart.so.12", "12"}};
  const ImageVerdict verdict = Judge(image, Host("520.61.05", "A100"));
  ASSERT_TRUE(verdict.cuda.has_value());
  EXPECT_EQ(verdict.cuda->str(), "12.4");
  EXPECT_TRUE(verdict.is_minor_known);
  EXPECT_EQ(verdict.answer, Answer::kNot);
}

TEST(VerdictTest, AMajorVersionAloneIsSaidToBeOne) {
  ImageFacts image = Image("");
  image.libraries = {{LibraryKind::kRuntime, "usr/lib/libcudart.so.12", "12"}};
  const ImageVerdict verdict = Judge(image, Host("535.104.05"));
  EXPECT_EQ(verdict.answer, Answer::kRuns);
  EXPECT_FALSE(verdict.is_minor_known);
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("minor version of CUDA 12")));
}

TEST(VerdictTest, CompatLibrariesInTheImageAreFoundAndNamed) {
  ImageFacts image = Image("12.4.1");
  image.libraries = {
      {LibraryKind::kCompat, "usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "550.54.15"}};
  ImageVerdict verdict = Judge(image, Host("470.57.02", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kNeedsCompat);
  EXPECT_TRUE(verdict.has_compat);
  EXPECT_THAT(verdict.mend,
              Contains("podman run --env LD_LIBRARY_PATH=/usr/local/cuda-12.4/compat …"));
  image.libraries[0].version = "450.51.06";
  verdict = Judge(image, Host("470.57.02", "A100"));
  EXPECT_FALSE(verdict.has_compat) << "too old to be of use";
  EXPECT_THAT(verdict.mend, Contains(HasSubstr("apt-get install cuda-compat-12-4")));
}

TEST(VerdictTest, TheImagesOwnSearchPathStaysBehindThatOfCompat) {
  ImageFacts image = Image("12.4.1");
  image.env.emplace_back("LD_LIBRARY_PATH=/usr/local/nvidia/lib64");
  EXPECT_THAT(
      Judge(image, Host("470.57.02", "A100")).mend,
      Contains(HasSubstr("LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/nvidia/lib64")));
  image.libraries = {{LibraryKind::kCompat, "x/compat/libcuda.so.550.54.15", "550.54.15"}};
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).mend,
              Contains("podman run --env LD_LIBRARY_PATH=/x/compat:/usr/local/nvidia/lib64 …"));
}

TEST(VerdictTest, WhatNobodyLookedIntoIsNotSaidToRun) {
  ImageFacts image = Image("");
  image.is_looked_into = false;
  ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kUnknown);
  EXPECT_FALSE(IsGood(verdict));
  EXPECT_FALSE(verdict.mend.empty());
  image.env.emplace_back("NVIDIA_REQUIRE_ARCH=arch>=9.0");
  EXPECT_EQ(Judge(image, Host("535.104.05", "A100")).answer, Answer::kNot);
  image = Image("12.2.0");
  image.is_looked_into = false;
  verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kRuns) << "its configuration tells the CUDA";
  EXPECT_THAT(verdict.notes, Contains(HasSubstr("not all layers")));
}

TEST(VerdictTest, NamesInCommandsAreWordsOfAShell) {
  ImageFacts image = Image("12.4.1");
  image.libraries = {{LibraryKind::kCompat, "x;reboot;/compat/libcuda.so.550.54.15", "550.54.15"}};
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).mend,
              Contains("podman run --env 'LD_LIBRARY_PATH=/x;reboot;/compat' …"));
  image.architecture = "arm64";
  image.name = "a;curl x|sh";
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).mend,
              AllOf(Contains("# an image for amd64"), Each(Not(HasSubstr("curl")))));
}

TEST(VerdictTest, RequirementsThatAreNotMetRefuseAStart) {
  ImageFacts image = Image("");
  image.env = {"CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"};
  ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kRunsByMinor);
  EXPECT_TRUE(verdict.is_refused);
  EXPECT_FALSE(IsGood(verdict));
  EXPECT_THAT(verdict.mend, Contains("podman run --env NVIDIA_DISABLE_REQUIRE=1 …"));
  image.env.emplace_back("NVIDIA_DISABLE_REQUIRE=1");
  verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_TRUE(IsGood(verdict));
}

TEST(VerdictTest, ADemandForAnotherGpuIsFinal) {
  ImageFacts image = Image("");
  image.env = {"CUDA_VERSION=12.2.0", "NVIDIA_REQUIRE_ARCH=arch>=9.0"};
  const ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kNot);
  EXPECT_THAT(verdict.evidence, Contains(HasSubstr("arch>=9.0")));
}

TEST(VerdictTest, TheRequirementTellsTheCudaWhereNothingElseDoes) {
  ImageFacts image = Image("");
  image.env = {"NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,cuda>=11.0"};
  const ImageVerdict verdict = Judge(image, Host("470.57.02", "A100"));
  ASSERT_TRUE(verdict.cuda.has_value());
  EXPECT_EQ(verdict.cuda->str(), "11.0");
  EXPECT_TRUE(IsGood(verdict));
}

TEST(VerdictTest, LibrariesThatStandInTheWayAreNamed) {
  ImageFacts image = Image("12.2.0");
  image.env.emplace_back("LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64/stubs");
  image.libraries = {
      {LibraryKind::kCompat, "usr/local/cuda/compat/libcuda.so.525.60.13", "525.60.13"},
      {LibraryKind::kDriver, "usr/lib/libcuda.so.470.57.02", "470.57.02"}};
  EXPECT_THAT(Judge(image, Host("535.104.05", "A100")).notes,
              AllOf(Contains(HasSubstr("stubs")), Contains(HasSubstr("the image brings")),
                    Contains(HasSubstr("older than the driver"))));
  EXPECT_THAT(Judge(image, Host("535.104.05", "GeForce RTX 3090")).notes,
              Contains(HasSubstr("error 804")));
}

TEST(VerdictTest, AnImageWithoutCudaRuns) {
  const ImageVerdict verdict = Judge(Image(""), Host("535.104.05"));
  EXPECT_TRUE(IsGood(verdict));
  EXPECT_THAT(verdict.notes, Contains("nothing in the image is of CUDA"));
  EXPECT_THAT(verdict.mend, IsEmpty());
}

TEST(VerdictTest, HostileTextsStayOnTheirLine) {
  ImageFacts image = Image("12.4\n\x1b[2J");
  image.architecture = "evil\n";
  const std::string text = VerdictText(image, Judge(image, Host("535.104.05")));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(Judge(image, Host("535.104.05")).evidence, Each(Not(HasSubstr("\n"))));
}

TEST(VerdictViewTest, JsonIsUtf8WhateverThePathsOfAnArchiveAre) {
  ImageFacts image = Image("12.2.0");
  image.libraries = {{LibraryKind::kRuntime, "\xff/libcudart.so.12.2.53", "12.2"}};
  const HostFacts host = Host("535.104.05");
  const std::string text = boost::json::serialize(VerdictJson(image, host, Judge(image, host)));
  EXPECT_THAT(text, HasSubstr(R"(\\xff/libcudart.so.12.2.53)"));
  EXPECT_EQ(text.find('\xff'), std::string::npos);
}

TEST(VerdictViewTest, TheTableOfTheDocumentIsThatOfTheCode) {
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/doctor-image.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(page, HasSubstr(PairsMarkdown()))
      << "docs/doctor-image.md must hold what `kgpu doctor image --pairs` prints";
}

}  // namespace
}  // namespace kgpu::image
