#include "src/gpu/device/mig.h"

#include <gtest/gtest.h>

#include <string>

namespace kgpu::device {
namespace {

TEST(MigProfileNameTest, TakesTheDriversName) {
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA A100-SXM4-80GB MIG 1g.10gb"}), "1g.10gb");
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA H100 80GB HBM3 MIG 1c.3g.40gb"}), "1c.3g.40gb");
  EXPECT_EQ(MigProfileName({.driver_name = "NVIDIA A100 MIG 1g.10gb+me"}), "1g.10gb+me");
}

TEST(MigProfileNameTest, ComputesWhatTheDriverDoesNotName) {
  struct Case {
    unsigned gi;
    unsigned ci;
    uint64_t mib;
    uint64_t gpu_mib;
    unsigned ofa;
    std::string name;
  };
  for (const Case& c :
       {Case{1, 1, 9856, 81920, 0, "1g.10gb"}, Case{1, 1, 9856, 81920, 1, "1g.10gb+me"},
        Case{1, 1, 4864, 40960, 0, "1g.5gb"}, Case{2, 2, 9856, 40960, 0, "2g.10gb"},
        Case{3, 3, 40192, 81920, 0, "3g.40gb"}, Case{3, 1, 40192, 81920, 0, "1c.3g.40gb"},
        Case{7, 7, 80384, 81920, 1, "7g.80gb"}, Case{1, 1, 9984, 81559, 0, "1g.10gb"},
        Case{1, 1, 16384, 143771, 0, "1g.18gb"}, Case{3, 3, 71500, 143771, 0, "3g.71gb"}}) {
    EXPECT_EQ(MigProfileName({.gpu_instance_slices = c.gi,
                              .compute_instance_slices = c.ci,
                              .ofa_engines = c.ofa,
                              .memory = MebiBytes(c.mib),
                              .gpu_memory = MebiBytes(c.gpu_mib)}),
              c.name);
  }
}

TEST(MigProfileNameTest, KnowsMediaProfilesByTheirId) {
  EXPECT_EQ(MigProfileName({.gpu_instance_slices = 1,
                            .compute_instance_slices = 1,
                            .memory = MebiBytes(9856),
                            .gpu_memory = MebiBytes(81920),
                            .profile_id = 20}),
            "1g.10gb+me");
}

TEST(MigProfileNameTest, IsEmptyWhenNothingIsKnown) {
  EXPECT_EQ(MigProfileName({}), "");
  EXPECT_EQ(MigProfileName({.driver_name = "X MIG ../../etc"}), "");
}

TEST(IsMigProfileNameTest, TakesProfilesOnly) {
  for (const std::string good : {"1g.5gb", "7g.141gb", "1c.3g.40gb", "1g.10gb+me", "1g.24gb+gfx",
                                 "1g.24gb-me", "1g.24gb+me.all"}) {
    EXPECT_TRUE(IsMigProfileName(good)) << good;
  }
  for (const std::string bad : {"", "1g", "1g.gb", "g.5gb", "1c.5gb", "1g.5gb ", "1g.5gb+x",
                                "99999g.5gb", "1g.5gb/..", "1c.1c.3g.40gb"}) {
    EXPECT_FALSE(IsMigProfileName(bad)) << bad;
  }
}

}  // namespace
}  // namespace kgpu::device
