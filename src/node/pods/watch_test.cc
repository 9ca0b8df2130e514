#include "src/node/pods/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <podresources_v1.pb.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/node/pods/kubelet_list.h"
#include "testing/kubelet/cri_server.h"
#include "testing/kubelet/fake_kubelet.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::pods {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::SizeIs;

constexpr char kGpu[] = "GPU-00000000-0000-0000-0000-000000000001";
constexpr char kMig[] = "MIG-00000000-0000-0000-0000-0000000000a1";
constexpr char kResource[] = "nvidia.com/gpu";
constexpr char kUid[] = "0f5c1d3e-6f2a-4a53-9d0c-3b9f7d2c8e11";

// What the kubelet lists.
struct Entry {
  std::string pod;
  std::vector<std::string> ids;
  std::string resource = kResource;
};

std::string ListReply(const std::vector<Entry>& entries) {
  v1::ListPodResourcesResponse reply;
  for (const Entry& entry : entries) {
    v1::PodResources& pod = *reply.add_pod_resources();
    pod.set_name(entry.pod);
    pod.set_namespace_("ml");
    v1::ContainerResources& container = *pod.add_containers();
    container.set_name("main");
    for (const std::string& id : entry.ids) {
      v1::ContainerDevices& device = *container.add_devices();
      device.set_resource_name(entry.resource);
      device.add_device_ids(id);
    }
  }
  return reply.SerializeAsString();
}

device::SampleSetPtr SamplesOf(const std::vector<uint32_t>& pids) {
  auto samples = std::make_shared<device::SampleSet>();
  device::GpuSample& gpu = samples->gpus.emplace_back();
  gpu.uuid = device::GpuUuid::Parse(kGpu).value();
  for (const uint32_t pid : pids) {
    gpu.processes.emplace_back().pid = pid;
  }
  return samples;
}

Container InMl(const std::string& pod, const std::string& uid = "") {
  return {.pod_namespace = "ml", .pod = pod, .container = "main", .pod_uid = uid};
}

TEST(UsesOfTest, ADeviceWithTwoNumaNodesIsOneUse) {
  const auto uses = UsesOf(ListReply({{"a", {kGpu, kGpu}}}));
  EXPECT_THAT(uses, IsOkAndHolds(ElementsAre(DeviceUse{kResource, kGpu, InMl("a")})));
}

TEST(UsesOfTest, OtherVendorsDevicesAndPodsWithoutAnyAreLeftOut) {
  const auto uses = UsesOf(ListReply({{"a", {"net1"}, "example.com/nic"}, {"b", {}}}));
  EXPECT_THAT(uses, IsOkAndHolds(IsEmpty()));
}

// The kubelet adds the CDI ids of a claim's first device to those of the second.
TEST(UsesOfTest, OnlyAClaimOnOneDeviceIsKnownByItsCdiId) {
  v1::ListPodResourcesResponse reply;
  v1::ContainerResources& container = *reply.add_pod_resources()->add_containers();
  for (const int devices : {1, 2}) {
    v1::DynamicResource& claim = *container.add_dynamic_resources();
    claim.set_claim_name(fmt::format("{}", devices));
    for (int i = 0; i < devices; ++i) {
      v1::ClaimResource& device = *claim.add_claim_resources();
      device.set_driver_name("gpu.example.com");
      device.set_device_name(fmt::format("d{}", i));
      device.add_cdi_devices()->set_name("example.com/claim=0f5c1d3e");
      device.add_cdi_devices()->set_name(fmt::format("example.com/gpu=x-{}", kGpu));
    }
  }
  const auto uses = UsesOf(reply.SerializeAsString());
  ASSERT_OK(uses);
  ASSERT_THAT(*uses, SizeIs(3));
  EXPECT_EQ((*uses)[0].claim.cdi_uuid, kGpu);
  EXPECT_EQ((*uses)[1].claim.cdi_uuid, "");
  EXPECT_EQ((*uses)[2].claim.device, "d1");
}

TEST(UsesOfTest, NoiseIsAnError) {
  EXPECT_THAT(UsesOf("\xff\xff"), StatusIs(StatusCode::kInvalidArgument));
}

class WatchTest : public ::testing::Test {
 protected:
  void SetUp() override {
    kubelet_ =
        std::make_unique<kubelet::FakeKubelet>(kubelet::FakeKubelet::Options{.root = dir_.At("k")});
  }
  void List(const std::vector<Entry>& entries) {
    ASSERT_OK(kubelet_->ScriptPodResources(ListReply(entries)));
  }
  void StartWatch(WatchOptions options = {}) {
    options.pod_resources_socket = kubelet_->layout().pod_resources_socket();
    options.runtime_sockets = {dir_.At("none.sock"), dir_.At("cri.sock")};
    if (options.every == WatchOptions().every) {
      options.every = milliseconds(20);
    }
    const auto background = [this](const std::function<std::function<void()>()>& job,
                                   const std::function<void(const Status&)>&) {
      refused_ += is_full_ ? 1 : 0;
      if (is_full_) {
        return false;
      }
      aside_.push_back(job);
      if (!does_hang_) {
        DoAside();
      }
      return true;
    };
    watch_ =
        std::make_unique<Watch>(*loop_, host_, options, background, [this](const PodMapPtr& map) {
          ++changes_;
          EXPECT_EQ(map, watch_->current());
        });
  }
  void DoAside() {
    for (const auto& job : std::exchange(aside_, {})) {
      job()();
    }
  }
  void StartRuntime() {
    runtime_ = kubelet::CriServer::Start(*loop_, dir_.At("cri.sock"), [this] {
                 return containers_;
               }).value();
  }
  // Runs the loop until `condition` holds.
  bool RunUntil(const std::function<bool()>& condition) {
    const SteadyTime limit = loop_->clock().Now() + seconds(20);
    std::function<void()> look = [&] {
      if (condition() || loop_->clock().Now() > limit) {
        loop_->Quit();
      } else {
        loop_->After(milliseconds(2), look);
      }
    };
    loop_->Post(look);
    loop_->Run();
    return condition();
  }
  bool RunUntilDevices(size_t count) {
    return RunUntil([this, count] {
      return watch_->current()->devices.size() == count && watch_->current()->problem.empty();
    });
  }

  TempDir dir_;
  sys::Root host_ = sys::Root::Open(dir_.path()).value();
  std::unique_ptr<EpollLoop> loop_ = EpollLoop::Create().value();
  std::unique_ptr<kubelet::FakeKubelet> kubelet_;
  std::vector<kubelet::CriContainer> containers_;
  std::unique_ptr<kubelet::CriServer> runtime_;
  std::unique_ptr<Watch> watch_;
  int changes_ = 0;
  bool does_hang_ = false;  // /proc and the folders of logs
  bool is_full_ = false;    // so much is left to be done there
  int refused_ = 0;
  std::vector<std::function<std::function<void()>()>> aside_;
};

TEST_F(WatchTest, ShowsWhoHasWhichDevice) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch();
  EXPECT_THAT(watch_->current()->problem, HasSubstr("not answered yet"));
  ASSERT_TRUE(RunUntilDevices(1));
  EXPECT_THAT(watch_->current()->devices, ElementsAre(DeviceUse{kResource, kGpu, InMl("a")}));
}

TEST_F(WatchTest, SaysWhenTheKubeletWasAskedForItsList) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  const SteadyTime begin = loop_->clock().Now();
  StartWatch({.stale = milliseconds(0)});
  EXPECT_EQ(watch_->list_state().asked, std::nullopt);
  ASSERT_TRUE(RunUntilDevices(1));
  EXPECT_GE(watch_->list_state().asked, begin);
  kubelet_->Stop();
  EXPECT_TRUE(RunUntil([this] { return !watch_->list_state().asked; }));
  EXPECT_FALSE(watch_->list_state().has_no_kubelet);
}

TEST_F(WatchTest, WithoutAFolderOfTheKubeletsNoKubeletHasEverRunHere) {
  StartWatch();
  EXPECT_FALSE(watch_->list_state().has_no_kubelet);
  EXPECT_TRUE(RunUntil([this] { return watch_->list_state().has_no_kubelet; }));
}

// A GPU with one MIG device.
device::SnapshotPtr SnapshotWithMig() {
  auto snapshot = std::make_shared<device::Snapshot>();
  device::Gpu& gpu = snapshot->gpus.emplace_back();
  gpu.uuid = device::GpuUuid::Parse(kGpu).value();
  device::MigDevice& mig = gpu.mig_devices.emplace_back();
  mig.uuid = device::MigUuid::Parse(kMig).value();
  mig.profile = "2g.20gb";
  mig.placement_start = 4;
  return snapshot;
}

TEST_F(WatchTest, ClaimedDevicesAreThoseOfTheSnapshot) {
  ASSERT_OK(kubelet_->Start());
  kubelet::PodSpec pod = kubelet::SimplePod("a", "example.com/else", 0);
  pod.containers[0].claims = {{"c", "gpu.nvidia.com", "node", "gpu-0-mig-2g20gb-14-4", {}},
                              {"d", "nic.example.com", "node", "eth0", {}}};
  ASSERT_OK(kubelet_->AddPod(pod));
  ASSERT_TRUE(kubelet_->WaitForPhase("a", kubelet::PodPhase::kRunning));
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntil([this] { return watch_->current()->problem.empty(); }));
  EXPECT_THAT(watch_->current()->devices, IsEmpty());
  watch_->SetSnapshot(SnapshotWithMig());
  ASSERT_THAT(watch_->current()->devices, SizeIs(1));
  const DeviceUse& use = watch_->current()->devices[0];
  EXPECT_EQ(use.device_id, kMig);
  EXPECT_EQ(use.resource, "gpu.nvidia.com");
  EXPECT_EQ(use.user.pod, "a");
  EXPECT_EQ(use.claim.claim, "c");
  EXPECT_EQ(use.claim.claim_namespace, "default");
  watch_->SetSnapshot(std::make_shared<device::Snapshot>());
  EXPECT_THAT(watch_->current()->devices, IsEmpty());
  watch_->SetSnapshot(SnapshotWithMig());
  EXPECT_TRUE(RunUntilDevices(1));
}

TEST_F(WatchTest, APodThatVanishesIsGoneWithTheNextList) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntilDevices(1));
  List({{"other", {}}});
  EXPECT_TRUE(RunUntilDevices(0));
}

TEST_F(WatchTest, FindsTheContainerOfAProcess) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  containers_ = {{"ida", "ml", "a", kUid, "main"}};
  dir_.WriteFile("proc/10/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  StartWatch();
  watch_->OnSample(SamplesOf({10}));
  // The kubelet and the runtime answer in any order.
  ASSERT_TRUE(RunUntil([this] {
    const PodMap& map = *watch_->current();
    return !map.processes.empty() && !map.processes.begin()->second.pod_uid.empty() &&
           !map.devices.empty() && !map.devices.front().user.pod_uid.empty();
  }));
  EXPECT_THAT(watch_->current()->processes, ElementsAre(Pair(10, InMl("a", kUid))));
  EXPECT_THAT(watch_->current()->devices, ElementsAre(DeviceUse{kResource, kGpu, InMl("a", kUid)}));
  watch_->OnSample(SamplesOf({}));
  EXPECT_THAT(watch_->current()->processes, IsEmpty());
}

TEST_F(WatchTest, KnownContainersCostNoQuestion) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  containers_ = {{"ida", "ml", "a", kUid, "main"}};
  dir_.WriteFile("proc/10/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  StartWatch();
  ASSERT_TRUE(RunUntilDevices(1));
  ASSERT_TRUE(RunUntil([this] { return runtime_->calls() == 1; }));
  const uint64_t lists = kubelet_->CallCount("List");
  ASSERT_TRUE(RunUntil([&] {
    watch_->OnSample(SamplesOf({10}));
    return kubelet_->CallCount("List") > lists + 3;
  }));
  EXPECT_EQ(runtime_->calls(), 1);
}

TEST_F(WatchTest, WithoutARuntimeTheLogsNameThePods) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  dir_.MakeDir(fmt::format("var/log/pods/ml_logged_{}/main", kUid));
  dir_.WriteFile("proc/10/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  StartWatch();
  watch_->OnSample(SamplesOf({10}));
  ASSERT_TRUE(RunUntil([this] {
    const auto& processes = watch_->current()->processes;
    return processes.contains(10) && processes.at(10).pod == "logged";
  }));
}

TEST_F(WatchTest, ADiskThatHangsHoldsUpNothingElse) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  dir_.MakeDir(fmt::format("var/log/pods/ml_logged_{}/main", kUid));
  dir_.WriteFile("proc/10/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  does_hang_ = true;
  StartWatch();
  int looks = 0;
  const auto looked = [&looks] { ++looks; };
  watch_->OnSample(SamplesOf({10}), looked);
  ASSERT_TRUE(RunUntil([this] { return aside_.size() == 2; })) << "processes, then logs";
  EXPECT_THAT(watch_->current()->processes, IsEmpty());
  EXPECT_EQ(looks, 0);
  watch_->OnSample(SamplesOf({10}), looked);
  EXPECT_EQ(looks, 1) << "the first round waits no longer";
  EXPECT_THAT(watch_->current()->problem, HasSubstr("listed"));
  List({{"a", {kGpu, std::string(kGpu) + "::1"}}});
  ASSERT_TRUE(RunUntil([this] { return watch_->current()->devices.size() == 2; }));
  does_hang_ = false;
  DoAside();
  EXPECT_EQ(looks, 2);
  EXPECT_THAT(watch_->current()->processes, SizeIs(1));
  EXPECT_EQ(watch_->current()->problem, "");
}

TEST_F(WatchTest, TellsThatTheDiskTakesNothing) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  is_full_ = true;
  StartWatch();
  int looks = 0;
  watch_->OnSample(SamplesOf({10}), [&looks] { ++looks; });
  EXPECT_EQ(looks, 1) << "there is nothing to wait for";
  ASSERT_TRUE(RunUntil([this] { return refused_ >= 2; })) << "processes, then logs";
  EXPECT_THAT(watch_->current()->problem, HasSubstr("the disk is too slow"));
}

TEST_F(WatchTest, AProcessThatIsKnownStaysKnownWhileItIsLookedUpAgain) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  containers_ = {{"ida", "ml", "a", kUid, "main"}};
  dir_.WriteFile("proc/10/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  dir_.WriteFile("proc/11/cgroup", fmt::format("0::/kubepods/pod{}/ida\n", kUid));
  StartWatch();
  watch_->OnSample(SamplesOf({10}));
  // The kubelet alone tells no uid.
  ASSERT_TRUE(RunUntil([this] {
    const auto& processes = watch_->current()->processes;
    return processes.contains(10) && processes.at(10).pod_uid == kUid;
  }));
  does_hang_ = true;
  watch_->OnSample(SamplesOf({10, 11}));
  EXPECT_THAT(watch_->current()->processes, ElementsAre(Pair(10, InMl("a", kUid))));
  watch_->OnSample(SamplesOf({11}));
  EXPECT_THAT(watch_->current()->processes, IsEmpty());
  DoAside();
  EXPECT_THAT(watch_->current()->processes, ElementsAre(Pair(11, InMl("a", kUid))));
}

TEST_F(WatchTest, AKubeletThatRestartsLosesNothing) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntilDevices(1));
  kubelet_->Stop();
  ASSERT_TRUE(RunUntil([this] { return !watch_->current()->problem.empty(); }));
  EXPECT_THAT(watch_->current()->devices, SizeIs(1));
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu, std::string(kGpu) + "::1"}}});
  EXPECT_TRUE(RunUntilDevices(2));
}

TEST_F(WatchTest, AListThatIsTooOldIsDropped) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch({.stale = milliseconds(50)});
  ASSERT_TRUE(RunUntilDevices(1));
  kubelet_->Stop();
  ASSERT_TRUE(RunUntil([this] { return watch_->current()->devices.empty(); }));
  EXPECT_THAT(watch_->current()->problem, HasSubstr("pod-resources"));
}

TEST_F(WatchTest, ARefusalForAskingTooOftenIsTriedAgain) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  kubelet_->Inject(
      kubelet::kPodResourcesPoint,
      {.kind = kubelet::FaultKind::kError, .text = "rejected by rate limit", .times = 2});
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntil(
      [this] { return watch_->current()->problem.find("rate limit") != std::string::npos; }));
  EXPECT_TRUE(RunUntilDevices(1));
}

TEST_F(WatchTest, AKubeletThatHangsIsGivenUp) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  kubelet_->Inject(kubelet::kPodResourcesPoint, {.kind = kubelet::FaultKind::kHang, .times = 1});
  StartRuntime();
  StartWatch({.deadline = milliseconds(50)});
  ASSERT_TRUE(RunUntil([this] {
    return watch_->current()->problem.find("the pods' devices") != std::string::npos;
  }));
  EXPECT_TRUE(RunUntilDevices(1));
}

// `bytes` of ids of some other vendor, and one GPU.
std::vector<Entry> LongList(size_t bytes) {
  std::vector<Entry> entries = {{"a", {kGpu}}};
  const std::string id(1000, 'x');
  for (size_t have = 0; have < bytes; have += id.size()) {
    entries.push_back({"other", {id}, "example.com/nic"});
  }
  return entries;
}

TEST_F(WatchTest, AListOfManyMegabytesIsTaken) {
  ASSERT_OK(kubelet_->Start());
  List(LongList(size_t{12} << 20));
  StartRuntime();
  StartWatch({.deadline = seconds(20)});
  EXPECT_TRUE(RunUntilDevices(1));
}

TEST_F(WatchTest, AListPastAllBoundsIsReported) {
  ASSERT_OK(kubelet_->Start());
  List(LongList(size_t{17} << 20));
  StartRuntime();
  StartWatch({.deadline = seconds(20)});
  EXPECT_TRUE(RunUntil([this] {
    return watch_->current()->problem.find("larger than max") != std::string::npos;
  })) << watch_->current()->problem;
}

TEST_F(WatchTest, TellsOfChangesOnly) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntilDevices(1));
  const int changes = changes_;
  const uint64_t lists = kubelet_->CallCount("List");
  ASSERT_TRUE(RunUntil([&] { return kubelet_->CallCount("List") > lists + 3; }));
  EXPECT_EQ(changes_, changes);
}

TEST_F(WatchTest, CanBeSwitchedOffAndOn) {
  ASSERT_OK(kubelet_->Start());
  List({{"a", {kGpu}}});
  StartRuntime();
  StartWatch();
  ASSERT_TRUE(RunUntilDevices(1));
  watch_->SetEvery(milliseconds(0));
  EXPECT_THAT(watch_->current()->devices, IsEmpty());
  EXPECT_EQ(watch_->current()->problem, "");
  watch_->SetEvery(milliseconds(20));
  EXPECT_TRUE(RunUntilDevices(1));
}

TEST_F(WatchTest, ARefreshComesBeforeThePeriodIsOver) {
  ASSERT_OK(kubelet_->Start());
  List({{"other", {}}});
  StartRuntime();
  StartWatch({.every = std::chrono::hours(1)});
  ASSERT_TRUE(RunUntilDevices(0));
  List({{"a", {kGpu}}});
  watch_->Refresh();
  EXPECT_TRUE(RunUntilDevices(1));
}

}  // namespace
}  // namespace kgpu::pods
