// kgpu doctor image: images that real buildah made, in real podman's store and in files.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <boost/json.hpp>

#include <chrono>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kBuildah = "/usr/bin/buildah";
constexpr const char* kPodman = "/usr/bin/podman";
constexpr std::chrono::minutes kImagePatience{10};
constexpr const char* kFile = R"(FROM scratch
COPY tree/ /
ENV CUDA_VERSION=12.4.1 NVIDIA_REQUIRE_CUDA="cuda>=12.4 brand=tesla,driver>=470,driver<471"
)";

class DoctorImageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (access(kBuildah, X_OK) != 0 || access(kPodman, X_OK) != 0) {
      GTEST_SKIP() << "there is no buildah or no podman here: install both";
    }
    if (geteuid() != 0) {
      GTEST_SKIP() << "stores of one's own take root here";
    }
    dir_.WriteFile("tree/usr/local/cuda-12.4/compat/libcuda.so.550.54.15", "");
    dir_.WriteFile("tree/usr/local/cuda-12.4/lib64/libcudart.so.12.4.127", "");
    dir_.WriteFile("Containerfile", kFile);
    dir_.WriteFile(
        "storage.conf",
        fmt::format("[storage]\ndriver = \"vfs\"\ngraphroot = \"{}\"\nrunroot = \"{}\"\n",
                    dir_.At("storage"), dir_.At("run")));
    const Result built = InStore(
        {kBuildah, "bud", "--isolation", "chroot", "--quiet", "--tag", "app:1", dir_.path()});
    ASSERT_EQ(built.code, 0) << built.err;
  }
  // The program of kgpu or of an engine, with the store of this test.
  Result InStore(std::vector<std::string> words) const {
    words.at(0) = ProgramPath(words.at(0));
    words.insert(words.begin(), {"/usr/bin/env", "HOME=" + dir_.path(),
                                 "CONTAINERS_STORAGE_CONF=" + dir_.At("storage.conf")});
    return RunProgram(words, kImagePatience);
  }
  void Save(const std::string& format, const std::string& name) const {
    const Result saved = InStore(
        {kPodman, "save", "--quiet", "--format", format, "--output", dir_.At(name), "app:1"});
    ASSERT_EQ(saved.code, 0) << saved.err;
  }

  TempDir dir_;
};

TEST_F(DoctorImageTest, AnImageInPodmansStoreIsFoundByItsName) {
  Result result = InStore({"kgpu", "doctor", "image", "app:1", "--from", "podman", "--save",
                           dir_.path(), "--driver", "470.57.02", "--model", "A100"});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("app:1 (store of podman): needs cuda-compat"),
                                HasSubstr("LD_LIBRARY_PATH=/usr/local/cuda-12.4/compat")));
  result =
      InStore({"kgpu", "doctor", "image", "app:2", "--from", "podman", "--driver", "535.104.05"});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("podman pull app:2"));
}

TEST_F(DoctorImageTest, EveryFormThatPodmanSavesIsRead) {
  for (const char* format : {"docker-archive", "oci-archive", "oci-dir"}) {
    const std::string name = fmt::format("image.{}", format);
    ASSERT_NO_FATAL_FAILURE(Save(format, name));
    const Result result = RunProgram({"kgpu", "doctor", "image", dir_.At(name), "--driver",
                                      "550.54.15", "--model", "A100", "--output", "json"});
    EXPECT_EQ(result.code, 0) << format << result.err;
    const auto tree = doc::Parse(result.out, doc::Format::kJson, "out");
    ASSERT_OK(tree);
    EXPECT_EQ(tree->at("answer").as_string(), "runs") << format;
    EXPECT_EQ(tree->at("image").at("libraries").as_array().size(), 2U) << format;
  }
}

TEST_F(DoctorImageTest, TheHostIsAskedForItsDriver) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  const SimHost host("4xT4");
  ASSERT_NO_FATAL_FAILURE(Save("docker-archive", "image.tar"));
  const Result result = host.Kgpu({"doctor", "image", dir_.At("image.tar")});
  EXPECT_EQ(result.code, 7) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("runs by minor-version compatibility"),
                                HasSubstr("NVIDIA_DISABLE_REQUIRE=1")));
}

}  // namespace
}  // namespace kgpu::e2e
