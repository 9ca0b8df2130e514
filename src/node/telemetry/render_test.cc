#include "src/node/telemetry/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "src/gpu/health/xid_counts.h"
#include "src/node/telemetry/series.h"
#include "src/node/telemetry/test_node.h"
#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string Render(const PageInput& input, NameSets names = NameSets::All()) {
  return RenderPage(input, {.names = names});
}

// The value of the one sample that begins with `series`, "" when there is none.
std::string ValueOf(const std::string& page, const std::string& series) {
  const size_t begin = page.find("\n" + series + " ");
  if (begin == page.npos) {
    return "";
  }
  const size_t value = begin + series.size() + 2;
  return page.substr(value, page.find('\n', value) - value);
}

// Changes of a test on what is shared elsewhere.
device::Snapshot& SnapshotOf(PageInput& input) {
  auto copy = std::make_shared<device::Snapshot>(*input.snapshot);
  device::Snapshot& snapshot = *copy;
  input.snapshot = std::move(copy);
  return snapshot;
}
device::SampleSet& SamplesOf(PageInput& input) {
  auto copy = std::make_shared<device::SampleSet>(*input.samples);
  device::SampleSet& samples = *copy;
  input.samples = std::move(copy);
  return samples;
}
pods::PodMap& PodsOf(PageInput& input) {
  auto copy = std::make_shared<pods::PodMap>(*input.pods);
  pods::PodMap& pods = *copy;
  input.pods = std::move(copy);
  return pods;
}

constexpr char kGpu[] =
    "gpu=\"0\",uuid=\"GPU-00000000-0000-4000-8000-000000000000\",model=\"H100-80GB-HBM3\","
    "pci_bus_id=\"0000:07:00.0\"";
constexpr char kDcgmGpu[] =
    "gpu=\"0\",UUID=\"GPU-00000000-0000-4000-8000-000000000000\","
    "pci_bus_id=\"00000000:07:00.0\",device=\"nvidia0\",modelName=\"NVIDIA H100 80GB HBM3\"";
constexpr char kDcgmNode[] = "Hostname=\"gpu-node-17\",DCGM_FI_DRIVER_VERSION=\"550.54.15\"";
constexpr char kGkeGpu[] =
    "make=\"nvidia\",accelerator_id=\"GPU-00000000-0000-4000-8000-000000000000\","
    "model=\"NVIDIA H100 80GB HBM3\"";

TEST(RenderTest, WritesGpusInBaseUnits) {
  const std::string page = Render(TestNode(1, 0), {NameSet::kKgpu});
  const auto value = [&](const std::string& name, const std::string& more = "") {
    return ValueOf(page, fmt::format("{}{{{}{}}}", name, kGpu, more));
  };
  EXPECT_EQ(value("kgpu_gpu_utilization_ratio"), "0.87");
  EXPECT_EQ(value("kgpu_gpu_memory_utilization_ratio"), "0.07");
  EXPECT_EQ(value("kgpu_gpu_memory_used_bytes"), "42949672960");
  EXPECT_EQ(value("kgpu_gpu_power_watts"), "512.25");
  EXPECT_EQ(value("kgpu_gpu_energy_joules_total"), "123456.789");
  EXPECT_EQ(value("kgpu_gpu_clock_hertz", ",clock=\"memory\""), "2619000000");
  EXPECT_EQ(value("kgpu_gpu_throttled", ",reason=\"power_cap\""), "1");
  EXPECT_EQ(value("kgpu_gpu_throttled", ",reason=\"idle\""), "0");
  EXPECT_EQ(value("kgpu_gpu_throttled_seconds_total", ",cause=\"power\""), "1.5");
  EXPECT_EQ(value("kgpu_gpu_ecc_errors_total", ",type=\"corrected\""), "12");
  EXPECT_EQ(value("kgpu_gpu_volatile_ecc_errors_total", ",type=\"corrected\""), "1");
  EXPECT_EQ(value("kgpu_gpu_row_remap_pending"), "1");
  EXPECT_EQ(value("kgpu_gpu_memory_banks", ",spare_rows=\"all\""), "640");
  EXPECT_EQ(value("kgpu_gpu_nvlink_errors_total", ",link=\"17\",type=\"crc_flit\""), "1");
  EXPECT_EQ(value("kgpu_gpu_fan_speed_ratio", ",fan=\"1\""), "0.31");
  EXPECT_EQ(value("kgpu_gpu_sm_active_ratio"), "0.4");
  EXPECT_EQ(value("kgpu_gpu_healthy"), "1");
}

TEST(RenderTest, WritesDcgmsLabelsAndUnits) {
  PageInput input = TestNode(1, 0);
  PodsOf(input).devices = {{.resource = "nvidia.com/gpu",
                            .device_id = TestGpuUuid(0).str(),
                            .user = {"ns", "pod", "main", ""}}};
  const std::string page = Render(input, {NameSet::kDcgm});
  const std::string labels =
      fmt::format("{},{},container=\"main\",namespace=\"ns\",pod=\"pod\"", kDcgmGpu, kDcgmNode);
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_FB_USED{{{}}}", labels)), "40960");
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_GPU_UTIL{{{}}}", labels)), "87");
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION{{{}}}", labels)),
            "123456789");
  EXPECT_THAT(page, HasSubstr("# TYPE DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION counter\n"));
}

TEST(RenderTest, ClaimsAndNewerLabelsStandBehindDcgmsUser) {
  PageInput input = TestNode(1, 0);
  PodsOf(input).devices = {{.resource = "gpu.nvidia.com",
                            .device_id = TestGpuUuid(0).str(),
                            .user = {"ns", "pod", "main", "0f5c1d3e"},
                            .claim = {.claim_namespace = "ns",
                                      .claim = "gpu-x7",
                                      .driver = "gpu.nvidia.com",
                                      .pool = "node-1",
                                      .device = "gpu-0"}}};
  input.dcgm_labels = {config::DcgmLabel::kHostname, config::DcgmLabel::kPodUid};
  const std::string page = Render(input, {NameSet::kDcgm});
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_FB_USED{{{},hostname=\"gpu-node-17\","
                                      "DCGM_FI_DRIVER_VERSION=\"550.54.15\",container=\"main\","
                                      "namespace=\"ns\",pod=\"pod\",pod_uid=\"0f5c1d3e\","
                                      "dra_claim_name=\"gpu-x7\",dra_claim_namespace=\"ns\","
                                      "dra_driver_name=\"gpu.nvidia.com\",dra_pool_name=\"node-1\","
                                      "dra_device_name=\"gpu-0\"}}",
                                      kDcgmGpu)),
            "40960");
  EXPECT_THAT(Render(input, {NameSet::kKgpu}), Not(HasSubstr("dra_")));
}

TEST(RenderTest, WritesGkesNames) {
  PageInput input = TestNode(1, 0);
  PodsOf(input).devices = {{.resource = "nvidia.com/gpu",
                            .device_id = TestGpuUuid(0).str(),
                            .user = {"ns", "pod", "main", ""}}};
  const std::string page = Render(input, {NameSet::kGke});
  const std::string user = "namespace=\"ns\",pod=\"pod\",container=\"main\"";
  EXPECT_EQ(ValueOf(page, fmt::format("duty_cycle{{{},{}}}", user, kGkeGpu)), "85.5");
  EXPECT_EQ(ValueOf(page, fmt::format("memory_used{{{},{}}}", user, kGkeGpu)), "42949672960");
  EXPECT_EQ(ValueOf(page, fmt::format("request{{{},resource_name=\"nvidia.com/gpu\"}}", user)),
            "1");
  EXPECT_EQ(ValueOf(page, fmt::format("duty_cycle_gpu_node{{{}}}", kGkeGpu)), "85.5");
  EXPECT_EQ(ValueOf(page, fmt::format("memory_total_gpu_node{{{}}}", kGkeGpu)), "85899345920");
}

TEST(RenderTest, ContainersThatShareAGpuHaveTheirOwnValuesInEverySet) {
  const std::string page = Render(TestNode(1, 2));
  const std::string kgpu_user =
      "namespace=\"team-1\",pod=\"trainer-1-7d9f8b6c5d-x0001\",container=\"worker\"";
  const std::string dcgm_user =
      "container=\"worker\",namespace=\"team-1\",pod=\"trainer-1-7d9f8b6c5d-x0001\"";
  EXPECT_EQ(
      ValueOf(page, fmt::format("kgpu_container_memory_used_bytes{{{},{}}}", kGpu, kgpu_user)),
      "537919488");
  EXPECT_EQ(
      ValueOf(page, fmt::format("kgpu_container_sm_utilization_ratio{{{},{}}}", kGpu, kgpu_user)),
      "0.05");
  EXPECT_EQ(
      ValueOf(page, fmt::format("DCGM_FI_DEV_FB_USED{{{},{},{}}}", kDcgmGpu, kDcgmNode, dcgm_user)),
      "513");
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_FB_USED{{{},{}}}", kDcgmGpu, kDcgmNode)),
            "40960");
  EXPECT_EQ(ValueOf(page, fmt::format("memory_used{{{},{}}}", kgpu_user, kGkeGpu)), "537919488");
  EXPECT_EQ(ValueOf(page, fmt::format("duty_cycle{{{},{}}}", kgpu_user, kGkeGpu)), "5");
}

TEST(RenderTest, APodThatGoesTakesItsSeriesAlong) {
  PageInput input = TestNode(1, 2);
  EXPECT_THAT(Render(input), HasSubstr("x0001"));
  pods::PodMap& pods = PodsOf(input);
  pods.devices.pop_back();
  pods.processes.erase(1001);
  SamplesOf(input).gpus[0].processes.pop_back();
  EXPECT_THAT(Render(input), Not(HasSubstr("x0001")));
}

void AddMig(PageInput& input) {
  device::Gpu& gpu = SnapshotOf(input).gpus[0];
  gpu.mig_mode = device::MigMode{.is_enabled = true};
  device::GpuSample& sample = SamplesOf(input).gpus[0];
  sample.utilization = {};
  for (unsigned i = 0; i < 2; ++i) {
    device::MigDevice mig;
    mig.uuid = TestMigUuid(0, i);
    mig.gpu_instance = 3;
    mig.compute_instance = i;
    mig.profile = "1c.2g.20gb";
    gpu.mig_devices.push_back(mig);
    sample.migs.push_back({.uuid = mig.uuid,
                           .gpu_instance = 3,
                           .compute_instance = i,
                           .memory = TestMemory(20, 5),
                           .profiling = TestProfiling()});
  }
}

TEST(RenderTest, MigDevicesHaveTheirOwnSeries) {
  PageInput input = TestNode(1, 0);
  AddMig(input);
  PodsOf(input).devices = {{.resource = "nvidia.com/mig-1c.2g.20gb",
                            .device_id = TestMigUuid(0, 0).str(),
                            .user = {"ns", "pod", "main", ""}}};
  const std::string page = Render(input);
  EXPECT_EQ(ValueOf(page, fmt::format("kgpu_mig_memory_used_bytes{{{},mig_uuid=\"{}\","
                                      "mig_profile=\"1c.2g.20gb\",gpu_instance=\"3\","
                                      "compute_instance=\"0\",namespace=\"ns\",pod=\"pod\","
                                      "container=\"main\"}}",
                                      kGpu, TestMigUuid(0, 0).str())),
            "5368709120");
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_FB_USED{{{},GPU_I_PROFILE=\"1c.2g.20gb\","
                                      "GPU_I_ID=\"3\",{},container=\"main\",namespace=\"ns\","
                                      "pod=\"pod\"}}",
                                      kDcgmGpu, kDcgmNode)),
            "5120");
  EXPECT_THAT(page, Not(HasSubstr("kgpu_gpu_utilization_ratio")));
  EXPECT_THAT(page, Not(HasSubstr("\nduty_cycle{")));
}

// No two samples of a page may have the same name and labels: Prometheus would drop one.
void ExpectDistinct(const std::string& page) {
  std::set<std::string> seen;
  std::set<std::string> families;
  for (const std::string_view line : Split(page, '\n')) {
    if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(families.insert(std::string(line)).second) << line;
    } else if (!line.empty() && !line.starts_with('#')) {
      EXPECT_TRUE(seen.insert(std::string(line.substr(0, line.rfind(' ')))).second) << line;
    }
  }
}

TEST(RenderTest, NoTwoSamplesAreAlike) {
  PageInput input = TestNode(2, 12);
  AddMig(input);
  ExpectDistinct(Render(input));
}

// Sums over the samples of a family are right: the GPU's own would count its instances again.
TEST(RenderTest, DcgmsMemoryOfACutGpuIsThatOfItsInstancesAlone) {
  PageInput input = TestNode(2, 0);
  AddMig(input);
  const std::string page = Render(input);
  const std::string gpu = fmt::format("{{{},{}}}", kDcgmGpu, kDcgmNode);
  for (const char* name : {"DCGM_FI_DEV_FB_TOTAL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_FB_FREE",
                           "DCGM_FI_PROF_GR_ENGINE_ACTIVE", "DCGM_FI_PROF_DRAM_ACTIVE"}) {
    EXPECT_THAT(page, Not(HasSubstr(name + gpu)));
    EXPECT_THAT(page, HasSubstr(fmt::format("{}{{{},GPU_I_PROFILE", name, kDcgmGpu)));
    EXPECT_THAT(page, HasSubstr(fmt::format("{}{{gpu=\"1\"", name)));
  }
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_POWER_USAGE" + gpu));
}

TEST(RenderTest, TwoComputeInstancesThatDcgmCannotTellApartAreOneThere) {
  PageInput input = TestNode(1, 0);
  AddMig(input);
  ExpectDistinct(Render(input));
}

TEST(RenderTest, ShowsHealthOfTheGpusThatAreThere) {
  PageInput input = TestNode(1, 0);
  SnapshotOf(input).gpus[0].health = {
      .is_healthy = false, .reason = "Xid79", .message = "It fell off the bus."};
  health::Overview health;
  health.counters.xids = {{.gpu = TestGpuUuid(0), .xid = 13, .count = 4},
                          {.gpu = TestGpuUuid(0), .xid = 79, .count = 1},
                          {.gpu = TestGpuUuid(0), .xid = health::XidCounts::kOther, .count = 2},
                          {.gpu = TestGpuUuid(7), .xid = 48, .count = 1}};
  health.counters.last_xids = {{.gpu = TestGpuUuid(0), .xid = 79, .when = TestTime()}};
  health.counters.faults = {{.gpu = TestGpuUuid(0), .rule = "Xid79", .raised = 3}};
  health.open = {{.scope = {.gpu = TestGpuUuid(0)},
                  .rule = "Xid79",
                  .fault_class = health::FaultClass::kBus,
                  .action = health::Action::kReboot}};
  input.health = std::make_shared<const health::Overview>(health);
  const std::string page = Render(input);
  EXPECT_EQ(ValueOf(page, fmt::format("kgpu_gpu_healthy{{{}}}", kGpu)), "0");
  EXPECT_EQ(ValueOf(page, fmt::format("kgpu_gpu_xids_total{{{},xid=\"13\"}}", kGpu)), "4");
  EXPECT_EQ(ValueOf(page, fmt::format("kgpu_gpu_xids_total{{{},xid=\"other\"}}", kGpu)), "2");
  EXPECT_EQ(ValueOf(page, fmt::format("kgpu_gpu_fault{{{},rule=\"Xid79\",class=\"bus\",action="
                                      "\"reboot\",effect=\"unhealthy\",held=\"no\"}}",
                                      kGpu)),
            "1");
  EXPECT_EQ(ValueOf(page, fmt::format("DCGM_FI_DEV_XID_ERRORS{{{},{},err_code=\"79\",err_msg="
                                      "\"the GPU has fallen off the bus\"}}",
                                      kDcgmGpu, kDcgmNode)),
            "79");
  EXPECT_THAT(page, Not(HasSubstr("xid=\"48\"")));
}

TEST(RenderTest, WhatTheDriverDoesNotTellIsAbsent) {
  PageInput input = TestNode(1, 0);
  device::SampleSet& samples = SamplesOf(input);
  samples.gpus[0] = {};
  samples.gpus[0].uuid = TestGpuUuid(0);
  const std::string page = Render(input);
  EXPECT_THAT(page, Not(HasSubstr("kgpu_gpu_power")));
  EXPECT_THAT(page, Not(HasSubstr("DCGM_FI_DEV_FB")));
  EXPECT_THAT(page, HasSubstr("kgpu_gpu_healthy{"));
}

TEST(RenderTest, APodWhoseUseTheDriverDoesNotTellIsNotIdle) {
  PageInput input = TestNode(1, 0);
  input.usage = std::make_shared<const std::vector<PodUse>>(
      std::vector<PodUse>{{.pod_namespace = "ml",
                           .pod = "mps",
                           .gpu_seconds = 60,
                           .busy_gpu_seconds = std::nullopt,
                           .memory_gib_seconds = 1},
                          {.pod_namespace = "ml",
                           .pod = "idle",
                           .gpu_seconds = 60,
                           .busy_gpu_seconds = 0,
                           .memory_gib_seconds = 0}});
  const std::string page = Render(input);
  EXPECT_THAT(page, HasSubstr("kgpu_pod_gpu_seconds_total{namespace=\"ml\",pod=\"mps\"} 60\n"));
  EXPECT_THAT(page, Not(HasSubstr("busy_seconds_total{namespace=\"ml\",pod=\"mps\"}")));
  EXPECT_THAT(page, HasSubstr("busy_seconds_total{namespace=\"ml\",pod=\"idle\"} 0\n"));
}

TEST(RenderTest, AnEmptyInputIsAnEmptyPage) {
  EXPECT_EQ(Render({}), "");
}

TEST(RenderTest, TellsNvLinkTrafficOfDcgmAsTheRateBetweenTwoRounds) {
  PageInput input = TestNode(1, 0);
  auto previous = std::make_shared<device::SampleSet>(*input.samples);
  for (device::NvLinkSample& link : previous->gpus[0].nvlinks) {
    link.sent_bytes = 0;
  }
  SamplesOf(input).begun = previous->begun + std::chrono::seconds(10);
  input.previous = previous;
  EXPECT_EQ(ValueOf(Render(input), fmt::format("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL{{{},{}}}",
                                               kDcgmGpu, kDcgmNode)),
            "1800");
}

TEST(RenderTest, LeavesOutWhatIsExcluded) {
  const std::vector<std::string> exclude = {"kgpu_*_bytes", "DCGM_FI_DEV_FB_USED"};
  const std::string page =
      RenderPage(TestNode(1, 1), {.names = NameSets::All(), .exclude = exclude});
  EXPECT_THAT(page, Not(HasSubstr("kgpu_gpu_memory_used_bytes")));
  EXPECT_THAT(page, Not(HasSubstr("DCGM_FI_DEV_FB_USED")));
  EXPECT_THAT(page, HasSubstr("DCGM_FI_DEV_FB_FREE"));
  EXPECT_THAT(page, HasSubstr("kgpu_gpu_nvlink_sent_bytes_total"));
}

TEST(RenderTest, PiecesAreThePage) {
  const PageInput input = TestNode(8, 110);
  std::string page;
  size_t pieces = 0;
  RenderPage(input, {.names = NameSets::All()}, [&](std::string_view piece) {
    page += piece;
    ++pieces;
    EXPECT_TRUE(piece.ends_with('\n'));
  });
  EXPECT_GT(pieces, 2U);
  EXPECT_EQ(page, Render(input));
}

TEST(RenderTest, ShowsTheLargestProcessesOnly) {
  const std::string page = Render(TestNode(1, 100), {NameSet::kKgpu});
  EXPECT_THAT(page, HasSubstr("pid=\"1099\""));
  EXPECT_THAT(page, Not(HasSubstr("pid=\"1000\"")));
  EXPECT_THAT(page, HasSubstr("x0000\""));
}

TEST(RenderTest, EscapesWhatOthersNamed) {
  PageInput input = TestNode(1, 0);
  SnapshotOf(input).gpus[0].name = "a\"b\\c\nd";
  EXPECT_THAT(Render(input), HasSubstr(R"(modelName="a\"b\\c\nd")"));
}

TEST(FitsPatternTest, TakesStarsForAnyLetters) {
  EXPECT_TRUE(FitsPattern("kgpu_gpu_power_watts", "kgpu_gpu_power_watts"));
  EXPECT_TRUE(FitsPattern("kgpu_gpu_power_watts", "*"));
  EXPECT_TRUE(FitsPattern("kgpu_gpu_power_watts", "kgpu_*_watts"));
  EXPECT_TRUE(FitsPattern("kgpu_gpu_power_watts", "*gpu*watts*"));
  EXPECT_TRUE(FitsPattern("aab", "*ab"));
  EXPECT_FALSE(FitsPattern("kgpu_gpu_power_watts", "gpu_*"));
  EXPECT_FALSE(FitsPattern("kgpu_gpu_power_watts", "kgpu_*_bytes"));
  EXPECT_FALSE(FitsPattern("kgpu_gpu_power_watts", "kgpu_gpu_power"));
  EXPECT_FALSE(FitsPattern("kgpu", ""));
}

TEST(SeriesTableTest, EveryNameIsLegalUniqueAndExplained) {
  std::set<std::string_view> names;
  for (const SeriesGroup& group : AllSeries()) {
    for (const Series& series : group.series) {
      EXPECT_TRUE(names.insert(series.name).second) << series.name << " is there twice";
      EXPECT_EQ(series.name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789_"),
                series.name.npos)
          << series.name;
      EXPECT_TRUE(series.help.ends_with(".")) << series.name;
      const bool is_ours = group.set == NameSet::kKgpu;
      if (is_ours) {
        EXPECT_EQ(series.type == metrics::Type::kCounter, series.name.ends_with("_total"))
            << series.name;
      }
    }
  }
}

}  // namespace
}  // namespace kgpu::telemetry
