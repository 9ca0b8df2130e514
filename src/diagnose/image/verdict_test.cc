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
using ::testing::ElementsAre;
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
      {"14.0.0", "610.43.02", "H100", Answer::kUnknown},
      {"14.0.0", "595.71.05", "H100", Answer::kUnknown},
      {"14.0.0", "470.57.02", "A100", Answer::kUnknown},
      {"", "535.104.05", "A100", Answer::kRuns},
      // Updates have a least driver of their own.
      {"12.4.1", "550.54.14", "A100", Answer::kRunsByMinor},
      {"12.4.1", "550.54.15", "A100", Answer::kRuns},
      {"12.4.0", "550.54.14", "A100", Answer::kRuns},
      {"12.0.1", "525.60.13", "A100", Answer::kRunsByMinor},
      {"12.6.3", "560.35.03", "A100", Answer::kRunsByMinor},
      {"12.6.2", "560.35.03", "A100", Answer::kRuns},
      {"12.8.1", "570.26", "A100", Answer::kRunsByMinor},
      {"11.4.3", "470.57.02", "A100", Answer::kRunsByMinor},
      {"11.4.2", "470.57.02", "A100", Answer::kRuns},
      {"11.0.3", "450.51.05", "A100", Answer::kRunsByMinor},
      {"11.0.2", "450.51.05", "A100", Answer::kRuns},
      {"10.2.89", "440.33", "V100", Answer::kRuns},
      {"12.4.127", "550.54.14", "A100", Answer::kRuns},  // of a build, not of an update
  };
  for (const Row& row : kRows) {
    const ImageVerdict verdict =
        Judge(Image(std::string(row.cuda)), Host(std::string(row.driver), std::string(row.model)));
    EXPECT_EQ(ToString(verdict.answer), ToString(row.answer))
        << row.cuda << " " << row.driver << " " << row.model;
    EXPECT_EQ(verdict.finding.fix.commands.empty(), verdict.answer == Answer::kRuns)
        << row.cuda << " " << row.driver << " " << row.model;
  }
}

TEST(VerdictTest, ADriverThatSaysItHasACudaIsBelieved) {
  HostFacts host = Host("699.1");
  host.cuda = "14.1";
  EXPECT_EQ(Judge(Image("14.0.0"), host).answer, Answer::kRuns);
}

TEST(VerdictTest, ADriverThatSaysItsCudaMayLackAnUpdateOfIt) {
  HostFacts host = Host("550.54.14", "A100");
  host.cuda = "12.4";  // as the driver itself says, update or not
  const ImageVerdict verdict = Judge(Image("12.4.1"), host);
  EXPECT_EQ(verdict.answer, Answer::kRunsByMinor);
  EXPECT_THAT(verdict.finding.fix.commands, ElementsAre(HasSubstr("driver 550.54.15 or newer")));
  EXPECT_EQ(Judge(Image("12.4.0"), host).answer, Answer::kRuns);
}

TEST(VerdictTest, OfAMajorVersionThatNobodyKnowsNoPackageIsNamed) {
  const ImageVerdict verdict = Judge(Image("14.0.0"), Host("595.71.05", "H100"));
  EXPECT_THAT(verdict.finding.message, HasSubstr("does not know that CUDA version"));
  EXPECT_EQ(verdict.finding.severity, report::Severity::kError);
  EXPECT_THAT(verdict.finding.fix.commands,
              ElementsAre("# an image for CUDA 13.2 or older, or a newer kgpu, which knows "
                          "CUDA 14"));
}

TEST(VerdictTest, OnlyWhatTheGpuCanRunIsRecommendedAndOnce) {
  HostFacts host = Host("470.57.02", "K80");
  host.gpus.resize(4, host.gpus.front());
  ImageVerdict verdict = Judge(Image("12.4.1"), host);
  EXPECT_EQ(verdict.answer, Answer::kNot);
  EXPECT_THAT(verdict.finding.fix.commands,
              ElementsAre("# an image for CUDA 11, the last for this GPU, or older"));
  EXPECT_THAT(verdict.finding.evidence, Contains(HasSubstr("of K80 and 3 more")));
  // No driver with CUDA 11.8 runs Kepler.
  verdict = Judge(Image("11.8.0"), host);
  EXPECT_EQ(verdict.answer, Answer::kRunsByMinor);
  EXPECT_THAT(verdict.finding.fix.commands, ElementsAre(HasSubstr("an image for CUDA 11.4")));
  // The driver is older than the last CUDA for the GPU.
  verdict = Judge(Image("12.4.1"), Host("390.46", "K80"));
  EXPECT_THAT(verdict.finding.fix.commands, ElementsAre("# an image for CUDA 9.1 or older"));
}

TEST(VerdictTest, AnImageForAnotherMachineDoesNotRun) {
  ImageFacts image = Image("12.2.0");
  image.architecture = "arm64";
  const ImageVerdict verdict = Judge(image, Host("535.104.05"));
  EXPECT_EQ(verdict.answer, Answer::kNot);
  EXPECT_THAT(verdict.finding.fix.commands, Contains("podman pull --platform linux/amd64 x:1"));
}

TEST(VerdictTest, TheNewestLibraryDecidesOverTheVariable) {
  ImageFacts image = Image("11.8.0");
  image.libraries = {
      {LibraryKind::kRuntime, "site-packages/nvidia_cuda_runtime_cu12-12.4.127.dist-info", "12.4"},
      {LibraryKind::kRuntime, "usr/lib/libcudart.so.12", "12"}};
  const ImageVerdict verdict = Judge(image, Host("520.61.05", "A100"));
  EXPECT_EQ(verdict.cuda.value_or(cuda::CudaVersion{}).str(), "12.4");
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
  EXPECT_THAT(verdict.finding.fix.commands,
              Contains("podman run --env LD_LIBRARY_PATH=/usr/local/cuda-12.4/compat …"));
  image.libraries[0].version = "450.51.06";
  verdict = Judge(image, Host("470.57.02", "A100"));
  EXPECT_FALSE(verdict.has_compat) << "too old to be of use";
  EXPECT_THAT(verdict.finding.fix.commands,
              Contains(HasSubstr("apt-get install cuda-compat-12-4")));
}

ImageFacts ImageWithCompat(const std::string& folder, const std::string& search) {
  ImageFacts image = Image("12.4.1");
  image.libraries = {{LibraryKind::kCompat, folder + "/libcuda.so.550.54.15", "550.54.15"}};
  image.env.push_back("LD_LIBRARY_PATH=" + search);
  return image;
}

TEST(VerdictTest, AnImageThatSearchesItsOwnCompatRuns) {
  struct Case {
    std::string folder;
    std::string search;
  };
  for (const auto& [folder, search] :
       {Case{"usr/local/cuda/compat", "/usr/local/cuda/compat:/usr/local/nvidia/lib64"},
        Case{"usr/local/cuda-12.4/compat", "/usr/local/nvidia/lib64:/usr/local/cuda/compat/"},
        Case{"usr/local/cuda-12.4/compat", "/usr/local/cuda-12/compat"},
        Case{"opt/compat", "/opt/./compat"}}) {
    const ImageVerdict verdict = Judge(ImageWithCompat(folder, search), Host("470.57.02", "A100"));
    EXPECT_EQ(verdict.answer, Answer::kRuns) << folder << " " << search;
    EXPECT_TRUE(verdict.has_compat);
    EXPECT_EQ(verdict.finding.severity, report::Severity::kInfo);
    EXPECT_THAT(verdict.finding.fix.commands, IsEmpty());
    EXPECT_THAT(verdict.notes, Contains(HasSubstr("its own cuda-compat")));
  }
}

TEST(VerdictTest, ASearchThatDoesNotFindCompatIsNoHelp) {
  const HostFacts host = Host("470.57.02", "A100");
  for (const std::string search : {"", "/usr/local/cuda/lib64", "/usr/local/cuda-12.3/compat",
                                   "/usr/local/cuda-1/compat", "usr/local/cuda-12.4/compat"}) {
    EXPECT_EQ(Judge(ImageWithCompat("usr/local/cuda-12.4/compat", search), host).answer,
              Answer::kNeedsCompat)
        << search;
  }
  // One of two that the link may lead to is too old.
  ImageFacts image = ImageWithCompat("usr/local/cuda-12.4/compat", "/usr/local/cuda/compat");
  image.libraries.push_back(
      {LibraryKind::kCompat, "usr/local/cuda-11.0/compat/libcuda.so.450.51.06", "450.51.06"});
  EXPECT_EQ(Judge(image, host).answer, Answer::kNeedsCompat);
  // No cuda-compat runs there.
  EXPECT_EQ(Judge(ImageWithCompat("usr/local/cuda/compat", "/usr/local/cuda/compat"),
                  Host("470.57.02", "GeForce RTX 3090"))
                .answer,
            Answer::kNot);
}

TEST(VerdictTest, ACompatThatRunsItsCudaByMinorVersionIsSaidTo) {
  ImageFacts image = ImageWithCompat("usr/local/cuda/compat", "/usr/local/cuda/compat");
  image.libraries[0].version = "525.60.13";
  EXPECT_EQ(Judge(image, Host("470.57.02", "A100")).answer, Answer::kRunsByMinor);
}

TEST(VerdictTest, RequirementsRefuseAnImageThatRunsByItsCompat) {
  ImageFacts image = ImageWithCompat("usr/local/cuda/compat", "/usr/local/cuda/compat");
  image.env = {"CUDA_VERSION=12.4.1", "LD_LIBRARY_PATH=/usr/local/cuda/compat",
               "NVIDIA_REQUIRE_CUDA=cuda>=12.4"};
  const ImageVerdict verdict = Judge(image, Host("470.57.02", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kRuns);
  EXPECT_TRUE(verdict.is_refused);
  EXPECT_THAT(verdict.finding.fix.commands,
              ElementsAre("podman run --env NVIDIA_DISABLE_REQUIRE=1 …"));
}

TEST(VerdictTest, TheImagesOwnSearchPathStaysBehindThatOfCompat) {
  ImageFacts image = Image("12.4.1");
  image.env.emplace_back("LD_LIBRARY_PATH=/usr/local/nvidia/lib64");
  EXPECT_THAT(
      Judge(image, Host("470.57.02", "A100")).finding.fix.commands,
      Contains(HasSubstr("LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/nvidia/lib64")));
  image.libraries = {{LibraryKind::kCompat, "x/compat/libcuda.so.550.54.15", "550.54.15"}};
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).finding.fix.commands,
              Contains("podman run --env LD_LIBRARY_PATH=/x/compat:/usr/local/nvidia/lib64 …"));
}

TEST(VerdictTest, WhatNobodyLookedIntoIsNotSaidToRun) {
  ImageFacts image = Image("");
  image.is_looked_into = false;
  ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kUnknown);
  EXPECT_EQ(verdict.finding.severity, report::Severity::kError);
  EXPECT_FALSE(verdict.finding.fix.commands.empty());
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
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).finding.fix.commands,
              Contains("podman run --env 'LD_LIBRARY_PATH=/x;reboot;/compat' …"));
  image.architecture = "arm64";
  image.name = "a;curl x|sh";
  EXPECT_THAT(Judge(image, Host("470.57.02", "A100")).finding.fix.commands,
              AllOf(Contains("# an image for amd64"), Each(Not(HasSubstr("curl")))));
}

TEST(VerdictTest, RequirementsThatAreNotMetRefuseAStart) {
  ImageFacts image = Image("");
  image.env = {"CUDA_VERSION=12.4.1", "NVIDIA_REQUIRE_CUDA=cuda>=12.4"};
  ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kRunsByMinor);
  EXPECT_TRUE(verdict.is_refused);
  EXPECT_EQ(verdict.finding.severity, report::Severity::kError);
  EXPECT_THAT(verdict.finding.fix.commands,
              Contains("podman run --env NVIDIA_DISABLE_REQUIRE=1 …"));
  image.env.emplace_back("NVIDIA_DISABLE_REQUIRE=1");
  verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.finding.severity, report::Severity::kInfo);
}

TEST(VerdictTest, ADemandForAnotherGpuIsFinal) {
  ImageFacts image = Image("");
  image.env = {"CUDA_VERSION=12.2.0", "NVIDIA_REQUIRE_ARCH=arch>=9.0"};
  const ImageVerdict verdict = Judge(image, Host("535.104.05", "A100"));
  EXPECT_EQ(verdict.answer, Answer::kNot);
  EXPECT_THAT(verdict.finding.evidence, Contains(HasSubstr("arch>=9.0")));
}

TEST(VerdictTest, TheRequirementTellsTheCudaWhereNothingElseDoes) {
  ImageFacts image = Image("");
  image.env = {"NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,cuda>=11.0"};
  const ImageVerdict verdict = Judge(image, Host("470.57.02", "A100"));
  EXPECT_EQ(verdict.cuda.value_or(cuda::CudaVersion{}).str(), "11.0");
  EXPECT_EQ(verdict.finding.severity, report::Severity::kInfo);
}

TEST(VerdictTest, LibrariesThatStandInTheWayAreNamed) {
  ImageFacts image = Image("12.2.0");
  image.env.emplace_back("LD_LIBRARY_PATH=/usr/local/cuda/compat:/usr/local/cuda/lib64/stubs");
  image.libraries = {
      {LibraryKind::kCompat, "usr/local/cuda/compat/libcuda.so.525.60.13", "525.60.13"},
      {LibraryKind::kDriver, "usr/lib/libcuda.so.470.57.02", "470.57.02"}};
  EXPECT_THAT(Judge(image, Host("535.104.05", "A100")).notes,
              AllOf(Contains(HasSubstr("stubs")), Contains(HasSubstr("the image")),
                    Contains(HasSubstr("older than the driver"))));
  EXPECT_THAT(Judge(image, Host("535.104.05", "GeForce RTX 3090")).notes,
              Contains(HasSubstr("error 804")));
}

TEST(VerdictTest, AnImageWithoutCudaRuns) {
  const ImageVerdict verdict = Judge(Image(""), Host("535.104.05"));
  EXPECT_EQ(verdict.finding.severity, report::Severity::kInfo);
  EXPECT_THAT(verdict.notes, Contains("the image contains no CUDA"));
  EXPECT_THAT(verdict.finding.fix.commands, IsEmpty());
}

TEST(VerdictTest, HostileTextsStayOnTheirLine) {
  ImageFacts image = Image("12.4\n\x1b[2J");
  image.architecture = "evil\n";
  const std::string text = VerdictText(Judge(image, Host("535.104.05")));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
  EXPECT_THAT(Judge(image, Host("535.104.05")).finding.evidence, Each(Not(HasSubstr("\n"))));
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
  std::ifstream file(std::string(KGPU_SOURCE_DIR) + "/docs/reference/doctor-image.md");
  const std::string page((std::istreambuf_iterator<char>(file)), {});
  EXPECT_THAT(page, HasSubstr(PairsMarkdown()))
      << "docs/reference/doctor-image.md must hold what `kgpu doctor image --pairs --output "
         "markdown` prints";
}

TEST(VerdictViewTest, PeopleAndProgramsGetTheTableWithoutMarkdown) {
  const std::string table = PairsTable();
  EXPECT_THAT(table, AllOf(HasSubstr("CUDA  450     470"), HasSubstr("\n12.4  no      compat")));
  EXPECT_EQ(table.find('|'), std::string::npos);
  EXPECT_EQ(PairsJson().at_pointer("/pairs/6/branches/535"), "minor");
}

}  // namespace
}  // namespace kgpu::image
