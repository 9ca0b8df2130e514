#include "src/gpu/device/ids.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::device {
namespace {

using ::testing::HasSubstr;

constexpr char kUuid[] = "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab";

TEST(GpuUuidTest, KeepsACanonicalUuid) {
  const auto uuid = GpuUuid::Parse(kUuid);
  ASSERT_OK(uuid);
  EXPECT_EQ(uuid->str(), kUuid);
}

TEST(GpuUuidTest, LowersUpperCaseDigits) {
  const auto uuid = GpuUuid::Parse("GPU-5D8429F0-1F2E-4C3B-9A54-0123456789AB");
  ASSERT_OK(uuid);
  EXPECT_EQ(uuid->str(), kUuid);
}

TEST(GpuUuidTest, RejectsEverythingElse) {
  const std::vector<std::string> bad = {
      "",
      "GPU-",
      "gpu-5d8429f0-1f2e-4c3b-9a54-0123456789ab",
      "MIG-5d8429f0-1f2e-4c3b-9a54-0123456789ab",
      "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789a",
      "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789abc",
      "GPU-5d8429f0_1f2e-4c3b-9a54-0123456789ab",
      "GPU-5d8429g0-1f2e-4c3b-9a54-0123456789ab",
      std::string("GPU-5d8429f0-1f2e-4c3b-9a54-012345678\0ab", 40)};
  for (const std::string& text : bad) {
    EXPECT_THAT(GpuUuid::Parse(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(GpuUuidTest, PrintsHostileBytesEscaped) {
  EXPECT_THAT(GpuUuid::Parse("\x1b[2J"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("\\x1b")));
}

TEST(MigUuidTest, TakesTodaysAndLegacyNames) {
  for (const std::string text : {"MIG-5d8429f0-1f2e-4c3b-9a54-0123456789ab",
                                 "MIG-GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab/7/0"}) {
    const auto uuid = MigUuid::Parse(text);
    ASSERT_OK(uuid);
    EXPECT_EQ(uuid->str(), text);
  }
}

TEST(MigUuidTest, RejectsEverythingElse) {
  for (const std::string text : {"", "MIG-", "GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab",
                                 "MIG-GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab",
                                 "MIG-GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab/7",
                                 "MIG-GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab/7/x",
                                 "MIG-GPU-5d8429f0-1f2e-4c3b-9a54-0123456789ab/7/0/1"}) {
    EXPECT_THAT(MigUuid::Parse(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(PciBusIdTest, TakesTheKernelsAndNvmlsForm) {
  const PciBusId expected{.domain = 0, .bus = 0x07, .device = 0x1f, .function = 1};
  EXPECT_THAT(PciBusId::Parse("0000:07:1f.1"), IsOkAndHolds(expected));
  EXPECT_THAT(PciBusId::Parse("00000000:07:1F.1"), IsOkAndHolds(expected));
  EXPECT_EQ(expected.str(), "0000:07:1f.1");
  EXPECT_EQ(expected.nvml_str(), "00000000:07:1F.1");
}

TEST(PciBusIdTest, KeepsWideDomains) {
  const auto id = PciBusId::Parse("10000:01:00.0");
  ASSERT_OK(id);
  EXPECT_EQ(id->str(), "10000:01:00.0");
}

TEST(PciBusIdTest, RejectsEverythingElse) {
  for (const std::string text :
       {"", "07:00.0", "0000:07:00", "0000:07:20.0", "0000:07:00.8", "0000:107:00.0",
        "000000000:07:00.0", "0x00:07:00.0", "-1:07:00.0", "0000:07:00.0.0", "0000:07: 0.0"}) {
    EXPECT_THAT(PciBusId::Parse(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(PciBusIdTest, SortsByAddress) {
  EXPECT_LT(*PciBusId::Parse("0000:07:00.0"), *PciBusId::Parse("0000:0a:00.0"));
  EXPECT_LT(*PciBusId::Parse("0000:ff:00.0"), *PciBusId::Parse("0001:00:00.0"));
}

}  // namespace
}  // namespace kgpu::device
