#include "src/node/pods/cgroup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kgpu::pods {

void PrintTo(const CgroupPlace& place, std::ostream* out) {
  *out << "pod " << place.pod_uid << " container " << place.container_id;
}

namespace {

using ::testing::ElementsAreArray;
using ::testing::SizeIs;

constexpr char kCgroupUid[] = "0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11";
constexpr char kUnderscored[] = "0f5c1d3e_6f2a_4a53_9d0c_3b9f7d2c8e11";
constexpr char kId[] = "4c1e7d0b9a8f6e5d4c3b2a19081726354453627180f9e8d7c6b5a49382716051";
constexpr char kOther[] = "aa1e7d0b9a8f6e5d4c3b2a19081726354453627180f9e8d7c6b5a49382716051";
constexpr char kStaticUid[] = "9b1c4f6d2e8a7b3c5d0e1f2a3b4c5d6e";

// "<UID>" and the like stand for the constants above.
std::string Fill(std::string text) {
  const std::vector<std::pair<std::string, std::string>> words = {{"<UID>", kCgroupUid},
                                                                  {"<U_ID>", kUnderscored},
                                                                  {"<ID>", kId},
                                                                  {"<OTHER>", kOther},
                                                                  {"<HASH>", kStaticUid}};
  for (const auto& [word, value] : words) {
    for (size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), value);
    }
  }
  return text;
}

struct Case {
  const char* name;
  const char* text;
  std::vector<CgroupPlace> places;
};

class CgroupTest : public ::testing::TestWithParam<Case> {};

TEST_P(CgroupTest, NamesThePlaces) {
  EXPECT_THAT(PlacesOf(Fill(GetParam().text)), ElementsAreArray(GetParam().places));
}

INSTANTIATE_TEST_SUITE_P(
    Table, CgroupTest,
    ::testing::Values(
        Case{"ContainerdSystemdV2",
             "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<U_ID>.slice/"
             "cri-containerd-<ID>.scope\n",
             {{kCgroupUid, kId}}},
        Case{"GuaranteedHasNoQosSlice",
             "0::/kubepods.slice/kubepods-pod<U_ID>.slice/cri-containerd-<ID>.scope\n",
             {{kCgroupUid, kId}}},
        Case{"CgroupfsV2", "0::/kubepods/besteffort/pod<UID>/<ID>\n", {{kCgroupUid, kId}}},
        Case{"CgroupfsV1",
             "12:pids:/kubepods/burstable/pod<UID>/<ID>\n"
             "4:cpu,cpuacct:/kubepods/burstable/pod<UID>/<ID>\n"
             "1:name=systemd:/kubepods/burstable/pod<UID>/<ID>\n0::/\n",
             {{kCgroupUid, kId}}},
        Case{"OneControllerIsEnough",
             "9:pids:/\n8:devices:/kubepods/pod<UID>/<ID>\n0::/\n",
             {{kCgroupUid, kId}}},
        Case{"TheBestControllerCounts",
             "3:cpuset:/kubepods/pod<UID>\n2:devices:/kubepods/pod<UID>/<ID>\n",
             {{kCgroupUid, kId}}},
        Case{"CriO",
             "0::/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod<U_ID>.slice/"
             "crio-<ID>.scope/container\n",
             {{kCgroupUid, kId}}},
        Case{"CriOCgroupfs", "0::/kubepods/pod<UID>/crio-<ID>\n", {{kCgroupUid, kId}}},
        Case{"CriOGuardIsNoContainer",
             "0::/kubepods.slice/kubepods-pod<U_ID>.slice/crio-conmon-<ID>.scope\n",
             {{kCgroupUid, ""}}},
        Case{"CriDockerd",
             "0::/kubepods.slice/kubepods-pod<U_ID>.slice/docker-<ID>.scope\n",
             {{kCgroupUid, kId}}},
        Case{"StaticPodHasAHash",
             "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<HASH>.slice/"
             "cri-containerd-<ID>.scope\n",
             {{kStaticUid, kId}}},
        Case{"SystemdKubeletWithAnotherRuntime",
             "1:name=systemd:/system.slice/containerd.service/"
             "kubepods-burstable-pod<U_ID>.slice:cri-containerd:<ID>\n",
             {{kCgroupUid, kId}}},
        Case{"NamespacedPath",
             "0::/../../kubepods-pod<U_ID>.slice/cri-containerd-<ID>.scope\n",
             {{kCgroupUid, kId}}},
        Case{"NeighbourInOurOwnPod", "0::/../cri-containerd-<ID>.scope\n", {{"", kId}}},
        Case{"ExtraRootCgroup",
             "0::/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-pod<U_ID>.slice/"
             "cri-containerd-<ID>.scope\n",
             {{kCgroupUid, kId}}},
        Case{"NodeInDocker",
             "0::/docker/<OTHER>/kubelet/kubepods/besteffort/pod<UID>/<ID>\n",
             {{"", kOther}, {kCgroupUid, kId}}},
        Case{"DockerInAPod",
             "0::/kubepods/pod<UID>/<ID>/docker/<OTHER>\n",
             {{kCgroupUid, kId}, {"", kOther}}},
        Case{"PlainDocker", "0::/system.slice/docker-<ID>.scope\n", {{"", kId}}},
        Case{"Podman", "0::/machine.slice/libpod-<ID>.scope/container\n", {{"", kId}}},
        Case{"AnotherKindOfId", "0::/kubepods/pod<UID>/box_main_0\n", {{kCgroupUid, "box_main_0"}}},
        Case{"GoneCgroup", "0::/kubepods/pod<UID>/<ID> (deleted)\n", {{kCgroupUid, kId}}},
        Case{"InThePodItself", "0::/kubepods.slice/kubepods-pod<U_ID>.slice\n", {{kCgroupUid, ""}}},
        Case{"HostService", "0::/system.slice/podman.service\n", {}},
        Case{"HostUser", "0::/user.slice/user-0.slice/session-3.scope\n", {}},
        Case{"Root", "0::/\n", {}}, Case{"Nothing", "", {}},
        Case{"Noise", "podpodpod\n:\n::\n", {}}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(CgroupBoundTest, ReadsNestingOnlySoDeep) {
  std::string path = "0::";
  for (int i = 0; i < 100; ++i) {
    path += Fill("/<ID>");
  }
  EXPECT_THAT(PlacesOf(path), SizeIs(8));
}

}  // namespace
}  // namespace kgpu::pods
