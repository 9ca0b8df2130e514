#include "src/host/inspect/vgpu.h"

#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

void Put(std::string& config, size_t at, std::string_view bytes) {
  config.replace(at, bytes.size(), bytes);
}

// A function with one capability of power management at 0x68 and the vGPU's behind it.
std::string VgpuConfig() {
  std::string config(256, '\0');
  Put(config, 0x00, "\xde\x10");
  Put(config, 0x06, "\x10");
  Put(config, 0x34, "\x68");
  Put(config, 0x68, "\x01\xd0");
  Put(config, 0xd0, std::string("\x09\x00\x1fVF", 5));
  Put(config, 0xd5, std::string("\x02\x04zz", 4));  // a record of another kind
  Put(config, 0xd9, std::string("\x00\x16", 2));
  Put(config, 0xdb, "535.104.06");
  Put(config, 0xe5, std::string("r535_00\0\0\0", 10));
  return config;
}

TEST(VgpuCapabilityTest, ReadsTheHypervisorsDriver) {
  const auto vgpu = ParseVgpuCapability(VgpuConfig());
  ASSERT_TRUE(vgpu.has_value());
  EXPECT_EQ(vgpu->driver_version, "535.104.06");
  EXPECT_EQ(vgpu->driver_branch, "r535_00");
}

TEST(VgpuCapabilityTest, OtherFunctionsAreNone) {
  std::string no_list = VgpuConfig();
  no_list[0x06] = 0;
  std::string other_signature = VgpuConfig();
  Put(other_signature, 0xd3, "XX");
  for (const std::string& config :
       {std::string(), VgpuConfig().substr(0, 64), no_list, other_signature}) {
    EXPECT_EQ(ParseVgpuCapability(config), std::nullopt);
  }
}

TEST(VgpuCapabilityTest, AListThatBitesItsTailEnds) {
  std::string config = VgpuConfig();
  Put(config, 0x68, "\x01\x68");
  EXPECT_EQ(ParseVgpuCapability(config), std::nullopt);
}

TEST(VgpuCapabilityTest, ARecordThatIsCutLeavesTheTextsEmpty) {
  std::string config = VgpuConfig();
  Put(config, 0xd2, "\x10");
  const auto vgpu = ParseVgpuCapability(config);
  ASSERT_TRUE(vgpu.has_value());
  EXPECT_EQ(*vgpu, VgpuHost());
}

TEST(FindVgpuHostTest, LooksAtEachGpu) {
  const TempDir dir;
  const auto first = *device::PciBusId::Parse("0000:07:00.0");
  const auto second = *device::PciBusId::Parse("0000:08:00.0");
  dir.WriteFile("sys/bus/pci/devices/0000:07:00.0/config", std::string(64, '\0'));
  dir.WriteFile("sys/bus/pci/devices/0000:08:00.0/config", VgpuConfig());
  const auto host = sys::Root::Open(dir.path());
  ASSERT_OK(host);
  EXPECT_EQ(FindVgpuHost(*host, {first}), std::nullopt);
  EXPECT_TRUE(FindVgpuHost(*host, {first, second}).has_value());
}

}  // namespace
}  // namespace kgpu::host
