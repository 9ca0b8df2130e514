#include "src/agent/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::ElementsAre;

TEST(AgentOptionsTest, UsualFoldersLieBelowTheHostRoot) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  const AgentOptions options = BelowHostRoot({}, host).value();
  EXPECT_EQ(options.run_dir, dir.At("run/kgpu"));
  EXPECT_EQ(options.state_dir, dir.At("var/lib/kgpu"));
  EXPECT_EQ(options.kubelet_dir, dir.At("var/lib/kubelet"));
}

TEST(AgentOptionsTest, LinksOfTheHostLeadToItsOwnFolders) {
  const TempDir dir;
  dir.MakeDir("snap/kubelet");
  dir.MakeDir("var/lib");
  dir.Symlink("/snap/kubelet", "var/lib/kubelet");
  dir.Symlink("/var/lib/none", "var/lib/kgpu");
  const sys::Root host = sys::Root::Open(dir.path()).value();
  AgentOptions named;
  named.state_dir = dir.At("state");
  EXPECT_EQ(BelowHostRoot(named, host)->kubelet_dir, dir.At("snap/kubelet"));
  EXPECT_FALSE(BelowHostRoot({}, host).ok());
}

TEST(AgentOptionsTest, CredentialsOfThisMachineAreForTheNodeThatIsNamed) {
  const TempDir dir;
  const sys::Root host = sys::Root::Open(dir.path()).value();
  AgentOptions options;
  options.environment = {"HOME=/root", "KUBECONFIG=/etc/kubernetes/admin.conf",
                         "KUBERNETES_SERVICE_HOST=10.0.0.1"};
  const std::vector<std::string> all = options.environment;
  EXPECT_THAT(BelowHostRoot(options, host)->environment, ElementsAre("HOME=/root"));
  EXPECT_EQ(BelowHostRoot(options, sys::Root::Open("/").value())->environment, all);
  options.node_name = "gpu-1";
  EXPECT_EQ(BelowHostRoot(options, host)->environment, all);
}

TEST(AgentOptionsTest, FoldersThatAreNamedStay) {
  const TempDir dir;
  AgentOptions named;
  named.run_dir = "/tmp/run";
  named.state_dir = "/tmp/state";
  named.kubelet_dir = "/tmp/kubelet";
  const AgentOptions options = BelowHostRoot(named, sys::Root::Open(dir.path()).value()).value();
  EXPECT_EQ(options.run_dir, named.run_dir);
  EXPECT_EQ(options.state_dir, named.state_dir);
  EXPECT_EQ(options.kubelet_dir, named.kubelet_dir);
}

// In a container that has the host at /host, and the kubelet's folder where the host has it.
TEST(AgentOptionsTest, AUsualFolderThatAFlagNamesStays) {
  const TempDir dir;
  AgentOptions given;
  given.named_folders = {&AgentOptions::kubelet_dir};
  const AgentOptions options = BelowHostRoot(given, sys::Root::Open(dir.path()).value()).value();
  EXPECT_EQ(options.kubelet_dir, "/var/lib/kubelet");
  EXPECT_EQ(options.run_dir, dir.At("run/kgpu"));
}

TEST(AgentOptionsTest, OnTheHostItselfTheyAreWhatTheyAreCalled) {
  const AgentOptions options = BelowHostRoot({}, sys::Root::Open("/").value()).value();
  EXPECT_EQ(options.run_dir, AgentOptions{}.run_dir);
  EXPECT_EQ(options.state_dir, AgentOptions{}.state_dir);
  EXPECT_EQ(options.kubelet_dir, AgentOptions{}.kubelet_dir);
}

}  // namespace
}  // namespace kgpu::agent
