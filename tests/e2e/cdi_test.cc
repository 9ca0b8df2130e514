// kgpu cdi against simulated hosts: what is written, and what bad hosts and folders do to it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "testing/temp_dir.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

size_t FilesIn(const std::string& folder) {
  const std::filesystem::directory_iterator files(folder);
  return static_cast<size_t>(std::distance(begin(files), end(files)));
}

class CdiTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
  }
  Result Generate(const SimHost& host, std::vector<std::string> more = {}) {
    std::vector<std::string> words = {"cdi", "generate", "--output-dir", out_.path()};
    words.insert(words.end(), more.begin(), more.end());
    return host.Kgpu(words);
  }
  TempDir out_;
};

TEST_F(CdiTest, WhatIsGeneratedIsListedAndChecks) {
  const SimHost host("8xA100-SXM4-80GB");
  const Result generated = Generate(host);
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.out, HasSubstr("wrote " + out_.path()));
  const Result listed = host.Kgpu({"cdi", "list", "--spec-dir", out_.path()});
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_THAT(listed.out, AllOf(HasSubstr("kgpu.dev/gpu=0 "), HasSubstr("kgpu.dev/gpu=7 "),
                                HasSubstr("kgpu.dev/gpu=all"), HasSubstr("kgpu.dev/gpu=GPU-"),
                                HasSubstr("nvidia.com/gpu=0 ")));
  const Result checked = host.Kgpu({"cdi", "check", "--spec-dir", out_.path()});
  EXPECT_EQ(checked.code, 0) << checked.out << checked.err;
}

TEST_F(CdiTest, WhatIsGeneratedIsSaidToPrograms) {
  const SimHost host("8xA100-SXM4-80GB");
  const Result generated = Generate(host, {"--output", "json"});
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.out,
              AllOf(StartsWith("{\n  \"written\": [\n"), HasSubstr("\"" + out_.path()),
                    HasSubstr("\"removed\": []"), HasSubstr("\"findings\": []")));
  EXPECT_THAT(Generate(host, {"--output", "yaml"}).out, StartsWith("written: []\n"));
  EXPECT_THAT(Generate(host, {"--dry-run", "--output", "yaml"}).out, StartsWith("cdiVersion: "));
  EXPECT_EQ(Generate(host, {"--output", "xml"}).code, 2);
}

TEST_F(CdiTest, ASecondRunChangesNothing) {
  const SimHost host("4xT4");
  EXPECT_EQ(Generate(host).code, 0);
  EXPECT_EQ(Generate(host).out, "no changes\n");
}

TEST_F(CdiTest, AWatchWritesAgainAfterEveryChange) {
  SimHost host("4xT4");
  std::vector<std::string> argv = {"kgpu",    "cdi",          "generate",
                                   "--watch", "--output-dir", out_.path()};
  for (const std::string& flag : host.flags()) {
    argv.push_back(flag);
  }
  Background watch(argv);
  ASSERT_TRUE(watch.WaitFor("nvidia.com-gpu.json")) << watch.out();
  watch.Clear();
  host.Inject("add", {"--model", "T4"});
  ASSERT_TRUE(watch.WaitFor("nvidia.com-gpu.json")) << watch.out();
  EXPECT_THAT(host.Kgpu({"cdi", "list", "--spec-dir", out_.path()}).out,
              HasSubstr("kgpu.dev/gpu=4 "));
  // The driver goes for an upgrade: the spec stays for containers that need it.
  EXPECT_EQ(watch.Stop().code, 0);
  host.Inject("unload");
  EXPECT_EQ(Generate(host).code, 6);
  EXPECT_THAT(host.Kgpu({"cdi", "list", "--spec-dir", out_.path()}).out,
              HasSubstr("kgpu.dev/gpu=4 "));
}

TEST_F(CdiTest, WhatIsThereBesidesGpusHasKindsOfItsOwn) {
  SimHost host("4xT4", {"--with", "gds,gdrcopy,mofed=2,imex=3"});
  out_.WriteFile("gds.yaml",
                 "cdiVersion: 0.5.0\nkind: nvidia.com/gds\ndevices:\n- name: all\n"
                 "  containerEdits:\n    env: [A=1]\n");
  const Result generated = Generate(host);
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.err, HasSubstr("nvidia.com/gds is left to " + out_.At("gds.yaml")));
  const Result listed = host.Kgpu({"cdi", "list", "--spec-dir", out_.path()});
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_THAT(listed.out,
              AllOf(HasSubstr("kgpu.dev/imex-channel=0 "), HasSubstr("kgpu.dev/imex-channel=2 "),
                    HasSubstr("kgpu.dev/imex-channel=all "), HasSubstr("kgpu.dev/gds=all "),
                    HasSubstr("kgpu.dev/gdrcopy=all "), HasSubstr("kgpu.dev/mofed=all "),
                    HasSubstr("nvidia.com/mofed=all "), Not(HasSubstr("nvidia.com-gds.json"))));
  EXPECT_EQ(host.Kgpu({"cdi", "check", "--spec-dir", out_.path()}).code, 0);
  // The cards do not hang on the driver, the rest goes with it: at once.
  host.Inject("unload");
  EXPECT_EQ(Generate(host).code, 6);
  const Result without = host.Kgpu({"cdi", "list", "--spec-dir", out_.path()});
  EXPECT_THAT(without.out, AllOf(HasSubstr("kgpu.dev/mofed=all "), HasSubstr("kgpu.dev/gpu=0 "),
                                 Not(HasSubstr("kgpu.dev/gds")), Not(HasSubstr("imex")),
                                 Not(HasSubstr("gdrcopy"))));
}

TEST_F(CdiTest, AWatchSeesCompanionsComeAndGo) {
  SimHost host("4xT4");
  std::vector<std::string> argv = {"kgpu",    "cdi",          "generate",
                                   "--watch", "--output-dir", out_.path()};
  for (const std::string& flag : host.flags()) {
    argv.push_back(flag);
  }
  Background watch(argv);
  ASSERT_TRUE(watch.WaitFor("nvidia.com-gpu.json")) << watch.out();
  for (const char* companion : {"gds", "gdrcopy", "mofed", "imex"}) {
    host.Inject("with", {companion});
    const std::string name = companion == std::string("imex") ? "imex-channel" : companion;
    EXPECT_TRUE(watch.WaitFor("wrote " + out_.At("kgpu-nvidia.com-" + name))) << watch.out();
    host.Inject("with", {"none"});
    EXPECT_TRUE(watch.WaitFor("removed " + out_.At("kgpu-nvidia.com-" + name))) << watch.out();
  }
  EXPECT_EQ(watch.Stop().code, 0);
}

TEST_F(CdiTest, ADryRunPrintsAndWritesNothing) {
  const SimHost host("4xT4");
  const Result result = Generate(host, {"--dry-run", "--format", "yaml"});
  EXPECT_EQ(result.code, 0) << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("kind: kgpu.dev/gpu"), HasSubstr("/dev/nvidia3")));
  EXPECT_EQ(FilesIn(out_.path()), 0u);
}

std::string TextOf(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST_F(CdiTest, TheInjectionIndexIsWrittenBesideTheSpecs) {
  const SimHost host("4xT4");
  const std::string index = host.path() + "/run/kgpu/injection.json";
  EXPECT_THAT(Generate(host, {"--dry-run"}).err, HasSubstr(index));
  EXPECT_FALSE(std::filesystem::exists(index));
  const Result generated = Generate(host, {"--capabilities", "utility"});
  EXPECT_EQ(generated.code, 0) << generated.err;
  EXPECT_THAT(generated.out, HasSubstr("wrote " + index));
  EXPECT_THAT(TextOf(index), AllOf(HasSubstr("\"names\":[\"3\",\"GPU-"), HasSubstr("libcuda.so.1"),
                                   HasSubstr("\"computeCapability\":\"7.5\"")))
      << "it holds every capability, whatever the specs hold";
}

TEST_F(CdiTest, AnIndexThatCannotBeWrittenStopsNoSpec) {
  const SimHost host("4xT4");
  std::ofstream(host.path() + "/run/kgpu") << "not a folder";
  const Result generated = Generate(host);
  EXPECT_EQ(generated.code, 0);
  EXPECT_THAT(generated.err, AllOf(HasSubstr("kgpu-runtime"), HasSubstr("/run/kgpu")));
  EXPECT_EQ(FilesIn(out_.path()), 2u);
}

TEST_F(CdiTest, TheKindOfNvidiaIsLeftToAFileThatDeclaresIt) {
  const SimHost host("4xT4");
  out_.WriteFile("nvidia.yaml",
                 "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n"
                 "  containerEdits:\n    env: [A=1]\n");
  const Result result = Generate(host);
  EXPECT_THAT(result.err, HasSubstr("nvidia.yaml"));
  const Result listed = host.Kgpu({"cdi", "list", "--spec-dir", out_.path()});
  EXPECT_EQ(listed.code, 0) << listed.out;
  EXPECT_THAT(listed.out, Not(HasSubstr("nvidia.com/gpu=1")));
}

TEST_F(CdiTest, AFileInTheHostsOwnFoldersCountsBesideAnOutputFolder) {
  const SimHost host("4xT4");
  const std::filesystem::path folder = host.path() + "/etc/cdi";
  std::filesystem::create_directories(folder);
  std::ofstream(folder / "nvidia.yaml")
      << "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices:\n- name: \"0\"\n"
         "  containerEdits:\n    env: [A=1]\n";
  const Result result = Generate(host);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("is left to " + folder.string() + "/nvidia.yaml"));
  EXPECT_TRUE(std::filesystem::exists(out_.At("kgpu-kgpu.dev-gpu.json")));
  EXPECT_FALSE(std::filesystem::exists(out_.At("kgpu-nvidia.com-gpu.json")));
}

TEST_F(CdiTest, CapabilitiesDecideWhichLibrariesAreMounted) {
  const SimHost host("4xT4");
  const Result compute = Generate(host, {"--dry-run", "--capabilities", "compute"});
  EXPECT_THAT(compute.out, AllOf(HasSubstr("libcuda.so.1"), Not(HasSubstr("libGLX_nvidia"))));
  const Result all = Generate(host, {"--dry-run", "--capabilities", "all"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("libGLX_nvidia"), HasSubstr("nvidia-modeset")));
  const Result wrong = Generate(host, {"--capabilities", "compute,sound"});
  EXPECT_EQ(wrong.code, 2);
  EXPECT_THAT(wrong.err, HasSubstr("sound"));
}

TEST_F(CdiTest, AMissingLibraryIsFoundByCheck) {
  const SimHost host("4xT4");
  ASSERT_EQ(Generate(host).code, 0);
  const Result before = host.Kgpu({"cdi", "list", "--spec-dir", out_.path()});
  host.dir().WriteFile("host/gone", "");
  std::filesystem::remove(host.path() + "/dev/nvidia2");
  const Result result = host.Kgpu({"cdi", "check", "--spec-dir", out_.path()});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(result.out, HasSubstr("/dev/nvidia2"));
}

TEST_F(CdiTest, ADriverRootWithoutLibrariesSaysWhereItLooked) {
  const SimHost host("4xT4");
  std::filesystem::remove_all(host.path() + "/usr/lib");
  std::filesystem::remove(host.path() + "/etc/ld.so.cache");
  const Result result = Generate(host);
  EXPECT_EQ(result.code, 6);
  EXPECT_THAT(result.err, AllOf(HasSubstr("libnvidia-ml.so.1"), HasSubstr("--driver-root")));
  EXPECT_EQ(FilesIn(out_.path()), 0u);
}

TEST_F(CdiTest, LibraryAndModuleOfDifferentVersionsWriteNothing) {
  SimHost host("4xT4");
  host.Inject("unload");
  host.Inject("load", {"--driver", "550.54.15", "--module-only"});
  const Result result = Generate(host);
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr("550.54.15"));
  EXPECT_EQ(FilesIn(out_.path()), 0u);
}

TEST_F(CdiTest, AFullFolderLeavesTheOldSpecWhole) {
  const SimHost host("4xT4");
  const std::string small = out_.path() + "/small";
  out_.MakeDir("small");
  if (mount("tmpfs", small.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, "size=4k") != 0) {
    GTEST_SKIP() << "a tmpfs cannot be mounted here";
  }
  const Result result = host.Kgpu({"cdi", "generate", "--output-dir", small});
  EXPECT_EQ(result.code, 4) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr(small), HasSubstr("No space left")));
  EXPECT_EQ(FilesIn(small), 0u);
  EXPECT_EQ(umount2(small.c_str(), MNT_DETACH), 0);
}

TEST_F(CdiTest, AReadOnlyFolderIsNamed) {
  const SimHost host("4xT4");
  const std::string locked = out_.path() + "/locked";
  out_.MakeDir("locked");
  if (mount("tmpfs", locked.c_str(), "tmpfs", MS_RDONLY, "size=64k") != 0) {
    GTEST_SKIP() << "a tmpfs cannot be mounted here";
  }
  const Result result = host.Kgpu({"cdi", "generate", "--output-dir", locked});
  EXPECT_EQ(result.code, 6) << result.err;
  EXPECT_THAT(result.err, HasSubstr(locked));
  EXPECT_EQ(umount2(locked.c_str(), MNT_DETACH), 0);
}

TEST_F(CdiTest, AnUnreadableProcIsSurvived) {
  const SimHost host("4xT4");
  // Folders where files should be: not even root can read them.
  for (const char* file : {"/proc/modules", "/proc/devices", "/proc/driver/nvidia/version"}) {
    std::filesystem::remove(host.path() + file);
    std::filesystem::create_directories(host.path() + file);
  }
  const Result result = host.Kgpu({"devices"});
  EXPECT_THAT(result.out, HasSubstr("T4"));
  EXPECT_EQ(Generate(host).code, 0);
}

TEST_F(CdiTest, CheckWithoutAnySpecSaysHowToWriteOne) {
  const SimHost host("4xT4");
  const Result result = host.Kgpu({"cdi", "check", "--spec-dir", out_.path()});
  EXPECT_EQ(result.code, 3);
  EXPECT_THAT(result.err, HasSubstr("kgpu cdi generate"));
  EXPECT_THAT(result.out, IsEmpty());
}

}  // namespace
}  // namespace kgpu::e2e
