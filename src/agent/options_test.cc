#include "src/agent/options.h"

#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

TEST(AgentOptionsTest, UsualFoldersLieBelowTheHostRoot) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  const AgentOptions options = BelowHostRoot({}, host);
  EXPECT_EQ(options.run_dir, dir.At("run/kgpu"));
  EXPECT_EQ(options.state_dir, dir.At("var/lib/kgpu"));
  EXPECT_EQ(options.kubelet_dir, dir.At("var/lib/kubelet"));
}

TEST(AgentOptionsTest, FoldersThatAreNamedStay) {
  const TempDir dir;
  AgentOptions named;
  named.run_dir = "/tmp/run";
  named.state_dir = "/tmp/state";
  named.kubelet_dir = "/tmp/kubelet";
  const AgentOptions options = BelowHostRoot(named, sys::Root::Open(dir.path()).value());
  EXPECT_EQ(options.run_dir, named.run_dir);
  EXPECT_EQ(options.state_dir, named.state_dir);
  EXPECT_EQ(options.kubelet_dir, named.kubelet_dir);
}

TEST(AgentOptionsTest, OnTheHostItselfTheyAreWhatTheyAreCalled) {
  const AgentOptions options = BelowHostRoot({}, sys::Root::Open("/").value());
  EXPECT_EQ(options.run_dir, AgentOptions{}.run_dir);
  EXPECT_EQ(options.state_dir, AgentOptions{}.state_dir);
  EXPECT_EQ(options.kubelet_dir, AgentOptions{}.kubelet_dir);
}

}  // namespace
}  // namespace kgpu::agent
