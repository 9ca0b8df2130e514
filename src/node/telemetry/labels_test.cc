// The table's column of labels against the pages themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "src/node/telemetry/render.h"
#include "src/node/telemetry/series.h"
#include "src/node/telemetry/test_node.h"
#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

using ::testing::IsSubsetOf;

using Names = std::set<std::string>;

device::MigDevice& AddMigDevice(device::Snapshot& snapshot, device::SampleSet& samples) {
  device::Gpu& gpu = snapshot.gpus[1];
  gpu.mig_mode = device::MigMode{.is_enabled = true};
  device::MigDevice& mig = gpu.mig_devices.emplace_back();
  mig.uuid = TestMigUuid(1, 0);
  mig.gpu_instance = 3;
  mig.profile = "2g.20gb";
  samples.gpus[1].migs.push_back({.uuid = mig.uuid,
                                  .gpu_instance = 3,
                                  .compute_instance = 0,
                                  .memory = TestMemory(20, 5),
                                  .profiling = TestProfiling()});
  return mig;
}

// The first GPU is shared by two pods, the second is cut; everything has a value.
PageInput FullNode() {
  PageInput input = TestNode(2, 4);
  auto snapshot = std::make_shared<device::Snapshot>(*input.snapshot);
  auto samples = std::make_shared<device::SampleSet>(*input.samples);
  auto pods = std::make_shared<pods::PodMap>(*input.pods);
  snapshot->gpus[0].serial = "165";
  snapshot->gpus[0].numa_node = 0;
  snapshot->unmanaged.push_back({.pci = {},
                                 .pci_device_id = 0x2330,
                                 .pci_class = "3d-controller",
                                 .kernel_driver = "vfio-pci",
                                 .reason = ""});
  const device::MigDevice& mig = AddMigDevice(*snapshot, *samples);
  pods->devices.push_back({.resource = "nvidia.com/mig-2g.20gb",
                           .device_id = mig.uuid.str(),
                           .user = {"ns", "pod", "main", ""}});
  auto previous = std::make_shared<device::SampleSet>(*samples);
  samples->begun += std::chrono::seconds(15);
  health::Overview health;
  health.counters.xids = {{.gpu = TestGpuUuid(0), .xid = 13, .count = 4}};
  health.counters.faults = {{.gpu = TestGpuUuid(0), .rule = "Xid79", .raised = 3}};
  health.open = {{.scope = {.gpu = TestGpuUuid(1), .gpu_instance = 3, .compute_instance = 0},
                  .rule = "Xid79"}};
  input.snapshot = std::move(snapshot);
  input.samples = std::move(samples);
  input.previous = std::move(previous);
  input.measured = TestTime();
  input.pods = std::move(pods);
  input.health = std::make_shared<const health::Overview>(std::move(health));
  input.usage =
      std::make_shared<const std::vector<PodUse>>(std::vector<PodUse>{{.pod_namespace = "ns",
                                                                       .pod = "pod",
                                                                       .gpu_seconds = 1,
                                                                       .busy_gpu_seconds = 1,
                                                                       .memory_gib_seconds = 1}});
  input.slices = std::make_shared<const std::vector<SliceFigures>>(
      std::vector<SliceFigures>{{.user = TestContainer(0),
                                 .device_uuid = TestGpuUuid(0).str(),
                                 .memory_limit = GibiBytes(20),
                                 .memory_peak = GibiBytes(19),
                                 .refused = 2,
                                 .waited_seconds = 3,
                                 .compute_share = 25,
                                 .compute_target = 50,
                                 .compute_error = -1}});
  return input;
}

// name="value",name="value": no value of this page has a comma or a brace.
void AddNames(std::string_view labels, Names& names) {
  for (const std::string_view label : Split(labels, ',')) {
    names.emplace(label.substr(0, label.find('=')));
  }
}

std::map<std::string, Names> LabelsOfPage(NameSet set) {
  const std::string page = RenderPage(FullNode(), {.names = {set}});
  std::map<std::string, Names> labels;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    const size_t end = line.find_first_of("{ ");
    Names& names = labels[std::string(line.substr(0, end))];
    if (line[end] == '{') {
      AddNames(line.substr(end + 1, line.rfind('}') - end - 1), names);
    }
  }
  return labels;
}

// The labels of the thing that a series is of: docs/reference/metrics.md has the same table.
Names LabelsOfThing(NameSet set, const Collectors& collect) {
  if (collect.gpu == nullptr && collect.mig == nullptr && collect.container == nullptr &&
      collect.process == nullptr) {
    return {};
  }
  Names names = {"namespace", "pod", "container"};
  const bool may_be_mig =
      collect.mig != nullptr || collect.container != nullptr || collect.process != nullptr;
  if (set == NameSet::kGke) {
    names.merge(Names{"make", "accelerator_id", "model"});
  } else if (set == NameSet::kDcgm) {
    names.merge(Names{"gpu", "UUID", "pci_bus_id", "device", "modelName", "Hostname",
                      "DCGM_FI_DRIVER_VERSION", "dra_claim_name", "dra_claim_namespace",
                      "dra_driver_name", "dra_pool_name", "dra_device_name"});
  } else {
    names.merge(Names{"gpu", "uuid", "model", "pci_bus_id"});
  }
  if (may_be_mig && set == NameSet::kDcgm) {
    names.merge(Names{"GPU_I_PROFILE", "GPU_I_ID", "dra_mig_profile", "dra_mig_device_uuid"});
  } else if (may_be_mig && set == NameSet::kKgpu) {
    names.merge(Names{"mig_uuid", "mig_profile", "gpu_instance", "compute_instance"});
  }
  return names;
}

Names NamesIn(std::string_view column) {
  Names names;
  for (const std::string_view label : Split(column, ',')) {
    if (!Trim(label).empty()) {
      names.emplace(Trim(label));
    }
  }
  return names;
}

class LabelsTest : public ::testing::TestWithParam<NameSet> {};

TEST_P(LabelsTest, TheTableNamesThoseThatAPageHasAndNoOthers) {
  const std::map<std::string, Names> shown = LabelsOfPage(GetParam());
  for (const SeriesGroup& group : AllSeries()) {
    for (const Series& series : group.series) {
      const bool is_agents = std::string_view(group.title).starts_with("The agent");
      if (group.set != GetParam() || is_agents) {
        continue;
      }
      const auto found = shown.find(std::string(series.name));
      ASSERT_NE(found, shown.end()) << series.name << " is not on a page that has everything";
      const Names reported = NamesIn(series.labels);
      EXPECT_THAT(reported, IsSubsetOf(found->second)) << series.name;
      Names allowed = LabelsOfThing(group.set, series.collect);
      allowed.insert(reported.begin(), reported.end());
      EXPECT_THAT(found->second, IsSubsetOf(allowed)) << series.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllSets, LabelsTest,
                         ::testing::Values(NameSet::kKgpu, NameSet::kDcgm, NameSet::kGke),
                         [](const auto& set) { return std::string(ToString(set.param)); });

}  // namespace
}  // namespace kgpu::telemetry
