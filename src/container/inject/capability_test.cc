#include "src/container/inject/capability.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::inject {
namespace {

using ::testing::HasSubstr;

TEST(CapabilityTest, ReadsListsAndAll) {
  EXPECT_THAT(ParseCapabilities("compute,utility"), IsOkAndHolds(kDefaultCapabilities));
  EXPECT_THAT(ParseCapabilities(" video , graphics"),
              IsOkAndHolds(Capability::kGraphics | Capability::kVideo));
  EXPECT_THAT(ParseCapabilities("all"), IsOkAndHolds(kAllCapabilities));
  EXPECT_THAT(ParseCapabilities("compute,,utility, "), IsOkAndHolds(kDefaultCapabilities));
}

TEST(CapabilityTest, RefusesUnknownWordsAndListsTheKnown) {
  EXPECT_THAT(ParseCapabilities("compute,cuda"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("\"cuda\""), HasSubstr("compute, utility"))));
  EXPECT_FALSE(ParseCapabilities("").ok());
  EXPECT_FALSE(ParseCapabilities(" , ").ok());
}

TEST(CapabilityTest, PrintsInFixedOrder) {
  EXPECT_EQ(ToString(Capability::kVideo | Capability::kCompute), "compute,video");
  EXPECT_EQ(ToString(kAllCapabilities), "compute,utility,graphics,video,display,ngx,compat32");
  EXPECT_EQ(ToString({}), "");
}

TEST(CapabilityTest, KnowsTheDriversLibraries) {
  EXPECT_EQ(CapabilitiesOfLibrary("libcuda.so.535.104.05"), CapabilitySet(Capability::kCompute));
  EXPECT_EQ(CapabilitiesOfLibrary("libnvidia-ml.so.535.104.05"),
            CapabilitySet(Capability::kUtility));
  EXPECT_EQ(CapabilitiesOfLibrary("libEGL_nvidia.so.535.104.05"),
            CapabilitySet(Capability::kGraphics));
  EXPECT_EQ(CapabilitiesOfLibrary("libvdpau_nvidia.so.535.104.05"),
            CapabilitySet(Capability::kVideo));
}

TEST(CapabilityTest, TakesUnknownLibrariesForNewParts) {
  EXPECT_TRUE(CapabilitiesOfLibrary("libnvidia-brandnew.so.999.1").Has(Capability::kCompute));
}

}  // namespace
}  // namespace kgpu::inject
