#include "src/kube/api/query.h"

#include <gtest/gtest.h>

namespace kgpu::kube {
namespace {

TEST(KubeQueryTest, EscapesWhatIsNotPlain) {
  EXPECT_EQ(Escape("aZ09-._~"), "aZ09-._~");
  EXPECT_EQ(Escape("a/b c,d=e+\xc3\xa9%"), "a%2Fb%20c%2Cd%3De%2B%C3%A9%25");
}

TEST(KubeQueryTest, MakesPathsOfParts) {
  EXPECT_EQ(PathOf({"api", "v1", "nodes", "n1"}), "/api/v1/nodes/n1");
  // A name cannot lead to another object.
  EXPECT_EQ(PathOf({"api", "v1", "namespaces", "", "pods", "a/../b"}),
            "/api/v1/namespaces/pods/a%2F..%2Fb");
}

TEST(KubeQueryTest, PutsTheQueryBehindThePath) {
  EXPECT_EQ(TargetOf("/p", {}), "/p");
  EXPECT_EQ(TargetOf("/p", {{"labelSelector", "a in (b,c)"}, {"limit", "500"}}),
            "/p?labelSelector=a%20in%20%28b%2Cc%29&limit=500");
  EXPECT_EQ(TargetOf("/p?a=b", {{"c", "d"}}), "/p?a=b&c=d");
}

}  // namespace
}  // namespace kgpu::kube
