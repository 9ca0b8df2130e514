#include "src/cli/base/exit_code.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace kgpu::cli {
namespace {

TEST(ErrorTextTest, NamesTheFixOfAMissingPermission) {
  const Status refused = ErrnoStatus(EACCES, "open /var/lib/kgpu/engines.json");
  EXPECT_EQ(ErrorText(refused, false),
            "open /var/lib/kgpu/engines.json: Permission denied: run it as root, or as a user with "
            "this permission");
  EXPECT_EQ(ErrorText(refused, true), "open /var/lib/kgpu/engines.json: Permission denied");
  EXPECT_TRUE(ErrorText(ErrnoStatus(EPERM, "mount"), false).ends_with("with this permission"));
}

TEST(ErrorTextTest, LeavesOtherErrorsAsTheyAre) {
  EXPECT_EQ(ErrorText(PermissionDenied("nodes is forbidden: User \"a\" cannot list"), false),
            "nodes is forbidden: User \"a\" cannot list");
  EXPECT_EQ(ErrorText(NotFound("no such pod: Permission denied"), false),
            "no such pod: Permission denied");
}

}  // namespace
}  // namespace kgpu::cli
