#include "src/agent/privileges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::agent {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

AgentOptions Folders(const std::string& kubelet, const std::string& state) {
  AgentOptions options;
  options.kubelet_dir = kubelet;
  options.state_dir = state;
  return options;
}

struct PrivilegeCase {
  const char* name;
  void (*take)(PrivilegeFacts&);
  Purpose purpose;
  const char* what;
  const char* fix;
};

class PrivilegesTest : public ::testing::TestWithParam<PrivilegeCase> {};
INSTANTIATE_TEST_SUITE_P(
    InAContainer, PrivilegesTest,
    ::testing::Values(
        PrivilegeCase{"Root", [](PrivilegeFacts& facts) { facts.is_root = false; },
                      Purpose::kKubelet, "does not run as root", "securityContext.runAsUser: 0"},
        PrivilegeCase{"DeviceCgroup",
                      [](PrivilegeFacts& facts) { facts.refused_node = "/dev/nvidiactl"; },
                      Purpose::kDriver, "the device cgroup refuses /dev/nvidiactl",
                      "securityContext.privileged: true"},
        PrivilegeCase{
            "Permissions", [](PrivilegeFacts& facts) { facts.forbidden_node = "/dev/nvidia0"; },
            Purpose::kDriver, "/dev/nvidia0 may not be opened", "securityContext.privileged: true"},
        PrivilegeCase{"OwnDev", [](PrivilegeFacts& facts) { facts.has_own_nodes = false; },
                      Purpose::kDriver, "the container's /dev", "mountPath: /dev}"},
        PrivilegeCase{"HostPid", [](PrivilegeFacts& facts) { facts.sees_host_processes = false; },
                      Purpose::kOther, "process namespace", "hostPID: true"},
        PrivilegeCase{"Proc", [](PrivilegeFacts& facts) { facts.missing = {"proc"}; },
                      Purpose::kDriver, "the host's /proc is not mounted",
                      "volume proc (hostPath /proc)"},
        PrivilegeCase{"Kubelet", [](PrivilegeFacts& facts) { facts.missing = {"kubelet"}; },
                      Purpose::kKubelet, "/var/lib/kubelet is not mounted",
                      "volume kubelet (hostPath /var/lib/kubelet)"},
        PrivilegeCase{"Boot", [](PrivilegeFacts& facts) { facts.missing = {"boot"}; },
                      Purpose::kOther, "the host's /boot is not mounted",
                      "volume boot (hostPath /boot)"},
        PrivilegeCase{"PodLogs", [](PrivilegeFacts& facts) { facts.missing = {"pod-logs"}; },
                      Purpose::kOther, "the host's /var/log/pods is not mounted",
                      "volume pod-logs (hostPath /var/log/pods)"},
        PrivilegeCase{"ReadOnlyRun", [](PrivilegeFacts& facts) { facts.read_only = {"run"}; },
                      Purpose::kCdi, "the host's /run is read-only",
                      "remove readOnly from the volumeMount run"}),
    [](const auto& parameter) { return parameter.param.name; });

TEST_P(PrivilegesTest, IsNamedWithTheFieldThatGrantsIt) {
  PrivilegeFacts facts{.surroundings = Surroundings::kContainer};
  ASSERT_THAT(FindMissingPrivileges(facts), IsEmpty());
  GetParam().take(facts);
  const MissingPrivileges missing = FindMissingPrivileges(facts);
  ASSERT_THAT(missing, SizeIs(1));
  EXPECT_EQ(missing[0].purpose, GetParam().purpose);
  EXPECT_THAT(missing[0].what, HasSubstr(GetParam().what));
  EXPECT_NE(missing[0].effect, "");
  EXPECT_THAT(missing[0].fix, HasSubstr(GetParam().fix));
  EXPECT_THAT(Blame(missing, GetParam().purpose, "else"), HasSubstr(GetParam().what));
}

TEST(PrivilegesOfAHostTest, TheFixIsOneForItsUnit) {
  const MissingPrivileges missing =
      FindMissingPrivileges({.is_root = false, .refused_node = "/dev/nvidia0"});
  ASSERT_THAT(missing, SizeIs(2));
  EXPECT_EQ(missing[0].fix, "run the agent as root");
  EXPECT_THAT(missing[1].fix, HasSubstr("DeviceAllow="));
}

TEST(PrivilegesOfAHostTest, ASimulatedHostNeedsNoRoot) {
  EXPECT_THAT(FindMissingPrivileges({.surroundings = Surroundings::kFolder, .is_root = false}),
              IsEmpty());
}

TEST(BlameTest, NothingMissingChangesNoText) {
  EXPECT_EQ(Blame({}, Purpose::kDriver, "load it"), "load it");
  EXPECT_EQ(Blame({{.purpose = Purpose::kOther, .what = "w"}}, Purpose::kDriver, "load it"),
            "load it");
}

TEST(PrivilegeFactsTest, AFolderWithoutARunningKernelIsNoContainer) {
  const TempDir dir;
  dir.MakeDir("proc");
  const sys::Root host = *sys::Root::Open(dir.path());
  EXPECT_EQ(ReadPrivilegeFacts(host, {}).surroundings, Surroundings::kFolder);
  EXPECT_EQ(ReadPrivilegeFacts(*sys::Root::Open("/"), {}).surroundings, Surroundings::kHost);
}

// This machine by another path, as a container sees its host.
TEST(PrivilegeFactsTest, AContainerSeesWhichFoldersAreMissing) {
  const TempDir dir;
  dir.MakeDir("kubelet");
  const PrivilegeFacts facts = ReadPrivilegeFacts(*sys::Root::Open("/proc/self/root"),
                                                  Folders(dir.At("kubelet"), dir.At("state")));
  EXPECT_EQ(facts.surroundings, Surroundings::kContainer);
  // This machine may be no node of Kubernetes, nor have a kernel of its own.
  EXPECT_THAT(facts.missing, AllOf(Contains("state"), Each(AnyOf("state", "boot", "pod-logs"))));
  EXPECT_THAT(facts.read_only, IsEmpty());
  EXPECT_TRUE(facts.sees_host_processes);
}

TEST(PrivilegeFactsTest, WithoutProcItIsAContainerThatLacksIt) {
  const TempDir dir;
  for (const char* folder : {"dev", "sys", "usr", "etc", "run", "boot", "var/log/pods"}) {
    dir.MakeDir(folder);
  }
  const PrivilegeFacts facts =
      ReadPrivilegeFacts(*sys::Root::Open(dir.path()), Folders(dir.path(), dir.path()));
  EXPECT_THAT(facts.missing, ElementsAre("proc"));
}

TEST(ExplainByPrivilegesTest, AnotherAgentIsNoMatterOfPrivileges) {
  const sys::Root host = *sys::Root::Open("/proc/self/root");
  const Status status = AlreadyExists("another agent is running");
  EXPECT_EQ(ExplainByPrivileges(status, host, {}), status);
  EXPECT_OK(ExplainByPrivileges(OkStatus(), host, {}));
  EXPECT_THAT(ExplainByPrivileges(PermissionDenied("make /run/kgpu"), host,
                                  Folders("/nowhere/kubelet", "/"))
                  .ToString(),
              HasSubstr("make /run/kgpu\nthe host's /var/lib/kubelet is not mounted"));
}

}  // namespace
}  // namespace kgpu::agent
