#include "src/host/inspect/enrolled_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::host {
namespace {

using ::testing::Eq;
using ::testing::Optional;

constexpr const char* kKey = "var/lib/dkms/mok.pub";
constexpr const char* kShims = "sys/firmware/efi/mok-variables/MokListRT";
constexpr const char* kOwn = "sys/firmware/efi/efivars/db-d719b2cb-3d3a-4596-a3bc-dad00e67656f";

class EnrolledKeysTest : public ::testing::Test {
 protected:
  EnrolledKeysTest() { dir_.WriteFile(kKey, "our key"); }

  std::optional<bool> IsEnrolled() const {
    const auto host = sys::Root::Open(dir_.path());
    EXPECT_OK(host);
    return host.ok() ? IsKeyEnrolled(*host, kKey) : std::nullopt;
  }

  TempDir dir_;
};

TEST_F(EnrolledKeysTest, AreThoseOfShimsList) {
  EXPECT_EQ(IsEnrolled(), std::nullopt) << "no list is shown";
  dir_.WriteFile(kShims, "others");
  EXPECT_THAT(IsEnrolled(), Optional(Eq(false)));
  dir_.WriteFile(kShims, "others, our key, more");
  EXPECT_THAT(IsEnrolled(), Optional(Eq(true)));
}

// A host whose owner put keys of its own into the firmware, perhaps one without shim.
TEST_F(EnrolledKeysTest, AreThoseOfTheFirmwaresListToo) {
  dir_.WriteFile(kOwn, "others");
  EXPECT_EQ(IsEnrolled(), std::nullopt) << "shim's list is not shown";
  dir_.WriteFile(kShims, "others");
  dir_.WriteFile(kOwn, "others, our key");
  EXPECT_THAT(IsEnrolled(), Optional(Eq(true)));
}

TEST_F(EnrolledKeysTest, TheFirmwaresListDoesNotCountWhereAPersonSaysSo) {
  dir_.WriteFile(kShims, "others");
  dir_.WriteFile(kOwn, "others, our key");
  dir_.WriteFile("sys/firmware/efi/efivars/MokIgnoreDB-605dab50-e046-4300-abb6-3dd810dd8b23", "1");
  EXPECT_THAT(IsEnrolled(), Optional(Eq(false)));
}

}  // namespace
}  // namespace kgpu::host
