#include "src/setup/driver/gpu_holders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/scripted_runner.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::driver {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void AddProcess(const TempDir& dir, const std::string& pid, const std::string& opened,
                std::string_view cgroup) {
  dir.WriteFile("proc/" + pid + "/comm", "name" + pid + "\n");
  dir.WriteFile("proc/" + pid + "/cgroup", cgroup);
  dir.MakeDir("proc/" + pid + "/fd");
  dir.Symlink(opened, "proc/" + pid + "/fd/3");
}

TEST(GpuHoldersTest, AreProcessesWithADeviceOpen) {
  const TempDir dir;
  AddProcess(dir, "20", "/dev/nvidiactl", "0::/system.slice/x.service\n");
  AddProcess(dir, "3", "/dev/nvidia0",
             "4:memory:/other\n1:name=systemd:/kubepods/pod1\n0::/unified\n");
  AddProcess(dir, "5", "/dev/null", "0::/\n");
  dir.WriteFile("proc/stat", "");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  EXPECT_THAT(
      FindGpuHolders(*host),
      ElementsAre(GpuHolder{.pid = 3, .name = "name3", .cgroup = "/kubepods/pod1"},
                  GpuHolder{.pid = 20, .name = "name20", .cgroup = "/system.slice/x.service"}));
}

TEST(GpuHoldersTest, BelongToAUnitByItsWholeName) {
  const GpuHolder holder{.pid = 1, .name = "x", .cgroup = "/system.slice/x.service/part"};
  EXPECT_TRUE(holder.IsOf({"y.service", "x.service"}));
  EXPECT_FALSE(holder.IsOf({"x.serv"}));
  EXPECT_FALSE(holder.IsOf({}));
  EXPECT_FALSE(holder.is_in_pod());
}

TEST(GpuUnitsTest, AreThoseThatRun) {
  const TempDir dir;
  dir.WriteFile("usr/lib/systemd/system/nvidia-persistenced.service", "");
  dir.WriteFile("usr/lib/systemd/system/nvidia-powerd.service", "");
  dir.MakeDir("etc/systemd/system");
  dir.Symlink("/usr/lib/systemd/system/gdm.service", "etc/systemd/system/display-manager.service");
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  runner.Answer("/usr/bin/systemctl is-active", "inactive\nfailed\nactive\n", 3);
  EXPECT_THAT(FindGpuUnits(*host, "/usr/bin/systemctl", runner),
              IsOkAndHolds(ElementsAre("nvidia-persistenced.service")));
  EXPECT_THAT(runner.commands(), ElementsAre("/usr/bin/systemctl is-active display-manager.service "
                                             "nvidia-powerd.service nvidia-persistenced.service"));
}

TEST(GpuUnitsTest, AreNoneWhereNoneIsInstalled) {
  const TempDir dir;
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  ScriptedRunner runner;
  EXPECT_THAT(FindGpuUnits(*host, "/usr/bin/systemctl", runner), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(runner.commands(), IsEmpty());
}

}  // namespace
}  // namespace kgpu::driver
