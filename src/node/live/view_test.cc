#include "src/node/live/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "src/node/telemetry/test_node.h"

namespace kgpu::live {
namespace {

namespace json = boost::json;
using ::testing::HasSubstr;

class LiveViewTest : public ::testing::Test {
 protected:
  LiveViewTest() {
    device::MigDevice mig;
    mig.uuid = telemetry::TestMigUuid(1, 0);
    mig.profile = "3g.40gb";
    mig.gpu_instance = 2;
    mig.placement_start = 4;
    mig.gpu_instance_slices = 3;
    snapshot_ = std::make_shared<device::Snapshot>(*measured_.snapshot);
    snapshot_->gpus[0].peers = {
        {.peer_index = 1, .path = device::PciePath::kUnknown, .nvlinks = 18}};
    snapshot_->gpus[1].mig_mode = device::MigMode{.is_enabled = true, .is_pending_enabled = true};
    snapshot_->gpus[1].mig_devices = {mig};
    snapshot_->gpus[1].health = {
        .is_healthy = false, .reason = "Xid79", .message = "GPU lost: reset it"};
    measured_.snapshot = snapshot_;
  }

  json::object Page() const {
    return LiveJson({.measured = measured_,
                     .assignment = assignment_,
                     .holders = holders_,
                     .history = history_,
                     .events = events_,
                     .functions = functions_,
                     .version = "1.2.3",
                     .problem = problem_,
                     .now = telemetry::TestTime(),
                     .every = std::chrono::milliseconds(1500),
                     .name_of = [](uint32_t pid) { return fmt::format("p{}", pid); }});
  }
  json::object GpuAt(size_t place) const { return Page().at("gpus").at(place).as_object(); }

  telemetry::PageInput measured_ = telemetry::TestNode(2, 3);
  std::shared_ptr<device::Snapshot> snapshot_;
  pools::Assignment assignment_;
  report::Holders holders_;
  History history_;
  std::vector<health::HealthEvent> events_;
  json::array functions_;
  std::string problem_;
};

TEST_F(LiveViewTest, TheNodeIsShown) {
  problem_ = "no configuration";
  const json::object page = Page();
  EXPECT_EQ(page.at("kind"), "Node");
  EXPECT_EQ(page.at("node"), "gpu-node-17");
  EXPECT_EQ(page.at("everySeconds"), 1.5);
  EXPECT_EQ(page.at("ready"), false);
  EXPECT_EQ(page.at("problem"), "no configuration");
  EXPECT_EQ(page.at("driver").at("version"), "550.54.15");
  EXPECT_EQ(page.at("gpus").as_array().size(), 2U);
}

TEST_F(LiveViewTest, AGpuHasWhatWasMeasured) {
  const json::object gpu = GpuAt(0);
  EXPECT_EQ(gpu.at("utilization").at("gpu"), 87.0);
  EXPECT_EQ(gpu.at("memory").at("used").to_number<uint64_t>(), GibiBytes(40).count);
  EXPECT_EQ(gpu.at("temperature").at("slowdown"), 87);
  EXPECT_EQ(gpu.at("power").at("limit"), 700.0);
  EXPECT_EQ(json::serialize(gpu.at("throttled")), R"(["power cap","hardware thermal"])");
  EXPECT_EQ(json::serialize(gpu.at("nvlinks")), R"([{"peer":1,"links":18}])");
}

TEST_F(LiveViewTest, WithoutSamplesNothingIsInvented) {
  measured_.samples.reset();
  const json::object gpu = GpuAt(0);
  EXPECT_TRUE(gpu.at("utilization").at("gpu").is_null());
  EXPECT_TRUE(gpu.at("memory").is_null());
  EXPECT_TRUE(gpu.at("processes").as_array().empty());
  measured_.snapshot.reset();
  EXPECT_TRUE(Page().at("gpus").as_array().empty());
}

TEST_F(LiveViewTest, UsersHaveTheirProcessesAndLimits) {
  measured_.slices = std::make_shared<std::vector<telemetry::SliceFigures>>(
      std::vector<telemetry::SliceFigures>{{.user = telemetry::TestContainer(2),
                                            .device_uuid = telemetry::TestGpuUuid(0).str(),
                                            .memory_limit = GibiBytes(20),
                                            .memory_peak = GibiBytes(3)}});
  const json::array users = GpuAt(0).at("users").as_array();
  ASSERT_EQ(users.size(), 2U);
  EXPECT_EQ(users[1].at("namespace"), "team-2");
  EXPECT_EQ(users[1].at("memory").at("used").to_number<uint64_t>(), MebiBytes(514).count);
  EXPECT_EQ(users[1].at("memory").at("limit").to_number<uint64_t>(), GibiBytes(20).count);
  EXPECT_FALSE(users[0].at("memory").as_object().contains("limit"));
  EXPECT_EQ(users[1].at("processes").at(0).at("name"), "p1002");
}

TEST_F(LiveViewTest, AProcessOutsideOfPodsIsTheGpus) {
  auto samples = std::make_shared<device::SampleSet>(*measured_.samples);
  for (unsigned i = 0; i < 20; ++i) {
    samples->gpus[0].processes.push_back(telemetry::TestProcess(5000 + i, 100 + i, 1));
  }
  measured_.samples = samples;
  const json::array processes = GpuAt(0).at("processes").as_array();
  EXPECT_EQ(processes.size(), 16U) << "those with the most memory";
  EXPECT_EQ(processes[0].at("pid"), 5019);
}

TEST_F(LiveViewTest, MigDevicesHaveTheirPlace) {
  const json::object gpu = GpuAt(1);
  EXPECT_EQ(gpu.at("healthy"), false);
  EXPECT_EQ(gpu.at("reason"), "Xid79");
  EXPECT_EQ(gpu.at("migEnabled"), true);
  const json::value& mig = gpu.at("mig").at(0);
  EXPECT_EQ(mig.at("profile"), "3g.40gb");
  EXPECT_EQ(mig.at("start"), 4);
  EXPECT_TRUE(mig.at("memory").is_null());
}

TEST_F(LiveViewTest, PoolsCountTheirSlots) {
  pools::Resource& pool = assignment_.resources.emplace_back();
  pool.name = "nvidia.com/gpu.shared";
  for (unsigned i = 0; i < 4; ++i) {
    pools::Slot& slot = pool.slots.emplace_back();
    slot.id = fmt::format("{}::{}", telemetry::TestGpuUuid(0).str(), i);
    slot.device_uuid = telemetry::TestGpuUuid(0).str();
    slot.health.is_healthy = i != 3;
  }
  EXPECT_EQ(json::serialize(Page().at("pools")),
            R"([{"name":"nvidia.com/gpu.shared","total":4,"used":2,"unhealthy":1}])");
  EXPECT_EQ(GpuAt(0).at("pool"), "nvidia.com/gpu.shared");
  EXPECT_FALSE(GpuAt(1).contains("pool"));
  holders_[telemetry::TestGpuUuid(1).str()] = "fn/hello/1";
  EXPECT_EQ(GpuAt(1).at("lentTo"), "fn/hello/1");
}

TEST_F(LiveViewTest, FaultsThatLeaveAGpuHealthyAreWarnings) {
  health::Overview overview;
  overview.open = {{.scope = {.gpu = telemetry::TestGpuUuid(0)},
                    .rule = "RowRemapPending",
                    .is_unhealthy = false,
                    .message = "reset it when idle"}};
  measured_.health = std::make_shared<health::Overview>(overview);
  EXPECT_EQ(json::serialize(GpuAt(0).at("warnings")), R"(["reset it when idle"])");
  events_ = {{.rule = "Xid13", .message = "first"}, {.rule = "Xid79", .message = "second"}};
  EXPECT_EQ(Page().at("events").at(0).at("rule"), "Xid79") << "the newest first";
}

}  // namespace
}  // namespace kgpu::live
