#include "src/cli/fn/fn_gateway.h"

#include <gtest/gtest.h>

namespace kgpu::cli {
namespace {

TEST(InNamespaceTest, NamesTheNamespaceOfAFunction) {
  EXPECT_EQ(InNamespace("/function/hello", "team-a"), "/function/hello.team-a");
  EXPECT_EQ(InNamespace("/function/hello/a.b/c?d=/e", "team-a"),
            "/function/hello.team-a/a.b/c?d=/e");
  EXPECT_EQ(InNamespace("/async-function/hello?n=1", "team-a"), "/async-function/hello.team-a?n=1");
  EXPECT_EQ(InNamespace("/system/functions", "team-a"), "/system/functions?namespace=team-a");
  EXPECT_EQ(InNamespace("/system/functions?replace=true", "team-a"),
            "/system/functions?replace=true&namespace=team-a");
  EXPECT_EQ(InNamespace("/system/function/hello", "team-a"),
            "/system/function/hello?namespace=team-a");
}

TEST(InNamespaceTest, LeavesOtherRequestsAsTheyAre) {
  EXPECT_EQ(InNamespace("/function/hello", ""), "/function/hello");
  for (const char* target : {"/metrics", "/v1/usage?since=1h", "/v1/queue", "/system/info"}) {
    EXPECT_EQ(InNamespace(target, "team-a"), target);
  }
}

}  // namespace
}  // namespace kgpu::cli
