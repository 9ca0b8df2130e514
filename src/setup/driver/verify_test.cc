#include "src/setup/driver/verify.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <map>

#include "testing/status_matchers.h"
#include "testing/test_host.h"

namespace kgpu::driver {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* kKernel = "6.1.0-56-amd64";

// modinfo and dkms of a host, by what they are asked.
class FakeTools final : public sys::ProgramRunner {
 public:
  std::map<std::string, std::string> modules;  // name → what modinfo prints
  std::string dkms;

  StatusOr<sys::RunResult> Run(const sys::RunRequest& request) override {
    sys::RunResult result;
    const auto module = modules.find(request.argv.back());
    result.exit.code = 0;
    if (request.argv[0].ends_with("dkms")) {
      result.out = dkms;
    } else if (module == modules.end()) {
      result.exit.code = 1;
      result.err = "modinfo: ERROR: Module not found.\n";
    } else {
      result.out = module->second;
    }
    return result;
  }
};

std::string ModuleText(std::string_view version, std::string_view kernel = kKernel) {
  return fmt::format(
      "filename:       /lib/modules/{1}/updates/dkms/nvidia-current.ko\nversion:        {0}\n"
      "license:        NVIDIA\n"
      "vermagic:       {1} SMP preempt mod_unload modversions \n",
      version, kernel);
}

// A Debian with the driver's libraries, whose kernel does not run.
class VerifyTest : public ::testing::Test {
 protected:
  VerifyTest() {
    host_.InstallDebian();
    host_.AddProgram("usr/sbin/modinfo");
    host_.AddProgram("usr/sbin/dkms");
    tools_.modules["nvidia-current"] = ModuleText(TestHost::kVersion);
    tools_.modules["nvidia-current-uvm"] = ModuleText(TestHost::kVersion);
    tools_.dkms =
        fmt::format("nvidia-current/{}, {}, x86_64: installed\n", TestHost::kVersion, kKernel);
  }

  Verified Look(const std::string& version = "535", const std::string& kernel = kKernel,
                const Demands& demands = {}) {
    const auto root = host::OpenDriverRoot(host_.path(), "", "");
    EXPECT_OK(root);
    return root.ok() ? VerifyDriver({.version = version, .kernel = kernel}, demands, *root, tools_)
                     : Verified{};
  }
  // As if the kernel ran here with the module loaded.
  void StartKernel(std::string_view modules = "nvidia 1 0 - Live 0x0\n") const {
    host_.dir().WriteFile("proc/sys/kernel/osrelease", fmt::format("{}\n", kKernel));
    host_.dir().WriteFile("proc/modules", modules);
    host_.dir().WriteFile("proc/driver/nvidia/version",
                          fmt::format("NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Tue\n",
                                      TestHost::kVersion));
  }

  TestHost host_;
  FakeTools tools_;
};

TEST_F(VerifyTest, PassesWhatAgreesAndTellsWhatDoesNotRun) {
  const Verified seen = Look();
  EXPECT_THAT(seen.failed, IsEmpty());
  EXPECT_THAT(seen.passed, ElementsAre(HasSubstr("module 535.104.05 for kernel 6.1.0-56-amd64"),
                                       HasSubstr("DKMS has installed nvidia-current 535.104.05"),
                                       "libraries 535.104.05", HasSubstr("linker finds")));
  EXPECT_THAT(seen.skipped, ElementsAre(HasSubstr("does not run here")));
}

TEST_F(VerifyTest, FailsWithoutAModuleForTheKernel) {
  tools_.modules.clear();
  EXPECT_THAT(Look().failed, Contains(HasSubstr("module nvidia is missing for kernel 6.1.0-56")));
}

TEST_F(VerifyTest, FailsWithoutTheModuleForUnifiedMemory) {
  tools_.modules.erase("nvidia-current-uvm");
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("module nvidia-current-uvm is missing")));
  host_.dir().MakeDir("var/lib/dkms/nvidia-current/535.104.05");
  EXPECT_THAT(Look().failed,
              ElementsAre(HasSubstr("dkms uninstall nvidia-current/535.104.05 -k 6.1.0-56-amd64 && "
                                    "dkms install nvidia-current/535.104.05")));
}

TEST_F(VerifyTest, FailsWithoutAFileOfAPackage) {
  host_.dir().WriteFile("var/lib/dpkg/status",
                        "Package: libcuda1\nStatus: install ok installed\nVersion: 535.104.05-1\n");
  host_.dir().WriteFile("var/lib/dpkg/info/libcuda1:amd64.list", "/usr/lib/libcuda.so.gone\n");
  EXPECT_THAT(
      Look().failed,
      ElementsAre(HasSubstr("package libcuda1:amd64: /usr/lib/libcuda.so.gone is missing")));
  host_.dir().WriteFile("usr/lib/libcuda.so.gone", "here");
  const Verified seen = Look();
  EXPECT_THAT(seen.failed, IsEmpty());
  EXPECT_THAT(seen.passed, Contains("all files of the driver's 1 packages"));
}

TEST_F(VerifyTest, WarnsOfWhatDkmsWarnsOf) {
  tools_.dkms = fmt::format(
      "nvidia-current/{}, {}, x86_64: installed (WARNING! Diff between built and installed "
      "module!)\n",
      TestHost::kVersion, kKernel);
  EXPECT_THAT(Look().warned, ElementsAre(HasSubstr("Diff between built and installed module!")));
}

TEST_F(VerifyTest, FailsOverAModuleOfAnotherKernel) {
  tools_.modules["nvidia-current"] = ModuleText(TestHost::kVersion, "6.1.0-9-amd64");
  EXPECT_THAT(Look().failed, Contains(HasSubstr("built for kernel 6.1.0-9-amd64")));
}

TEST_F(VerifyTest, FailsOverAnotherVersionThanTheRequest) {
  EXPECT_THAT(Look("550").failed, ElementsAre(HasSubstr("has version 535.104.05, not 550"),
                                              HasSubstr("are 535.104.05, not 550")));
}

TEST_F(VerifyTest, TakesAnyVersionWhereNoneIsAskedFor) {
  EXPECT_THAT(Look("").failed, IsEmpty());
}

TEST_F(VerifyTest, FailsOverADriverTooOldForTheCuda) {
  EXPECT_THAT(
      Look("", kKernel, {.cuda = cuda::CudaVersion{12, 4}}).failed,
      ElementsAre("CUDA 12.4 needs driver 550.54.14 or newer, but 535.104.05 is installed"));
  const Verified well = Look("", kKernel, {.cuda = cuda::CudaVersion{12, 2}});
  EXPECT_THAT(well.failed, IsEmpty());
  EXPECT_THAT(well.passed, Contains("driver 535.104.05 fully supports CUDA 12.2"));
  EXPECT_THAT(Look("", kKernel, {.cuda = cuda::CudaVersion{99, 0}}).failed,
              ElementsAre(HasSubstr("newer than the latest version known to kgpu")));
}

TEST_F(VerifyTest, FailsOverModulesOfTheOtherKind) {
  EXPECT_THAT(Look("", kKernel, {.kind = ModuleKind::kOpen}).failed,
              ElementsAre(HasSubstr("belongs to the proprietary modules, not the open ones")));
  EXPECT_THAT(Look("", kKernel, {.kind = ModuleKind::kProprietary}).failed, IsEmpty());
}

TEST_F(VerifyTest, FailsOverLibrariesOfAnotherVersionThanTheModule) {
  tools_.modules["nvidia-current"] = ModuleText("535.309.01");
  EXPECT_THAT(Look().failed,
              ElementsAre(HasSubstr("libraries are 535.104.05, the module is 535.309.01")));
}

TEST_F(VerifyTest, FailsOverLibrariesOfSeveralVersions) {
  host_.AddLibrary("usr/lib64", "libcuda", kElfX8664, "550.1");
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("several versions: 535.104.05, 550.1")));
}

TEST_F(VerifyTest, FailsWhenDkmsBuiltNothingForTheKernel) {
  tools_.dkms = fmt::format("nvidia-current/{}: added\n", TestHost::kVersion);
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("dkms autoinstall -k 6.1.0-56-amd64")));
}

TEST_F(VerifyTest, FailsWhenDkmsHasBuiltButNotInstalled) {
  tools_.dkms = fmt::format("nvidia-current/{}, {}, x86_64: built\n", TestHost::kVersion, kKernel);
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("dkms install nvidia-current/535.104.05")));
}

TEST_F(VerifyTest, FailsWhenTheLinkerKnowsLibrariesThatAreGone) {
  ASSERT_EQ(unlink(host_.dir().At("etc/alternatives/nvidia--libcuda.so.1").c_str()), 0);
  EXPECT_THAT(Look().failed, Contains(HasSubstr("does not find libcuda.so.1: ldconfig")));
}

TEST_F(VerifyTest, TellsThatThereIsNoModinfo) {
  ASSERT_EQ(unlink(host_.dir().At("usr/sbin/modinfo").c_str()), 0);
  EXPECT_THAT(Look().skipped, Contains(HasSubstr("modinfo not found")));
}

TEST_F(VerifyTest, FailsWhenTheRunningKernelHasNotLoadedIt) {
  StartKernel("snd 1 0 - Live 0x0\n");
  ASSERT_EQ(unlink(host_.dir().At("proc/driver/nvidia/version").c_str()), 0);
  EXPECT_THAT(Look().failed, Contains(HasSubstr("nvidia is not loaded")));
}

TEST_F(VerifyTest, FailsWhenNouveauIsLoaded) {
  StartKernel("nouveau 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
  EXPECT_THAT(Look().failed, Contains(HasSubstr("nouveau is loaded")));
}

// Sources: beclab/Olares#3963, NVIDIA/open-gpu-kernel-modules#259.
TEST_F(VerifyTest, FailsWhenAGpuHasAnotherDriverOrNone) {
  StartKernel("nova_core 1 0 - Live 0x0\nnvidia 1 0 - Live 0x0\n");
  EXPECT_THAT(Look().failed, Not(Contains(HasSubstr("nova")))) << "it has no GPU";
  const std::string gpu = "sys/bus/pci/devices/0000:25:00.0";
  for (const auto& [name, text] :
       {std::pair("vendor", "0x10de"), {"device", "0x2901"}, {"class", "0x030200"}}) {
    host_.dir().WriteFile(fmt::format("{}/{}", gpu, name), text);
  }
  EXPECT_THAT(Look().failed, Contains(HasSubstr("blackwell GPU needs NVIDIA's open modules")));
  host_.dir().Symlink("../../../bus/pci/drivers/NovaCore", gpu + "/driver");
  EXPECT_THAT(Look().failed, IsSupersetOf({HasSubstr("0000:25:00.0: bound to the kernel driver "
                                                     "NovaCore: restart"),
                                           HasSubstr("nova_core is loaded and uses the GPUs")}));
}

TEST_F(VerifyTest, FailsWithoutALibraryThatOthersAreBeside) {
  ASSERT_EQ(
      unlink(
          host_.dir().At("usr/lib/x86_64-linux-gnu/nvidia/current/libcuda.so.535.104.05").c_str()),
      0);
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("libcuda.so.535.104.05 not found")));
}

TEST_F(VerifyTest, FailsWhenTheLoadedModuleIsNotTheOneInstalled) {
  StartKernel();
  tools_.modules["nvidia-current"] = ModuleText("535.309.01");
  EXPECT_THAT(Look().failed, Contains(HasSubstr("the loaded module has version 535.104.05")));
}

TEST_F(VerifyTest, FailsWithoutNodesOfTheRunningDriver) {
  StartKernel();
  host_.dir().MakeDir("dev");
  EXPECT_THAT(Look().failed, ElementsAre("/dev/nvidiactl, /dev/nvidia-uvm, /dev/nvidia0 not found: "
                                         "nvidia-modprobe -c 255 -c 0 && nvidia-modprobe -u -c 0"));
}

TEST_F(VerifyTest, FailsOverANodeOfAModuleThatWasLoadedBefore) {
  StartKernel();
  if (!host_.AddNodes(1)) {
    GTEST_SKIP() << "cannot create device nodes here";
  }
  host_.dir().WriteFile("proc/devices", "Character devices:\n195 nvidia\n7 nvidia-uvm\n");
  EXPECT_THAT(Look().failed, ElementsAre(HasSubstr("the module 7: nvidia-modprobe -u -c 0")));
}

TEST_F(VerifyTest, PassesARunningDriver) {
  StartKernel();
  if (!host_.AddNodes(2)) {
    GTEST_SKIP() << "cannot create device nodes here";
  }
  const Verified seen = Look("535.104.05", "");
  EXPECT_THAT(seen.failed, IsEmpty());
  EXPECT_THAT(seen.skipped, IsEmpty());
  EXPECT_THAT(seen.passed, Contains("device nodes of 2 GPUs"));
}

TEST_F(VerifyTest, TheNextKernelWithoutTheDriverIsAWarning) {
  StartKernel();
  const auto add = [this](std::string_view release, std::string_view modules) {
    host_.dir().WriteFile(fmt::format("lib/modules/{}/modules.builtin", release), "");
    host_.dir().WriteFile(fmt::format("lib/modules/{}/modules.dep", release), modules);
  };
  add(kKernel, "updates/dkms/nvidia-current.ko:\n");
  EXPECT_THAT(Look().warned, IsEmpty());
  add("6.1.0-57-amd64", "kernel/fs/ext4/ext4.ko:\n");
  EXPECT_THAT(Look().warned, ElementsAre(HasSubstr("dkms autoinstall -k 6.1.0-57-amd64")));
  host_.dir().WriteFile("var/lib/kgpu/driver.json", "");
  EXPECT_THAT(Look().warned, ElementsAre(HasSubstr("kgpu driver install --kernel 6.1.0-57-amd64")));
}

}  // namespace
}  // namespace kgpu::driver
