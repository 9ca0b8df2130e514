// Real containers through kgpu-runtime: what they see, what they can open, and which messages
// people get.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "tests/shim/box.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Config(std::string_view runtime, std::string_view more = "") {
  return fmt::format(R"({{"runtimes": ["{}"]{}}})", runtime, more);
}

class RuntimeTest : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (const std::string reason = WhyNotWith(GetParam()); !reason.empty()) {
      GTEST_SKIP() << reason;
    }
  }
  static void Prepare(const SimHost& host, std::string_view more = "") {
    PrepareHost(host, Config(GetParam(), more));
  }
};

INSTANTIATE_TEST_SUITE_P(Runtimes, RuntimeTest, ::testing::Values("runc", "crun"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(RuntimeTest, DockersGpusReachTheContainerAndNoOthers) {
  const SimHost host("8xA100-SXM4-80GB");
  Prepare(host);
  const Box box(host, GetParam());
  box.AddGpus("1,4");
  box.SetScript("ls /dev; kgpu devices; load-library libcuda.so.1; env");
  const Result result = box.Run();
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("nvidia1\n"), HasSubstr("nvidia4\n"), HasSubstr("nvidiactl\n"),
                    HasSubstr("nvidia-uvm\n"), Not(HasSubstr("nvidia0\n")), HasSubstr("A100"),
                    HasSubstr("/libcuda.so.1\n"), HasSubstr("NVIDIA_VISIBLE_DEVICES=void")))
      << result.err << box.log();
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(box.spec(), Not(HasSubstr("nvidia-container-runtime-hook")));
  EXPECT_THAT(host.dir().ReadFile("host/var/log/kgpu/runtime.log"),
              AllOf(HasSubstr("event=gpu-granted container=" + box.id()),
                    HasSubstr("source=docker-gpus"), HasSubstr("asked=1,4")));
}

TEST_P(RuntimeTest, AGpuThatWasNotGivenCannotBeOpenedEvenByItsNumber) {
  const SimHost host("4xT4");
  Prepare(host);
  const Box box(host, GetParam());
  box.AddGpus("0");
  // Nodes that the image brought along. Nobody stands behind the driver's number here: ENXIO.
  ASSERT_EQ(RunProgram({"/bin/mknod", box.rootfs() + "/tmp/nvidia1", "c", "195", "1"}).code, 0);
  box.SetScript("cat /dev/nvidia0; cat /tmp/nvidia1");
  const Result result = box.Run();
  EXPECT_THAT(result.err, AllOf(HasSubstr("'/dev/nvidia0': No such device or address"),
                                HasSubstr("'/tmp/nvidia1': Operation not permitted")))
      << box.log();
}

TEST_P(RuntimeTest, AMigDeviceIsGivenAloneByAMount) {
  const SimHost host("8xA100-mig");
  Prepare(host);
  const Result devices = host.Kgpu({"devices", "--output", "json"});
  const size_t at = devices.out.find("\"MIG-");
  ASSERT_NE(at, std::string::npos);
  const std::string mig = devices.out.substr(at + 1, devices.out.find('"', at + 1) - at - 1);
  const Box box(host, GetParam());
  box.AddMount("/var/run/nvidia-container-devices/" + mig, "/dev/null");
  box.SetScript(
      "kgpu devices --output json | grep -c '\"MIG-'; ls /dev/nvidia-caps | grep -c cap; "
      "ls /var/run/nvidia-container-devices");
  const Result result = box.Run();
  EXPECT_THAT(result.out, HasSubstr("1\n2\n")) << result.err << box.log();
  EXPECT_THAT(result.err, HasSubstr("No such file"));
}

TEST(UserNamespaceTest, AContainerWhoseRootIsNobodyGetsItsGpu) {
  if (const std::string reason = WhyNotWith("runc"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const SimHost host("4xT4");
  PrepareHost(host, Config("runc"));
  Box box(host);
  box.SetScript("ls -l /dev; load-library libcuda.so.1; cat /proc/self/uid_map; kgpu devices");
  box.AddGpus("3");
  box.UseUserNamespace();
  const Result result = box.Run();
  EXPECT_THAT(result.out, AllOf(HasSubstr("nvidia3\n"), Not(HasSubstr("nvidia0\n")),
                                HasSubstr("/libcuda.so.1\n"), HasSubstr("100000"), HasSubstr("T4")))
      << result.err << box.log();
}

TEST_P(RuntimeTest, ARhelLikeImageWithAReadOnlyRootFindsTheDriver) {
  const SimHost host("4xT4");
  Prepare(host);
  const Box box(host, GetParam(), ContainerBench::Image::kRhelLike);
  box.MakeRootReadOnly();
  box.AddGpus("0");
  box.SetScript("load-library libcuda.so.1; touch /new");
  const Result result = box.Run();
  EXPECT_THAT(result.out, AllOf(HasSubstr("lib64"), HasSubstr("/libcuda.so.1\n")))
      << result.err << box.log();
  EXPECT_NE(result.code, 0);
}

TEST_P(RuntimeTest, AMuslImageStartsWithItsNodes) {
  const SimHost host("4xT4");
  Prepare(host);
  const Box box(host, GetParam(), ContainerBench::Image::kMusl);
  box.AddGpus("2");
  box.SetScript("ls /dev; echo started");
  EXPECT_THAT(box.Run().out, AllOf(HasSubstr("nvidia2\n"), HasSubstr("started\n"))) << box.log();
}

TEST(SpecFileTest, CrunAndTheShimTakeTheSameFileForTheSpec) {
  if (const std::string reason = WhyNotWith("crun"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const SimHost host("4xT4");
  PrepareHost(host, Config("crun"));
  const Box box(host, "crun");
  box.SetScript("ls /dev");
  const std::string without = box.spec();
  box.AddGpus("1");
  box.dir().WriteFile("other.json", box.spec());
  box.dir().WriteFile("bundle/config.json", without);
  const std::string other = std::filesystem::relative(box.dir().At("other.json")).string();
  const Result result = box.Call({"run", "--bundle", box.bundle(), "--config", other, box.id()});
  EXPECT_THAT(result.out, HasSubstr("nvidia1\n")) << result.err << box.log();
}

TEST(CopiesTest, TwoCopiesOfTheShimDoNotStartEachOther) {
  const SimHost host("4xT4");
  const TempDir dir;
  const std::string copy = dir.At("runc");
  std::filesystem::copy_file(ProgramPath("kgpu-runtime"), copy);
  host.dir().WriteFile("host/etc/kgpu/runtime.json", Config(copy));
  const Result result =
      RunProgram({ProgramPath("kgpu-runtime"), "--kgpu-root", host.dir().At("host"), "--version"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("another copy of kgpu-runtime"));
}

TEST_P(RuntimeTest, ARefusalIsInTheLogThatEnginesRead) {
  const SimHost host("4xT4");
  Prepare(host);
  const Box box(host, GetParam());
  box.AddGpus("17");
  const Result result = box.Run();
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("kgpu-runtime: no GPU \"17\" on this host"));
  EXPECT_THAT(box.log(), AllOf(HasSubstr(R"({"level":"error","msg":"kgpu-runtime: no GPU)"),
                               HasSubstr("available: 0 = GPU-")));
  EXPECT_THAT(box.Call({"list"}).out, Not(HasSubstr(box.id())));
}

TEST_P(RuntimeTest, AContainerWithoutGpusNeedsNoIndexAndKeepsItsSpec) {
  const SimHost host("4xT4");
  host.dir().WriteFile("host/etc/kgpu/runtime.json", Config(GetParam()));
  const Box box(host, GetParam());
  // What every CUDA image says of itself.
  box.AddEnv("NVIDIA_VISIBLE_DEVICES=all");
  box.SetScript("ls /dev; echo started");
  const std::string before = box.spec();
  const Result result = box.Run();
  EXPECT_THAT(result.out, AllOf(HasSubstr("started\n"), Not(HasSubstr("nvidia")))) << result.err;
  EXPECT_EQ(box.spec(), before);
}

TEST_P(RuntimeTest, EveryVerbPassesThrough) {
  const SimHost host("4xT4");
  Prepare(host);
  const Box box(host, GetParam());
  box.AddGpus("2");
  box.SetScript("ls /dev; sleep 60");
  ASSERT_EQ(box.Create(), 0) << box.log();
  EXPECT_THAT(box.Call({"state", box.id()}).out, HasSubstr("\"created\""));
  EXPECT_EQ(box.Call({"start", box.id()}).code, 0);
  EXPECT_THAT(box.Call({"exec", box.id(), "ls", "/dev"}).out, HasSubstr("nvidia2"));
  EXPECT_EQ(box.Call({"kill", box.id(), "KILL"}).code, 0);
  EXPECT_EQ(box.Call({"delete", "--force", box.id()}).code, 0);
  const std::string real = std::filesystem::exists(fmt::format("/usr/sbin/{}", GetParam()))
                               ? fmt::format("/usr/sbin/{}", GetParam())
                               : fmt::format("/usr/bin/{}", GetParam());
  EXPECT_EQ(RunProgram({"kgpu-runtime", "--kgpu-root", host.path(), "--version"}).out,
            RunProgram({real, "--version"}).out);
}

TEST(RuntimeExecTest, TheRuntimeGetsItsArgumentsAndEnvironmentAndNoDescriptorOfOurs) {
  if (const std::string reason = WhyNotWith("runc"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const SimHost host("4xT4");
  const Box box(host);
  const std::string runtime = box.dir().At("runtime");
  box.dir().WriteFile("runtime", "#!/bin/sh\necho \"args: $*\"\nenv\nls /proc/self/fd\n");
  std::filesystem::permissions(runtime, std::filesystem::perms::owner_all);
  PrepareHost(host, Config(runtime));
  box.AddGpus("0");
  const Result result = RunProgram({"/usr/bin/env", "-i", "KEPT=as it was",
                                    ProgramPath("kgpu-runtime"), "--kgpu-root", host.path(),
                                    "--debug", "create", "--bundle", box.bundle(), "box"});
  EXPECT_THAT(result.out,
              AllOf(HasSubstr(fmt::format("args: --debug create --bundle {} box\n", box.bundle())),
                    HasSubstr("KEPT=as it was\n"), Not(HasSubstr("NVIDIA"))))
      << result.err;
  // Those of every program, one of the shell's and one of ls.
  const std::string fds = result.out.substr(result.out.find("\n0\n") + 1);
  EXPECT_LE(std::ranges::count(fds, '\n'), 5) << fds;
  EXPECT_THAT(box.spec(), HasSubstr("/dev/nvidia0"));
}

TEST(RuntimeExecTest, AFullDiskStopsTheStartAndLeavesTheSpecAsItWas) {
  if (const std::string reason = WhyNotWith("runc"); !reason.empty()) {
    GTEST_SKIP() << reason;
  }
  const SimHost host("4xT4");
  PrepareHost(host);
  const Box box(host);
  box.AddGpus("0");
  const std::string before = box.spec();
  // Room for the spec, and for nothing else.
  const Result result = RunProgram(
      {"/usr/bin/unshare", "--mount", "--propagation", "private", "/bin/sh", "-c",
       fmt::format("mkdir {0}/full; mount -t tmpfs -o size=8k tmpfs {0}/full; "
                   "cp {0}/bundle/config.json {0}/full/; {1} --kgpu-root {2} create --bundle "
                   "{0}/full box; echo code=$?; ls -A {0}/full; cat {0}/full/config.json",
                   box.dir().path(), ProgramPath("kgpu-runtime"), host.path())});
  EXPECT_THAT(result.out, HasSubstr("code=1\nconfig.json\n" + before)) << result.err;
  EXPECT_THAT(result.err, HasSubstr("No space left on device"));
}

TEST(RuntimeHookTest, DockersHookNamesTheFixWhereAnotherRuntimeIsUsed) {
  const TempDir dir;
  dir.Symlink(ProgramPath("kgpu-runtime"), "nvidia-container-runtime-hook");
  const Result result = RunProgram({dir.At("nvidia-container-runtime-hook"), "prestart"});
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("kgpu runtime configure --engine docker --set-default"));
}

TEST(RuntimeConfigTest, ABrokenConfigurationStopsStartsButNotStops) {
  const TempDir dir;
  dir.WriteFile("etc/kgpu/runtime.json", "{");
  const std::string root = "--kgpu-root=" + dir.path();
  const Result start = RunProgram({"kgpu-runtime", root, "create", "box"});
  EXPECT_EQ(start.code, 1);
  EXPECT_THAT(start.err, HasSubstr("etc/kgpu/runtime.json"));
  const Result stop = RunProgram({"kgpu-runtime", root, "--root", dir.At("state"), "state", "box"});
  EXPECT_THAT(stop.err, Not(HasSubstr("runtime.json")));
}

}  // namespace
}  // namespace kgpu::e2e
