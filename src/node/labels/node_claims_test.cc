#include "src/node/labels/node_claims.h"

#include <gtest/gtest.h>

namespace kgpu::labels {
namespace {

TEST(NodeClaimsTest, DifferByEveryPart) {
  const NodeClaims none;
  NodeClaims labels;
  labels.labels["a"] = "1";
  NodeClaims annotations;
  annotations.annotations["a"] = "1";
  NodeClaims resources;
  resources.extended_resources["a"] = "1";
  NodeClaims taints;
  taints.taints.push_back({"a", "1", "NoSchedule"});
  for (const NodeClaims& one : {labels, annotations, resources, taints}) {
    EXPECT_NE(one, none);
  }
  EXPECT_EQ(none, NodeClaims{});
}

TEST(TaintTest, ReadsAsKubectlWritesIt) {
  EXPECT_EQ(ToString(Taint{"gpu", "a100", "NoSchedule"}), "gpu=a100:NoSchedule");
  EXPECT_EQ(ToString(Taint{"gpu", "", "NoExecute"}), "gpu:NoExecute");
}

}  // namespace
}  // namespace kgpu::labels
