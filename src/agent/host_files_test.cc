#include "src/agent/host_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <filesystem>

#include "src/node/loans/ledger.h"
#include "src/node/mps/daemon_files.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

class HostFilesTest : public ::testing::Test {
 protected:
  HostFilesTest() {
    for (const char* file :
         {"run/kgpu/agent-memory.json", "run/kgpu/chosen-config.json", "run/kgpu/plugin-owner",
          "run/kgpu/.agent-memory.json.tmp0", "run/kgpu/mig-change.json", "run/kgpu/injection.json",
          "run/cdi/kgpu-kgpu.dev-gpu.json", "run/cdi/other.json", "var/lib/kgpu/health.journal",
          "var/lib/kgpu/usage/2026-01.json", "var/lib/kubelet/device-plugins/kgpu-a.sock",
          "var/lib/kubelet/device-plugins/kubelet.sock"}) {
      dir_.WriteFile(file, "x");
    }
  }
  HostFiles Remove(bool is_dry_run = false) {
    HostFiles files;
    const auto root = sys::Root::Open(dir_.path());
    EXPECT_OK(root);
    EXPECT_OK(RemoveHostFiles(*root, "", is_dry_run, files));
    return files;
  }
  bool Exists(const std::string& path) {
    const auto root = sys::Root::Open(dir_.path());
    return root.ok() && root->Exists(path);
  }

  TempDir dir_;
};

TEST_F(HostFilesTest, RemovesTheAgentsFilesAndEmptyFolders) {
  const HostFiles files = Remove();
  EXPECT_THAT(files.removed, Contains("/run/cdi/kgpu-kgpu.dev-gpu.json"));
  EXPECT_THAT(files.stays, IsEmpty());
  EXPECT_FALSE(Exists("run/kgpu"));
  EXPECT_FALSE(Exists("var/lib/kgpu"));
  EXPECT_FALSE(Exists("var/lib/kubelet/device-plugins/kgpu-a.sock"));
  EXPECT_TRUE(Exists("var/lib/kubelet/device-plugins/kubelet.sock"));
  EXPECT_TRUE(Exists("run/cdi/other.json"));
  EXPECT_THAT(Remove().removed, IsEmpty());
}

TEST_F(HostFilesTest, WhatIsNotTheAgentsStaysAndIsNamed) {
  dir_.WriteFile("var/lib/kgpu/driver.json", "{}");
  EXPECT_THAT(Remove().stays, ElementsAre("/var/lib/kgpu/driver.json"));
  EXPECT_TRUE(Exists("var/lib/kgpu/driver.json"));
  EXPECT_FALSE(Exists("var/lib/kgpu/usage"));
}

// This process plays the daemon. Source: proc(5), comm.
TEST_F(HostFilesTest, DaemonsOfMpsThatRunAreNamed) {
  const std::string folder = "run/kgpu/mps/GPU-00000000-0000-0000-0000-00000000000a";
  const auto self = mps::LastingProcess::Find(getpid());
  ASSERT_OK(self);
  dir_.MakeDir(folder);
  ASSERT_OK(mps::WriteRecord(
      dir_.At(folder), {.pid = static_cast<uint32_t>(getpid()), .start_time = self->start_time()}));
  EXPECT_THAT(Remove(true).running, IsEmpty()) << "another program by now";
  std::array<char, 16> name = {};
  ASSERT_EQ(prctl(PR_GET_NAME, name.data()), 0);
  ASSERT_EQ(prctl(PR_SET_NAME, "nvidia-cuda-mps-control"), 0);
  const HostFiles files = Remove();
  EXPECT_EQ(prctl(PR_SET_NAME, name.data()), 0);
  EXPECT_THAT(files.running,
              ElementsAre(::testing::HasSubstr(fmt::format(
                  "PID {}; to end it: echo quit | CUDA_MPS_PIPE_DIRECTORY=/{}/pipe nvidia-cuda",
                  getpid(), folder))));
  EXPECT_THAT(files.stays, ElementsAre("/run/kgpu/mps"));
}

TEST_F(HostFilesTest, FoldersOfDaemonsThatHaveEndedGo) {
  const std::string folder = "run/kgpu/mps/GPU-00000000-0000-0000-0000-00000000000a";
  dir_.WriteFile(folder + "/pipe/control", "");
  dir_.WriteFile(folder + "/log/server.log", "x");
  dir_.WriteFile("outside/file", "x");
  std::filesystem::create_directory_symlink(dir_.At("outside"), dir_.At(folder + "/pipe/link"));
  dir_.MakeDir("dev/shm/kgpu-mps");
  const HostFiles dry = Remove(true);
  EXPECT_TRUE(Exists(folder + "/log/server.log"));
  const HostFiles files = Remove();
  EXPECT_EQ(dry.removed, files.removed);
  EXPECT_THAT(files.removed, AllOf(Contains("/run/kgpu/mps"), Contains("/dev/shm/kgpu-mps")));
  EXPECT_THAT(files.stays, IsEmpty());
  EXPECT_FALSE(Exists("run/kgpu"));
  EXPECT_FALSE(Exists("dev/shm/kgpu-mps"));
  EXPECT_TRUE(Exists("dev/shm"));
  EXPECT_TRUE(Exists("outside/file"));
}

TEST_F(HostFilesTest, TheRecordOfMigLayoutsGoes) {
  dir_.WriteFile("var/lib/kgpu/mig.json", "{}");
  const HostFiles files = Remove();
  EXPECT_THAT(files.removed, Contains("/var/lib/kgpu/mig.json"));
  EXPECT_FALSE(Exists("var/lib/kgpu"));
}

TEST_F(HostFilesTest, ALedgerStaysWhileSomethingIsLent) {
  dir_.WriteFile("var/lib/kgpu/loans.json", loans::PrintLedger({}));
  dir_.MakeDir("var/lib/kgpu/lent-slices");
  dir_.WriteFile("var/lib/kgpu/lent-slices/GPU-a_0.limits", "x");
  EXPECT_THAT(Remove().stays, IsEmpty());
  EXPECT_FALSE(Exists("var/lib/kgpu/loans.json"));
  EXPECT_FALSE(Exists("var/lib/kgpu/lent-slices"));
  loans::Ledger ledger;
  ASSERT_OK(
      ledger.Add({.holder = "fn/a/1",
                  .gpus = {*device::GpuUuid::Parse("GPU-00000000-0000-0000-0000-00000000000a")}},
                 WallTime()));
  dir_.WriteFile("var/lib/kgpu/loans.json", loans::PrintLedger(ledger));
  EXPECT_THAT(Remove().stays, ElementsAre("/var/lib/kgpu/loans.json"));
  dir_.MakeDir("var/lib/kgpu/lent-slices");
  dir_.WriteFile("var/lib/kgpu/lent-slices/GPU-a_0.limits", "x");
  EXPECT_THAT(Remove().stays, ElementsAre("/var/lib/kgpu/lent-slices", "/var/lib/kgpu/loans.json"));
  EXPECT_TRUE(Exists("var/lib/kgpu/lent-slices/GPU-a_0.limits"));
  EXPECT_TRUE(Exists("var/lib/kgpu/loans.json"));
}

TEST_F(HostFilesTest, ADryRunNamesTheSameAndRemovesNothing) {
  const HostFiles dry = Remove(true);
  EXPECT_TRUE(Exists("var/lib/kgpu/health.journal"));
  EXPECT_EQ(dry.removed, Remove().removed);
}

TEST_F(HostFilesTest, AFolderForCdiGoesWhenOnlyOurFilesWereInIt) {
  dir_.WriteFile("var/run/cdi/kgpu-a.json", "x");
  Remove();
  EXPECT_FALSE(Exists("var/run/cdi"));
  EXPECT_TRUE(Exists("run/cdi"));
}

TEST_F(HostFilesTest, SocketsGoFromAKubeletsFolderElsewhere) {
  for (const char* file : {"device-plugins/kgpu-a.sock", "plugins_registry/kgpu-b.sock",
                           "device-plugins/kubelet.sock"}) {
    dir_.WriteFile(fmt::format("data/kubelet/{}", file), "x");
  }
  HostFiles files;
  const auto root = sys::Root::Open(dir_.path());
  ASSERT_OK(root);
  ASSERT_OK(RemoveHostFiles(*root, dir_.At("data/kubelet"), false, files));
  EXPECT_THAT(files.removed, Contains(dir_.At("data/kubelet/device-plugins/kgpu-a.sock")));
  EXPECT_FALSE(Exists("data/kubelet/plugins_registry/kgpu-b.sock"));
  EXPECT_TRUE(Exists("data/kubelet/device-plugins/kubelet.sock"));
  EXPECT_OK(RemoveHostFiles(*root, dir_.At("missing"), false, files));
}

TEST_F(HostFilesTest, AHostWithoutAnyIsFine) {
  const TempDir empty;
  const auto root = sys::Root::Open(empty.path());
  HostFiles files;
  EXPECT_OK(RemoveHostFiles(*root, "", false, files));
  EXPECT_THAT(files.removed, IsEmpty());
}

}  // namespace
}  // namespace kgpu::agent
