// Changes under way: GPUs, MIG devices and drivers that come and go while pods run. The kubelet's
// view, the CDI specs and `kgpu status` agree soon after; a device that nobody touched is healthy
// in every list that the kubelet ever saw. The times from the event on are printed.
#include <algorithm>
#include <iostream>
#include <map>
#include <set>

#include "src/container/inject/index_file.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using Clock = std::chrono::steady_clock;
using IdList = std::set<std::string>;
using HealthyIds = std::map<std::string, IdList>;  // by resource
using Devices = std::vector<inject::IndexDevice>;

class HotChanges : public AgentFixture {
 protected:
  // Healthy ids as the kubelet has written them down.
  HealthyIds KubeletsView() const {
    HealthyIds view;
    const auto checkpoint = kubelet::ParseCheckpoint(kubelet_->CheckpointText(), "checkpoint");
    if (checkpoint.ok()) {
      for (const auto& [resource, ids] : checkpoint->registered) {
        if (!ids.empty()) {
          view[resource] = {ids.begin(), ids.end()};
        }
      }
    }
    return view;
  }
  static HealthyIds AgentsView(const json::value& status) {
    HealthyIds view;
    for (const json::value& resource : status.at("resources").as_array()) {
      for (const json::value& device : resource.at("devices").as_array()) {
        if (device.at("healthy").as_bool()) {
          view[std::string(resource.at("name").as_string())].emplace(device.at("id").as_string());
        }
      }
    }
    return view;
  }
  // Whether engines can inject every healthy device.
  bool AreDeclared(const HealthyIds& view) const {
    const std::vector<std::string> names = node_->CdiDevices();
    return std::ranges::all_of(view, [&](const auto& entry) {
      return std::ranges::all_of(entry.second, [&](const std::string& id) {
        return std::ranges::find(names, "kgpu.dev/gpu=" + id) != names.end();
      });
    });
  }

  // Whether kgpu-runtime can.
  bool AreInIndex(const HealthyIds& view) {
    const auto root = sys::Root::Open(node_->host().path());
    const auto index = root.ok() ? inject::ReadIndex(*root) : root.status();
    IdList names;
    for (const inject::IndexDevice& device : index.ok() ? index->devices : Devices()) {
      names.insert(device.names.begin(), device.names.end());
    }
    return std::ranges::all_of(
        view, [&](const auto& entry) { return std::ranges::includes(names, entry.second); });
  }

  // Starts the clock.
  void Begin() { begun_ = Clock::now(); }
  // Waits for the kubelet's view, then for the others to agree with it.
  void ExpectAgreement(const std::string& event,
                       const std::function<bool(const HealthyIds&)>& is_as_desired) {
    HealthyIds view;
    ASSERT_TRUE(kubelet_->WaitFor(
        [&] {
          view = KubeletsView();
          return is_as_desired(view);
        },
        kAgentPatience))
        << event;
    const Clock::time_point reported = Clock::now();
    EXPECT_TRUE(node_->WaitForStatus(
        [&](const json::value& status) { return AgentsView(status) == view; }));
    EXPECT_TRUE(WaitInFolder(node_->cdi_folder(), [&] { return AreDeclared(view); }));
    // The specs keep devices that went for a while: they may declare one that comes back before
    // the index has it again.
    EXPECT_TRUE(WaitInFolder(node_->host().path() + "/run/kgpu", [&] { return AreInIndex(view); }));
    const Clock::time_point agreed = Clock::now();
    using Milliseconds = std::chrono::duration<double, std::milli>;
    std::cout << fmt::format("{}: the kubelet knows after {:.1f} ms, all agree after {:.1f} ms\n",
                             event, Milliseconds(reported - begun_).count(),
                             Milliseconds(agreed - begun_).count());
    EXPECT_LT(agreed - begun_, std::chrono::seconds(30)) << event;
    EXPECT_THAT(node_->LastingCdiProblems(), IsEmpty());
  }
  void ExpectAgreement(const std::string& event, const HealthyIds& wanted) {
    ExpectAgreement(event, [&](const HealthyIds& view) { return view == wanted; });
  }
  // In every list that the kubelet got.
  void ExpectAlwaysHealthy(const IdList& ids) const {
    for (const kubelet::CallRecord& call : kubelet_->Calls()) {
      for (const std::string& id : ids) {
        if (call.method == "ListAndWatchResponse") {
          EXPECT_THAT(call.arguments, Not(HasSubstr(id + "=")));
        }
      }
    }
  }
  // A pod that runs and is never touched.
  void ExpectRuns(const std::string& pod) const {
    EXPECT_EQ(kubelet_->FindPod(pod)->status.phase, PodPhase::kRunning);
    EXPECT_EQ(Container(pod).restarts, 0);
  }
  IdList GpuIds() const {
    const std::vector<std::string> uuids = node_->GpuUuids();
    return {uuids.begin(), uuids.end()};
  }
  // The devices of before, and a new one.
  static bool IsOneMore(const HealthyIds& before, const HealthyIds& after,
                        const std::string& resource) {
    return before.contains(resource) && after.contains(resource) &&
           after.at(resource).size() == before.at(resource).size() + 1 &&
           std::ranges::includes(after.at(resource), before.at(resource));
  }
  static IdList Without(IdList ids, const std::string& id) {
    ids.erase(id);
    return ids;
  }

  Clock::time_point begun_;
};

TEST_P(HotChanges, AGpuIsAdded) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 4));
  const IdList before = GpuIds();
  Begin();
  node_->host().Inject("add");
  ExpectAgreement("hot add", [&](const HealthyIds& view) {
    return view.contains(kGpuResource) && view.at(kGpuResource).size() == 5;
  });
  ExpectAlwaysHealthy(before);
  ExpectRuns("p");
  ASSERT_NO_FATAL_FAILURE(RunPod("q", 1));
  EXPECT_EQ(before.count(*IdsOf("q").begin()), 0u);
}

TEST_P(HotChanges, Df18ARemovedGpuStaysInTheListAsUnhealthy) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string gone = *IdsOf("p").begin();
  const IdList others = Without(GpuIds(), gone);
  Begin();
  node_->host().Inject("remove", {gone});
  ExpectAgreement("removal", {{kGpuResource, others}});
  EXPECT_EQ(kubelet_->Capacity(kGpuResource), 4);
  EXPECT_TRUE(WaitForHealth("p", kubelet::kUnhealthy));
  ExpectAlwaysHealthy(others);
  ExpectRuns("p");
}

TEST_P(HotChanges, AGpuIsLostUnderAPodAndComesBack) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string lost = *IdsOf("p").begin();
  const IdList all = GpuIds();
  Begin();
  node_->host().Inject("lose", {lost});
  ExpectAgreement("lost GPU", {{kGpuResource, Without(all, lost)}});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kUnhealthy));
  Begin();
  node_->host().Inject("heal", {lost});
  ExpectAgreement("healed GPU", {{kGpuResource, all}});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  ExpectAlwaysHealthy(Without(all, lost));
  ExpectRuns("p");
}

TEST_P(HotChanges, WhatIsThereBesidesGpusIsDeclaredAndWithdrawn) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const auto is_declared = [&](const std::string& name) {
    return std::ranges::count(node_->CdiDevices(), name) == 1;
  };
  for (const std::string name : {"gds", "gdrcopy", "mofed"}) {
    node_->host().Inject("with", {name});
    EXPECT_TRUE(WaitInFolder(node_->cdi_folder(), [&] {
      return is_declared("kgpu.dev/" + name + "=all");
    })) << name;
    EXPECT_THAT(node_->LastingCdiProblems(), IsEmpty());
    node_->host().Inject("with", {"none"});
    EXPECT_TRUE(WaitInFolder(node_->cdi_folder(), [&] {
      return !is_declared("kgpu.dev/" + name + "=all");
    })) << name;
  }
  // One more channel in a folder that is there already.
  for (const std::string channels : {"1", "3"}) {
    node_->host().Inject("with", {"imex=" + channels});
    const std::string last = channels == "1" ? "0" : "2";
    EXPECT_TRUE(WaitInFolder(node_->cdi_folder(), [&] {
      return is_declared("kgpu.dev/imex-channel=" + last);
    })) << channels;
  }
  ExpectAlwaysHealthy(GpuIds());
  ExpectRuns("p");
}

TEST_P(HotChanges, Df08AnXidReachesThePodsStatus) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const std::string id = *IdsOf("p").begin();
  const IdList all = GpuIds();
  Begin();
  node_->host().Inject("xid", {id, "79"});
  ASSERT_TRUE(kubelet_->WaitForCalls("ListAndWatchResponse", 2, kAgentPatience));
  // The driver answers well: the fault is over after the hold-down.
  ExpectAgreement("XID, and the hold-down of 50 ms", {{kGpuResource, all}});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  EXPECT_GE(kubelet_->CallCount("ListAndWatchResponse"), 3u);
  ExpectAlwaysHealthy(Without(all, id));
  ExpectRuns("p");
}

TEST_P(HotChanges, MigDevicesComeAndGo) {
  ASSERT_NO_FATAL_FAILURE(MakeNode({.profile = "mixed", .more_config = "migStrategy: mixed\n"}));
  node_->StartAgent();
  HealthyIds before;
  ASSERT_TRUE(kubelet_->WaitFor(
      [&] {
        before = KubeletsView();
        return before.size() == 4;  // whole GPUs, and three profiles of the first card
      },
      kAgentPatience));
  // The card without MIG instances that can have some is the second A100.
  const IdList gpus = before.at(kGpuResource);
  const std::string card = node_->GpuUuids().at(1);
  ASSERT_THAT(gpus, Contains(card));
  ASSERT_NO_FATAL_FAILURE(RunPod(kubelet::SimplePod("p", before.rbegin()->first, 1)));
  Begin();
  node_->host().Inject("mig", {card, "--enable"});
  node_->host().Inject("mig", {card, "--create", "3g.40gb,2g.20gb"});
  ExpectAgreement("MIG enabled and two devices made", [&](const HealthyIds& view) {
    return view.contains(kGpuResource) && view.at(kGpuResource) == Without(gpus, card) &&
           IsOneMore(before, view, "nvidia.com/mig-3g.40gb") &&
           IsOneMore(before, view, "nvidia.com/mig-2g.20gb");
  });
  Begin();
  node_->host().Inject("mig", {card, "--destroy", "all"});
  node_->host().Inject("mig", {card, "--disable"});
  ExpectAgreement("MIG devices destroyed and MIG disabled", before);
  for (const auto& [resource, ids] : before) {
    ExpectAlwaysHealthy(resource == kGpuResource ? Without(ids, card) : ids);
  }
  ExpectRuns("p");
}

TEST_P(HotChanges, TheDriverIsReplacedByAnother) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const IdList all = GpuIds();
  Begin();
  node_->host().Inject("unload");
  ExpectAgreement("driver unloaded", HealthyIds());
  EXPECT_EQ(kubelet_->Capacity(kGpuResource), 4);
  EXPECT_TRUE(WaitForHealth("p", kubelet::kUnhealthy));
  Begin();
  node_->host().Inject("load", {"--driver", "550.54.15"});
  ExpectAgreement("another driver loaded", {{kGpuResource, all}});
  EXPECT_TRUE(WaitForHealth("p", kubelet::kHealthy));
  EXPECT_TRUE(node_->WaitForStatus(
      [](const json::value& status) { return status.at("driver").at("version") == "550.54.15"; }));
  const std::string spec = node_->host().dir().ReadFile("host/run/cdi/kgpu-kgpu.dev-gpu.json");
  EXPECT_THAT(spec, HasSubstr("550.54.15"));
  EXPECT_THAT(spec, Not(HasSubstr("535.104.05")));
  ExpectRuns("p");
}

TEST_P(HotChanges, ADriverThatHangsIsFoundOutAndHeals) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 1));
  const IdList all = GpuIds();
  Begin();
  node_->host().Inject("hang");
  node_->host().Inject("xid", {"0", "79"});  // has the agent ask
  ExpectAgreement("hung driver", HealthyIds());
  Begin();
  node_->host().Inject("heal");
  ExpectAgreement("driver that answers again", {{kGpuResource, all}});
  ExpectRuns("p");
}

TEST_P(HotChanges, OneGpuThatHangsDoesNotHarmTheOthers) {
  ASSERT_NO_FATAL_FAILURE(StartNode(4));
  const IdList all = GpuIds();
  const std::string hung = node_->GpuUuids().at(2);
  Begin();
  node_->host().Inject("hang", {hung});
  node_->host().Inject("xid", {hung, "79"});
  ExpectAgreement("hung GPU", {{kGpuResource, Without(all, hung)}});
  // Nobody else was hurt while it was found out.
  ASSERT_NO_FATAL_FAILURE(RunPod("p", 3));
  Begin();
  node_->host().Inject("heal");
  ExpectAgreement("GPU that answers again", {{kGpuResource, all}});
  ExpectAlwaysHealthy(Without(all, hung));
  ExpectRuns("p");
}

INSTANTIATE_TEST_SUITE_P(Way, HotChanges,
                         ::testing::Values(Registration::kKubeletSocket,
                                           Registration::kPluginWatcher),
                         NameOf);

}  // namespace
}  // namespace kgpu::integration
