// What the calls themselves may hold, DF-14 to DF-18: lists, preferences, allocations.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <span>
#include <thread>

#include "tests/integration/plugin_fixture.h"

namespace kgpu::integration {
namespace {

using Ids = std::vector<std::string>;
using plugin::Advertised;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::SizeIs;

Ids IdsOf(const std::vector<size_t>& indices) {
  Ids ids;
  for (const size_t index : indices) {
    ids.push_back(GpuId(index));
  }
  return ids;
}

class DevicePluginCalls : public PluginFixture {
 protected:
  void StartListed(const std::vector<Advertised>& devices) {
    StartPlugin({ListView(kGpus, devices)});
  }
  void List(const std::vector<Advertised>& devices) { plugin_->Show({ListView(kGpus, devices)}); }
};

TEST_P(DevicePluginCalls, Df14AResourceMayHaveNoDevices) {
  StartListed({});
  EXPECT_TRUE(WaitForGpus(0, 0));
}

TEST_P(DevicePluginCalls, Df14TheLastDeviceGoesAndComes) {
  StartListed({{"a", true, {}}});
  EXPECT_TRUE(WaitForGpus(1, 1));
  List({});
  EXPECT_TRUE(WaitForGpus(0, 0));
  List({{"a", true, {}}});
  EXPECT_TRUE(WaitForGpus(1, 1));
  EXPECT_EQ(kubelet_.CallCount("ListAndWatch"), 1u);
}

TEST_P(DevicePluginCalls, Df14AThousandLongIdsFitOneMessage) {
  std::vector<Advertised> devices;
  devices.reserve(1024);
  for (int i = 0; i < 1024; ++i) {
    devices.push_back({fmt::format("{:x>63}", i), true, i % 2});
  }
  StartListed(devices);
  EXPECT_TRUE(WaitForGpus(1024, 1024));
}

TEST_P(DevicePluginCalls, Df14DuplicatesCountOnce) {
  StartListed({{"a", true, {}}, {"a", false, {}}, {"b", true, {}}});
  EXPECT_TRUE(WaitForGpus(1, 2));
}

TEST_P(DevicePluginCalls, Df14AWithdrawnResourceShowsNothingAndFreesItsSocket) {
  StartPlugin({GpuView(2), ListView("example.com/other", {{"x", true, {}}})});
  ASSERT_TRUE(WaitForGpus(2, 2));
  ASSERT_TRUE(kubelet_.WaitForResource("example.com/other", {.capacity = 1, .allocatable = 1}));
  const std::string socket = Folder() + "/" + plugin::SocketName("example.com/other");
  ASSERT_TRUE(std::filesystem::exists(socket));
  Show(2);
  EXPECT_TRUE(kubelet_.WaitForResource("example.com/other", {.capacity = 0, .allocatable = 0}));
  EXPECT_TRUE(WaitInFolder(Folder(), [&] { return !std::filesystem::exists(socket); }));
  ExpectLive(2);
}

TEST_P(DevicePluginCalls, Df15APreferenceIsOneOfTheAvailableSets) {
  StartRegistered(8);
  const auto caller = Caller();
  const Ids all = IdsOf({0, 1, 2, 3, 4, 5, 6, 7});
  const struct {
    Ids must_include;
    int32_t size;
  } kRequests[] = {{{}, 1}, {{}, 4}, {{}, 8}, {IdsOf({6}), 1}, {IdsOf({6, 1}), 2}, {IdsOf({5}), 3}};
  for (const auto& request : kRequests) {
    for (int again = 0; again < 2; ++again) {
      const auto chosen = caller->Prefer({all, request.must_include, request.size});
      ASSERT_OK(chosen.status());
      EXPECT_THAT(*chosen, SizeIs(request.size));
      EXPECT_THAT(*chosen, IsSupersetOf(request.must_include));
      EXPECT_THAT(all, IsSupersetOf(*chosen));
    }
  }
}

TEST_P(DevicePluginCalls, Df15AnImpossiblePreferenceIsAnError) {
  StartRegistered(4);
  const auto caller = Caller();
  EXPECT_THAT(caller->Prefer({IdsOf({0, 1}), {}, 3}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(caller->Prefer({IdsOf({0, 1}), IdsOf({0, 1}), 1}),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(caller->Prefer({IdsOf({0, 1}), IdsOf({2}), 1}),
              StatusIs(StatusCode::kInvalidArgument));
  EXPECT_THAT(caller->Prefer({{"GPU-x"}, {}, 1}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("GPU-x")));
  EXPECT_OK(caller->Prefer({IdsOf({0, 1}), {}, 2}).status());
}

TEST_P(DevicePluginCalls, Df15APreferenceThatNoAllocateFollowsChangesNothing) {
  StartRegistered(4);
  const auto caller = Caller();
  const kubelet::PreferredRequest request = {IdsOf({0, 1, 2, 3}), {}, 2};
  const auto first = caller->Prefer(request);
  const auto second = caller->Prefer(request);
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_EQ(*first, *second);
}

TEST_P(DevicePluginCalls, Df15DevicesOfTwoNumaNodesGoToOnePod) {
  StartRegistered(4);
  ASSERT_OK(kubelet_.AddPod(kubelet::SimplePod("p", kGpus, 3)));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning, PluginRun::kPatience));
  EXPECT_EQ(kubelet_.CallCount("GetPreferredAllocation"), 1u);
  EXPECT_THAT(Container("p").devices.at(kGpus), SizeIs(3));
  EXPECT_THAT(Container("p").options.cdi_devices, SizeIs(3));
}

TEST_P(DevicePluginCalls, Df16TheOrderOfIdsDoesNotMatterNorDoesAskingAgain) {
  StartRegistered(4);
  const auto caller = Caller();
  const auto first = caller->Allocate(IdsOf({0, 3, 2}));
  const auto second = caller->Allocate(IdsOf({2, 0, 3}));
  ASSERT_OK(first.status());
  ASSERT_OK(second.status());
  EXPECT_EQ(*first, *second);
  EXPECT_EQ(*first, caller->Allocate(IdsOf({0, 3, 2})).value());
  EXPECT_THAT(first->cdi_devices, ElementsAre(CdiName(0), CdiName(2), CdiName(3)));
}

TEST_P(DevicePluginCalls, Df16AnUnknownIdIsAnErrorThatNamesIt) {
  StartRegistered(2);
  EXPECT_THAT(Caller()->Allocate({GpuId(0), "GPU-x"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("GPU-x")));
  EXPECT_THAT(Caller()->Allocate({}), StatusIs(StatusCode::kInvalidArgument));
}

TEST_P(DevicePluginCalls, Df16ADeviceThatFailedSinceIsRefusedWithTheReason) {
  StartRegistered(2);
  Show(2, {1});
  EXPECT_THAT(Caller()->Allocate({GpuId(1)}),
              StatusIs(StatusCode::kUnavailable, HasSubstr("Xid79")));
  EXPECT_OK(Caller()->Allocate({GpuId(0)}));
}

// A container must find its files: without them there is no answer.
TEST_P(DevicePluginCalls, Df16SlotsArePreparedBeforeTheAnswer) {
  auto view = std::make_shared<plugin::ResourceView>(*GpuView(3));
  std::atomic<int> calls = 0;
  view->prepare = [&calls](std::span<const std::string> ids) -> Status {
    ++calls;
    return ids.front() == GpuId(2) ? ResourceExhausted("no space left on device") : OkStatus();
  };
  StartPlugin({view});
  ASSERT_TRUE(WaitForGpus(3, 3));
  EXPECT_OK(Caller()->Allocate({GpuId(0)}).status());
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(Caller()->Allocate({GpuId(2)}),
              StatusIs(StatusCode::kResourceExhausted, HasSubstr("no space left")));
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(Caller()->Allocate({"GPU-x"}), StatusIs(StatusCode::kInvalidArgument));
  EXPECT_EQ(calls, 2) << "no container will come";
  EXPECT_EQ(plugin_->StatusOf(kGpus).counts.failed_allocations, 2U);
}

TEST_P(DevicePluginCalls, Df16SixteenCallsAtOnceAreAllAnswered) {
  StartRegistered(8);
  std::vector<std::jthread> callers;
  callers.reserve(16);
  for (size_t i = 0; i < 16; ++i) {
    callers.emplace_back([this, i] {
      const auto caller = Caller();
      ASSERT_NE(caller, nullptr);
      for (int again = 0; again < 10; ++again) {
        const auto answer = caller->Allocate({GpuId(i % 8)});
        ASSERT_OK(answer.status());
        EXPECT_THAT(answer->cdi_devices, ElementsAre(CdiName(i % 8)));
      }
    });
  }
  callers.clear();
  const plugin::ServiceCounts counts = plugin_->StatusOf(kGpus).counts;
  EXPECT_EQ(counts.allocations, 160u);
  const auto& timed = counts.allocation_latency.calls;
  EXPECT_EQ(std::accumulate(timed.begin(), timed.end(), uint64_t{0}), 160u);
  EXPECT_EQ(OpenStreams(), 1u);
}

TEST_P(DevicePluginCalls, Df17NoPreStartIsAskedForAndNoneRefused) {
  StartRegistered(1);
  ASSERT_OK(kubelet_.AddPod(kubelet::SimplePod("p", kGpus, 1)));
  ASSERT_TRUE(kubelet_.WaitForPhase("p", PodPhase::kRunning, PluginRun::kPatience));
  ASSERT_OK(kubelet_.ExitContainer("p", "main", 1));
  ASSERT_TRUE(kubelet_.WaitFor([&] { return Container("p").restarts == 1; }, PluginRun::kPatience));
  EXPECT_EQ(kubelet_.CallCount("PreStartContainer"), 0u);
  EXPECT_OK(Caller()->PreStart({GpuId(0)}));
}

TEST_P(DevicePluginCalls, Df18HealthIsOneOfTheTwoWordsThatKubeletsKnow) {
  StartRegistered(3);
  Show(3, {1});
  const auto list = Caller()->FirstList();
  ASSERT_OK(list.status());
  ASSERT_THAT(*list, SizeIs(3));
  for (const kubelet::Device& device : *list) {
    EXPECT_EQ(device.health, device.id == GpuId(1) ? kubelet::kUnhealthy : kubelet::kHealthy);
    EXPECT_THAT(device.numa_nodes, SizeIs(1));
  }
}

INSTANTIATE_TEST_SUITE_P(Way, DevicePluginCalls,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
