#include "src/platform/sys/systemctl.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::sys {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(SystemctlCommandTest, NamesTheHostsProgram) {
  const TempDir dir;
  dir.WriteFile("usr/bin/systemctl", "");
  const auto root = Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(SystemctlCommand(*root, {"restart", "a.service"}),
              IsOkAndHolds(ElementsAre("/usr/bin/systemctl", "restart", "a.service")));
}

TEST(SystemctlCommandTest, SaysWhatIsToBeDoneByHand) {
  const TempDir dir;
  const auto root = Root::Open(dir.path());
  ASSERT_OK(root);
  EXPECT_THAT(SystemctlCommand(*root, {"daemon-reload"}),
              StatusIs(StatusCode::kFailedPrecondition,
                       HasSubstr("systemctl not found: use your init system's equivalent of: "
                                 "systemctl daemon-reload")));
}

}  // namespace
}  // namespace kgpu::sys
