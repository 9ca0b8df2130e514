// kgpu validate where people run it: in a container that was given a GPU by CDI.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <chrono>
#include <iterator>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "src/platform/sys/root.h"
#include "testing/status_matchers.h"
#include "tests/e2e/container.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kLines =
    "[Vector addition of 50000 elements]\n"
    "Copy input data from the host memory to the CUDA device\n"
    "CUDA kernel launch with 196 blocks of 256 threads\n"
    "Copy output data from the CUDA device to the host memory\n"
    "Test PASSED\n"
    "Done\n";

class ValidateContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WhyNoContainers().empty()) {
      GTEST_SKIP() << WhyNoContainers();
    }
  }
  static void Generate(const SimHost& host, const std::string& cdi_dir) {
    const Result result = host.Kgpu({"cdi", "generate", "--output-dir", cdi_dir});
    ASSERT_EQ(result.code, 0) << result.err;
  }
};

TEST_F(ValidateContainerTest, TheGpuThatWasGivenComputes) {
  const SimHost host("4xT4");
  const ContainerBench bench(ContainerBench::Image::kDebianLike);
  Generate(host, bench.cdi_dir());
  const Result result =
      bench.Run({"kgpu.dev/gpu=2"}, "kgpu validate --all-gpus --no-bandwidth; echo code=$?");
  EXPECT_THAT(result.out, AllOf(HasSubstr(kLines), HasSubstr("code=0"), Not(HasSubstr("FAILED"))))
      << result.err;
}

TEST_F(ValidateContainerTest, AMigDeviceThatWasGivenComputes) {
  const SimHost host("8xA100-mig");
  const ContainerBench bench(ContainerBench::Image::kRhelLike);
  Generate(host, bench.cdi_dir());
  const Result result = bench.Run({"kgpu.dev/gpu=0:0"}, "kgpu validate --no-bandwidth");
  EXPECT_THAT(result.out, AllOf(HasSubstr(" MIG "), HasSubstr(kLines))) << result.err;
}

TEST_F(ValidateContainerTest, AContainerWithoutAGpuIsReportedAsSuch) {
  const ContainerBench bench(ContainerBench::Image::kDebianLike);
  const Result result = bench.Run({}, "kgpu validate; echo code=$?");
  EXPECT_THAT(result.out, HasSubstr("code=3"));
  EXPECT_THAT(result.err,
              AllOf(AnyOf(HasSubstr("no libcuda.so"), HasSubstr("no driver")),
                    HasSubstr("in a container, start it with a GPU"), HasSubstr("nvidia.com/gpu")));
}

// The image of deploy/validate, built into a storage of its own.
class ValidateImageTest : public ValidateContainerTest {
 protected:
  void SetUp() override {
    ValidateContainerTest::SetUp();
    if (access("/usr/bin/buildah", X_OK) != 0) {
      GTEST_SKIP() << "no buildah: install it (scripts/setup.sh)";
    }
    if (!IsSkipped()) {
      Build();
    }
  }
  void Build() {
    dir_.MakeDir("cdi");
    dir_.WriteFile("storage.conf",
                   fmt::format("[storage]\ndriver = \"vfs\"\ngraphroot = \"{0}/storage\"\n"
                               "runroot = \"{0}/run\"\n",
                               dir_.path()));
    const Result built = Bash(fmt::format(
        "CONTAINERS_STORAGE_CONF={0}/storage.conf {1}/scripts/image.sh --validate --programs {2} "
        "--output {0}/image.tar",
        dir_.path(), KGPU_SOURCE_DIR, KGPU_BIN_DIR));
    ASSERT_EQ(built.code, 0) << built.err;
    name_ = built.out;
  }
  static Result Bash(const std::string& script) {
    return RunProgram({"/bin/bash", "-c", "set -euo pipefail\n" + script},
                      std::chrono::seconds(100));
  }
  // Runs the image as deploy/validate/pod.yaml does.
  Result Run(const std::vector<std::string>& devices, const std::string& arguments) const {
    std::string flags = "--read-only --cap-drop all --security-opt no-new-privileges ";
    for (const std::string& device : devices) {
      fmt::format_to(std::back_inserter(flags), "--device {} ", device);
    }
    return Bash(
        fmt::format(". {0}/scripts/container.sh\nrun_image {1} {1}/cdi {1}/image.tar {2} -- {3}",
                    KGPU_SOURCE_DIR, dir_.path(), flags, arguments));
  }

  TempDir dir_;
  std::string name_;
};

TEST_F(ValidateImageTest, ProvesTheGpuItWasGivenAndSaysWhenItHasNone) {
  const SimHost host("4xT4");
  Generate(host, dir_.At("cdi"));
  const Result given = Run({"kgpu.dev/gpu=1"}, "--no-bandwidth");
  EXPECT_EQ(given.code, 0) << given.err;
  EXPECT_THAT(given.out, AllOf(HasSubstr("Tesla T4"), HasSubstr(kLines)));
  const Result none = Run({}, "");
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("in a container, start it with a GPU"));
}

TEST_F(ValidateImageTest, HasTheNameOfThePodsImage) {
  const auto root = sys::Root::Open(KGPU_SOURCE_DIR "/deploy/validate");
  ASSERT_OK(root.status());
  const auto text = root->ReadFile("pod.yaml");
  ASSERT_OK(text.status());
  const auto pod = doc::Parse(*text, doc::Format::kYaml, "pod.yaml");
  ASSERT_OK(pod.status());
  const boost::json::value& container = pod->at_pointer("/spec/containers/0");
  EXPECT_EQ(name_, std::string(container.at("image").as_string()) + "\n");
  EXPECT_EQ(container.at_pointer("/resources/limits").at("nvidia.com/gpu").to_number<int>(), 1);
  EXPECT_EQ(pod->at_pointer("/spec/restartPolicy").as_string(), "Never");
}

}  // namespace
}  // namespace kgpu::e2e
