#include "src/host/inspect/module_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kgpu::host {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Sources: NVIDIA/open-gpu-kernel-modules#259 and #789, microsoft/pai#4344.
TEST(MisfitOfTest, NamesKindOrBranch) {
  struct Case {
    uint16_t gpu;
    NvrmVersion module;
    std::string cause;
    std::string fix;
  };
  for (const Case& c : {
           Case{
               0x1b38, {"580.95.05", true}, "pascal GPUs need NVIDIA's proprietary", "proprietary"},
           Case{0x2901, {"580.95.05", false}, "blackwell GPU needs NVIDIA's open", "--module open"},
           Case{0x2342, {"550.54.14", false}, "hopper GPU needs NVIDIA's open", "--module open"},
           Case{0x102d, {"535.104.05", false}, "branch 470 is the last", "driver install"},
           Case{0x1db6, {"590.44.01", false}, "branch 580 is the last", "driver install"},
           Case{0x2330,
                {"470.57.02", false},
                "need driver branch 525 or newer, but 470.57.02",
                "driver install"},
       }) {
    const Misfit misfit = MisfitOf(c.gpu, c.module);
    ASSERT_TRUE(misfit) << c.cause;
    EXPECT_THAT(misfit.cause, HasSubstr(c.cause));
    EXPECT_THAT(misfit.fix, AllOf(HasSubstr("kgpu driver install"), HasSubstr(c.fix)));
  }
}

TEST(MisfitOfTest, HasNothingAgainstWhatFitsOrIsUnknown) {
  EXPECT_FALSE(MisfitOf(0x20b5, {"535.104.05", true}));
  EXPECT_FALSE(MisfitOf(0x20b5, {"535.104.05", false}));
  EXPECT_FALSE(MisfitOf(0x2342, {"550.54.14", true}));
  EXPECT_FALSE(MisfitOf(0x1b38, {"580.95.05", false}));
  EXPECT_FALSE(MisfitOf(0xfff0, {"580.95.05", true}));
  EXPECT_FALSE(MisfitOf(0x1b38, {"", true}));
}

}  // namespace
}  // namespace kgpu::host
