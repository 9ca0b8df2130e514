// A real container gets the GPUs it was given and no others, in every family of images.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <boost/json.hpp>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/e2e/container.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using Image = ContainerBench::Image;

std::string Uuid(const SimHost& host, size_t index) {
  const Result result = host.Kgpu({"devices", "--output", "json"});
  const auto devices = doc::Parse(result.out, doc::Format::kJson, "devices");
  if (!devices.ok()) {
    ADD_FAILURE() << result.err;
    return "";
  }
  return std::string(devices->at_pointer(fmt::format("/gpus/{}/uuid", index)).as_string());
}

class ContainerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!WhyNoContainers().empty()) {
      GTEST_SKIP() << WhyNoContainers();
    }
  }
  static void Generate(const SimHost& host, const ContainerBench& bench) {
    const Result result = host.Kgpu({"cdi", "generate", "--output-dir", bench.cdi_dir()});
    ASSERT_EQ(result.code, 0) << result.err;
  }
};

TEST_F(ContainerTest, SeesTheTwoGpusItWasGivenAndNoOther) {
  const SimHost host("8xA100-SXM4-80GB");
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  const std::string second = Uuid(host, 1);
  const std::string fifth = Uuid(host, 4);
  const Result result =
      bench.Run({"kgpu.dev/gpu=" + second, "kgpu.dev/gpu=4"},
                "ls /dev; kgpu devices --output json; load-library libcuda.so.1; env");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("nvidia1\n"), HasSubstr("nvidia4\n"), HasSubstr("nvidiactl"),
                    HasSubstr("nvidia-uvm"), Not(HasSubstr("nvidia0\n")), HasSubstr(second),
                    HasSubstr(fifth), Not(HasSubstr(Uuid(host, 0))), HasSubstr("/libcuda.so.1\n"),
                    HasSubstr("NVIDIA_VISIBLE_DEVICES=void")))
      << result.err;
}

TEST_F(ContainerTest, AGpuThatWasNotGivenCannotBeOpenedEvenByItsNumber) {
  const SimHost host("4xT4");
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  // Two opens: of the GPU given (the driver's major has nobody behind it here: ENXIO) and of
  // another one through a node that the container's own root made beforehand.
  ASSERT_TRUE(bench.dir().MakeCharDevice("rootfs/tmp/nvidia1", 195, 1));
  const Result result = bench.Run({"kgpu.dev/gpu=0"}, "cat /dev/nvidia0; cat /tmp/nvidia1");
  EXPECT_THAT(result.err, AllOf(HasSubstr("'/dev/nvidia0': No such device or address"),
                                HasSubstr("'/tmp/nvidia1': Operation not permitted")));
}

TEST_F(ContainerTest, TheLoaderOfARhelLikeImageFindsTheDriver) {
  const SimHost host("4xT4");
  const ContainerBench bench(Image::kRhelLike);
  Generate(host, bench);
  const Result result =
      bench.Run({"kgpu.dev/gpu=0"}, "load-library libcuda.so.1; load-library libnvidia-ml.so.1");
  EXPECT_THAT(result.out, AllOf(HasSubstr("lib64"), HasSubstr("/libcuda.so.1\n"),
                                HasSubstr("/libnvidia-ml.so.1\n")))
      << result.err;
}

TEST_F(ContainerTest, ADriverInstalledAsOnRhelIsFoundInADebianLikeImage) {
  const SimHost host("4xT4", {"--distro", "rhel"});
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  const Result result = bench.Run({"kgpu.dev/gpu=all"}, "load-library libcuda.so.1; kgpu devices");
  EXPECT_THAT(result.out, AllOf(HasSubstr("/libcuda.so.1\n"), HasSubstr("T4"), HasSubstr("\n3 ")))
      << result.err;
}

TEST_F(ContainerTest, AnOldLibcudaThatTheImageCarriesIsHidden) {
  const SimHost host("4xT4");
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  // The image carries the libcuda of an older driver, and its loader cache names it.
  const SimHost old_host("4xT4", {"--driver", "470.82.01"});
  const Result old = RunProgram(
      {"/bin/sh", "-c",
       fmt::format("set -e; cd {0}; folder=usr/lib/$(basename $(dirname $(find usr/lib lib -name "
                   "libc.so.6 | head -n1))); mkdir -p $folder; "
                   "cp $(find {1} -type f -name 'libcuda.so.470*' | head -n1) $folder/; "
                   "echo old >>$(ls $folder/libcuda.so.470*); "
                   "/sbin/ldconfig -r .; /sbin/ldconfig -C etc/ld.so.cache -p",
                   bench.rootfs(), old_host.path())});
  ASSERT_THAT(old.out, HasSubstr("libcuda.so.1 ")) << old.err;
  const std::string script = "load-library libcuda.so.1; md5sum /usr/lib/*/libcuda.so.1";
  const Result plain = bench.Run({}, script);
  const Result given = bench.Run({"kgpu.dev/gpu=0"}, script);
  EXPECT_THAT(plain.out, HasSubstr("/libcuda.so.1\n")) << plain.err;
  EXPECT_THAT(given.out, HasSubstr("/libcuda.so.1\n")) << given.err;
  EXPECT_NE(plain.out, given.out);
}

TEST_F(ContainerTest, AMuslImageStartsWithItsNodesAndSaysWhyCudaIsNotThere) {
  const SimHost host("4xT4");
  const ContainerBench bench(Image::kMusl);
  Generate(host, bench);
  const Result result = bench.Run({"kgpu.dev/gpu=2"}, "ls /dev; kgpu devices; echo code=$?");
  EXPECT_THAT(result.out, AllOf(HasSubstr("nvidia2\n"), HasSubstr("glibc"), HasSubstr("code=7")))
      << result.err;
}

TEST_F(ContainerTest, AMigDeviceIsGivenAlone) {
  const SimHost host("8xA100-mig");
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  const Result devices = host.Kgpu({"devices", "--output", "json"});
  const size_t at = devices.out.find("\"MIG-");
  ASSERT_NE(at, std::string::npos);
  const std::string mig = devices.out.substr(at + 1, devices.out.find('"', at + 1) - at - 1);
  const Result result = bench.Run({"kgpu.dev/gpu=" + mig},
                                  "kgpu devices --output json | grep -c '\"MIG-'; "
                                  "kgpu devices; ls /dev/nvidia-caps");
  EXPECT_THAT(result.out, AllOf(HasSubstr("1\n"), HasSubstr(mig), HasSubstr("nvidia-cap")))
      << result.err;
}

TEST_F(ContainerTest, AnUnknownDeviceKeepsTheContainerFromStarting) {
  const SimHost host("4xT4");
  const ContainerBench bench(Image::kDebianLike);
  Generate(host, bench);
  const Result result = bench.Run({"kgpu.dev/gpu=17"}, "echo started");
  EXPECT_NE(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("kgpu.dev/gpu=17"));
}

}  // namespace
}  // namespace kgpu::e2e
