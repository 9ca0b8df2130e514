#include "src/host/change/boot_unit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "src/host/change/test_folder_host.h"
#include "testing/status_matchers.h"

namespace kgpu::change {
namespace {

constexpr char kName[] = "kgpu-x.service";

TEST(BootUnitTest, IsReadByTheNextBootUntilItIsRemoved) {
  const FolderHost host;
  HostDisk disk(host.root());
  ASSERT_OK(PutBootUnit(host.root(), disk, kName, "old"));
  ASSERT_OK(PutBootUnit(host.root(), disk, kName, "new"));
  EXPECT_THAT(host.root().ReadFile("/etc/systemd/system/kgpu-x.service"), IsOkAndHolds("new"));
  EXPECT_THAT(host.root().ReadFile(BootUnitLink(kName)), IsOkAndHolds("new"));
  ASSERT_OK(RemoveBootUnit(disk, kName));
  EXPECT_FALSE(host.root().LinkStat("/etc/systemd/system/kgpu-x.service").ok());
  EXPECT_FALSE(host.root().LinkStat(BootUnitLink(kName)).ok());
}

TEST(BootUnitTest, OneThatIsNotThereIsRemovedWithoutAnError) {
  const FolderHost host;
  HostDisk disk(host.root());
  EXPECT_OK(RemoveBootUnit(disk, kName));
}

}  // namespace
}  // namespace kgpu::change
