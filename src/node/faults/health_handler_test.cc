#include "src/node/faults/health_handler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/object.hpp>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/gpu/health/test_health_event.h"
#include "src/node/faults/saved_faults.h"
#include "src/node/part/answer.h"
#include "src/node/part/test_effects.h"
#include "src/platform/base/log.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::faults {
namespace {

using health::HealthEvent;
using health::HealthEventKind;
using health::TestGpu;
using health::TestXid;
using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

class HealthHandlerTest : public ::testing::Test {
 protected:
  explicit HealthHandlerTest(milliseconds history_limit = std::chrono::minutes(1))
      : history_limit_(history_limit) {}
  void SetUp() override {
    SetLogSink([this](LogLevel, std::string_view line) { log_.emplace_back(line); });
    auto loop = EpollLoop::Create();
    ASSERT_OK(loop);
    loop_ = *std::move(loop);
    disk_ = std::make_unique<sys::DiskWorker>(
        *loop_, sys::DiskWorkerOptions{.stop_limit = std::chrono::minutes(1)});
    HealthHandlerOptions options;
    options.journal.folder = dir_.At("state");
    options.node = "n1";
    options.delay = milliseconds(0);
    options.history_limit = history_limit_;
    options.look_again = milliseconds(1);
    options.log = {.burst = 5, .every = std::chrono::hours(1)};
    effects_.on_look = [this] { pods() = later_pods_ ? later_pods_ : pods(); };
    handler_ = std::make_unique<HealthHandler>(*loop_, *disk_, options, effects_,
                                               FaultList{.overview = [this] { return overview_; },
                                                         .clear =
                                                             [this](const device::GpuUuid& gpu) {
                                                               cleared_.push_back(gpu.str());
                                                               return clear_status_;
                                                             }});
    auto snapshot = std::make_shared<device::Snapshot>();
    snapshot->driver.state = device::DriverState::kReady;
    device::Gpu& gpu = snapshot->gpus.emplace_back();
    gpu.uuid = TestGpu(0);
    gpu.pci = {.domain = 0, .bus = 7, .device = 0, .function = 0};
    effects_.state.snapshot = std::move(snapshot);
  }
  void TearDown() override {
    handler_.reset();
    disk_.reset();
    SetLogSink({});
  }

  http::Response Ask(const std::string& path, const std::string& query = "",
                     const std::string& method = "GET") {
    http::Request request{.method = method, .path = path, .query = query};
    std::optional<http::Response> answer;
    EXPECT_TRUE(handler_->Answer(request, [&](http::Response response) {
      answer = std::move(response);
      ++answers_;
      loop_->Quit();
    }));
    if (!answer) {
      loop_->Run();
    }
    return answer.value_or(http::Response{});
  }
  pods::PodMapPtr& pods() { return effects_.state.pods; }
  std::vector<std::string> reported() const {
    std::vector<std::string> reported;
    reported.reserve(effects_.events.size());
    for (const kube::Event& event : effects_.events) {
      reported.push_back(event.regarding.name + "/" + event.reason);
    }
    return reported;
  }
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    notes.reserve(effects_.events.size());
    for (const kube::Event& event : effects_.events) {
      notes.push_back(event.note);
    }
    return notes;
  }
  std::string History(const std::string& query = "output=table") {
    return Ask("/v1/health/history", query).body;
  }

  const milliseconds history_limit_;
  TempDir dir_;
  std::vector<std::string> log_;
  std::vector<std::string> cleared_;
  Status clear_status_;
  health::Overview overview_;
  int answers_ = 0;
  pods::PodMapPtr later_pods_;  // once they are looked at again
  node::TestEffects effects_;
  std::unique_ptr<EpollLoop> loop_;
  std::unique_ptr<sys::DiskWorker> disk_;
  std::unique_ptr<HealthHandler> handler_;
};

TEST_F(HealthHandlerTest, SavesFaultsAndReportsItsJournal) {
  health::OpenFault& fault = overview_.open.emplace_back();
  fault.scope.gpu = TestGpu(0);
  fault.rule = "Xid48";
  overview_.kernel_log_position = 5;
  boost::json::object fields;
  handler_->Save(fields);
  const SavedFaults saved = ReadFaults(fields);
  EXPECT_EQ(saved.open, overview_.open);
  EXPECT_EQ(saved.kernel_log_position, 5U);
  metrics::Exposition page;
  handler_->WriteSeries({}, page);
  EXPECT_THAT(page.text(), HasSubstr("\nkgpu_health_journal_ok 1\n"));
}

TEST_F(HealthHandlerTest, EventsAreLoggedKeptAndReported) {
  handler_->OnHealthEvent(TestXid(0));
  EXPECT_THAT(log_, IsEmpty()) << "nothing is done while events arrive";
  EXPECT_THAT(History(), HasSubstr("raised  Xid79"));
  ASSERT_THAT(log_, SizeIs(1));
  EXPECT_THAT(log_[0], AllOf(HasSubstr("GPU fault"), HasSubstr("Xid79"), HasSubstr("reboot")));
  EXPECT_THAT(reported(), ElementsAre("n1/GPUUnhealthy"));
}

// `pod` has GPU 0.
pods::PodMapPtr MapWith(const std::string& pod) {
  auto pods = std::make_shared<pods::PodMap>();
  pods->devices = {{.resource = "nvidia.com/gpu",
                    .device_id = TestGpu(0).str(),
                    .user = {.pod_namespace = "ml", .pod = pod, .container = "c", .pod_uid = "u"}}};
  return pods;
}

TEST_F(HealthHandlerTest, PodsOfTheDeviceAreNotified) {
  pods() = MapWith("train");
  handler_->OnHealthEvent(TestXid(0));
  handler_->OnHealthEvent(TestXid(0, HealthEventKind::kCleared));
  History();
  EXPECT_THAT(reported(), ElementsAre("n1/GPUUnhealthy", "train/GPUUnhealthy", "n1/GPURecovered",
                                      "train/GPURecovered"));
}

TEST_F(HealthHandlerTest, APodThatIsFoundLaterIsReportedLater) {
  later_pods_ = MapWith("train");
  handler_->OnHealthEvent(TestXid(0));
  while (reported().size() < 2) {
    loop_->After(milliseconds(1), [this] { loop_->Quit(); });
    loop_->Run();
  }
  EXPECT_EQ(effects_.looks, 1);
  EXPECT_THAT(reported(), ElementsAre("n1/GPUUnhealthy", "train/GPUUnhealthy"))
      << "the node has its event, and gets no second one";
}

TEST_F(HealthHandlerTest, WhoDidItIsReportedWhenItIsKnown) {
  const auto use = [](const char* id, const char* pod) {
    return pods::DeviceUse{.resource = "nvidia.com/gpu",
                           .device_id = TestGpu(0).str() + id,
                           .user = {.pod_namespace = "ml", .pod = pod, .pod_uid = pod}};
  };
  auto pods = std::make_shared<pods::PodMap>();
  pods->devices = {use("::0", "a"), use("::1", "b")};
  effects_.state.pods = pods;
  auto later = std::make_shared<pods::PodMap>(*pods);
  later->processes[7] = pods->devices[1].user;
  later_pods_ = later;
  HealthEvent health_event = TestXid(0, HealthEventKind::kSeen);
  health_event.fault_class = health::FaultClass::kApplication;
  health_event.action = health::Action::kRestartApp;
  health_event.is_unhealthy = false;
  health_event.pid = 7;
  handler_->OnHealthEvent(health_event);
  while (reported().size() < 3) {
    loop_->After(milliseconds(1), [this] { loop_->Quit(); });
    loop_->Run();
  }
  EXPECT_THAT(reported(),
              ElementsAre("a/GPUProgramError", "b/GPUProgramError", "b/GPUProgramError"));
}

TEST_F(HealthHandlerTest, TheNodeGetsOneEventForWhatBefellSeveralGpus) {
  for (const unsigned gpu : {0, 1, 2}) {
    handler_->OnHealthEvent(TestXid(gpu));
  }
  HealthEvent another = TestXid(1);
  another.rule = "Xid48";
  handler_->OnHealthEvent(another);
  History();
  EXPECT_THAT(reported(), ElementsAre("n1/GPUUnhealthy", "n1/GPUUnhealthy"));
  EXPECT_THAT(notes(),
              ElementsAre(HasSubstr("GPU 0 (GPU-00000000-0000-0000-0000-000000000000) and 2 "
                                    "others: Xid79: "),
                          HasSubstr("Xid48")));
}

TEST_F(HealthHandlerTest, LogLinesAreFewHoweverMuchHappens) {
  for (int i = 0; i < 100; ++i) {
    handler_->OnHealthEvent(TestXid(0, HealthEventKind::kSeen, i));
  }
  History();
  EXPECT_THAT(log_, SizeIs(5));
}

TEST_F(HealthHandlerTest, WhatProgramsDoHidesNoFaultFromTheLog) {
  for (int i = 0; i < 100; ++i) {
    handler_->OnHealthEvent(TestXid(0, HealthEventKind::kSeen, i));
  }
  handler_->OnHealthEvent(TestXid(0));
  History();
  EXPECT_THAT(log_, Contains(HasSubstr("GPU fault")));
}

TEST_F(HealthHandlerTest, LinesThatAreNotWrittenCostNoBudget) {
  SetLogLevel(LogLevel::kError);
  for (int i = 0; i < 100; ++i) {
    handler_->OnHealthEvent(TestXid(0, HealthEventKind::kCleared, i));
  }
  handler_->OnHealthEvent(TestXid(0));
  History();
  SetLogLevel(LogLevel::kInfo);
  EXPECT_THAT(log_, ElementsAre(HasSubstr("GPU fault")));
}

TEST_F(HealthHandlerTest, WhatIsMerelySeenMakesWayForTheRestAndIsCounted) {
  handler_->OnHealthEvent(TestXid(0));
  for (int i = 0; i < 1000; ++i) {
    handler_->OnHealthEvent(TestXid(0, HealthEventKind::kSeen, i));
  }
  EXPECT_THAT(History(), HasSubstr("raised  Xid79"));
  EXPECT_THAT(log_, Contains(AllOf(HasSubstr("health events dropped"), HasSubstr("count=745"))));
}

TEST_F(HealthHandlerTest, WaitingEventsAreBounded) {
  for (int i = 0; i < 100'000; ++i) {
    handler_->OnHealthEvent(TestXid(0, HealthEventKind::kSeen, i));
  }
  const std::string history = History();
  EXPECT_EQ(std::ranges::count(history, '\n'), 1 + 256);
}

TEST_F(HealthHandlerTest, ShowsWhatIsOpen) {
  health::OpenFault& fault = overview_.open.emplace_back();
  fault.scope.gpu = TestGpu(0);
  fault.rule = "RowRemapPending";
  const http::Response response = Ask("/v1/health", "output=table");
  EXPECT_EQ(response.code, 200);
  EXPECT_THAT(response.body, HasSubstr("RowRemapPending"));
  EXPECT_EQ(response.headers.Find(node::kExitCodeHeader), "0") << "the device may be handed out";
  EXPECT_EQ(Ask("/v1/health", "output=odd").code, 400);
  EXPECT_EQ(Ask("/v1/health", "", "POST").code, 405);
}

TEST_F(HealthHandlerTest, HistoryIsSelectedByTimeAndGpu) {
  handler_->OnHealthEvent(TestXid(0));
  handler_->OnHealthEvent(TestXid(1));
  EXPECT_THAT(History("output=table&gpu=0"), Not(HasSubstr(TestGpu(1).str())));
  EXPECT_THAT(History("output=table&gpu=" + TestGpu(1).str()), HasSubstr(TestGpu(1).str()));
  EXPECT_THAT(History("output=table&since=4000000000000"), HasSubstr("No health events"));
  EXPECT_EQ(Ask("/v1/health/history", "since=yesterday").code, 400);
  EXPECT_EQ(Ask("/v1/health/history", "gpu=7").code, 404);
}

class ImpatientHandlerTest : public HealthHandlerTest {
 protected:
  ImpatientHandlerTest() : HealthHandlerTest(milliseconds(1)) {}
};

TEST_F(ImpatientHandlerTest, HistoryIsNotWaitedForEver) {
  std::promise<void> gate;
  const auto hang = [&]() -> sys::DiskWorker::Done {
    gate.get_future().wait();
    return {};
  };
  ASSERT_TRUE(disk_->Post(hang, [](const Status&) {}));
  const http::Response response = Ask("/v1/health/history");
  EXPECT_EQ(response.code, 503);
  EXPECT_THAT(response.body, HasSubstr("the disk is slow"));
  gate.set_value();
  bool is_done = false;  // the disk, and with it what was read too late
  const auto last = [&]() -> sys::DiskWorker::Done {
    return [&] {
      is_done = true;
      loop_->Quit();
    };
  };
  ASSERT_TRUE(disk_->Post(last, [](const Status&) {}));
  loop_->Run();
  EXPECT_TRUE(is_done);
  EXPECT_EQ(answers_, 1);
}

TEST_F(HealthHandlerTest, ClearIsAnActionAndNamesTheGpu) {
  EXPECT_EQ(Ask("/v1/health/clear", "gpu=0").code, 405);
  const http::Response response = Ask("/v1/health/clear", "gpu=0000:07:00.0", "POST");
  EXPECT_EQ(response.code, 200) << response.body;
  EXPECT_THAT(cleared_, ElementsAre(TestGpu(0).str()));
  EXPECT_THAT(response.body, HasSubstr(TestGpu(0).str()));
  EXPECT_EQ(Ask("/v1/health/clear", "gpu=3", "POST").code, 404);
  EXPECT_EQ(Ask("/v1/health/clear", "", "POST").code, 400);
  clear_status_ = NotFound("no such GPU");
  EXPECT_EQ(Ask("/v1/health/clear", "gpu=0", "POST").code, 404);
}

TEST_F(HealthHandlerTest, AllThatHaveAFaultCanBeClearedAtOnce) {
  EXPECT_THAT(Ask("/v1/health/clear", "all=true", "POST").body, HasSubstr("no GPU has a fault"));
  for (const unsigned gpu : {0, 0, 5}) {
    health::OpenFault& fault = overview_.open.emplace_back();
    fault.scope.gpu = TestGpu(gpu);
    fault.rule = gpu == 5 ? "Xid79" : "Xid48";
  }
  const http::Response response = Ask("/v1/health/clear", "all=true", "POST");
  EXPECT_EQ(response.code, 200);
  EXPECT_THAT(cleared_, ElementsAre(TestGpu(0).str(), TestGpu(5).str()));
  EXPECT_THAT(response.body, AllOf(HasSubstr(TestGpu(0).str() + ": cleared: Xid48, Xid48"),
                                   HasSubstr(TestGpu(5).str() + ": cleared: Xid79")));
  EXPECT_EQ(Ask("/v1/health/clear", "all=true&gpu=0", "POST").code, 400);
}

TEST_F(HealthHandlerTest, WhatWouldBeClearedCanBeAskedFirst) {
  health::OpenFault& fault = overview_.open.emplace_back();
  fault.scope.gpu = TestGpu(0);
  fault.rule = "Xid48";
  EXPECT_THAT(Ask("/v1/health/clear", "gpu=0&dryRun=true", "POST").body,
              AllOf(HasSubstr("would be cleared: Xid48"), HasSubstr("nothing was changed")));
  const auto json =
      doc::Parse(Ask("/v1/health/clear", "gpu=0&dryRun=true&output=json", "POST").body,
                 doc::Format::kJson, "the answer");
  ASSERT_OK(json);
  EXPECT_EQ(doc::PrintLine(*json),
            fmt::format(R"({{"dryRun":true,"gpus":[{{"uuid":"{}","faults":["Xid48"]}}]}})",
                        TestGpu(0).str()));
  EXPECT_EQ(Ask("/v1/health/clear", "gpu=0&output=xml", "POST").code, 400);
  EXPECT_THAT(cleared_, IsEmpty());
}

TEST_F(HealthHandlerTest, OtherPathsAreOthersBusiness) {
  EXPECT_FALSE(handler_->Answer({.path = "/v1/status"}, [](const http::Response&) { FAIL(); }));
}

TEST_F(HealthHandlerTest, EventsOfTheLastMomentAreKept) {
  handler_->OnHealthEvent(TestXid(0));
  handler_.reset();
  disk_.reset();
  EXPECT_THAT(dir_.ReadFile("state/health.journal"), HasSubstr("Xid79"));
}

TEST_F(HealthHandlerTest, EventsAreKeptBeforeTheEndWhenThatIsWanted) {
  handler_->OnHealthEvent(TestXid(0));
  handler_->Flush();
  const auto last = [&]() -> sys::DiskWorker::Done { return [&] { loop_->Quit(); }; };
  ASSERT_TRUE(disk_->Post(last, [](const Status&) {}));
  loop_->Run();
  EXPECT_THAT(dir_.ReadFile("state/health.journal"), HasSubstr("Xid79"));
}

TEST(FindGpuTest, TakesUuidIndexAndPciAddress) {
  device::Snapshot snapshot;
  device::Gpu& gpu = snapshot.gpus.emplace_back();
  gpu.uuid = TestGpu(5);
  gpu.index = 3;
  gpu.pci = {.domain = 0, .bus = 7, .device = 0, .function = 0};
  for (const char* text : {"3", "0000:07:00.0", "GPU-00000000-0000-0000-0000-000000000005"}) {
    const auto found = FindGpu(snapshot, text);
    ASSERT_OK(found);
    EXPECT_EQ(*found, TestGpu(5));
  }
  EXPECT_OK(FindGpu(snapshot, TestGpu(9).str()));
  snapshot.gpus[0].mig_devices.emplace_back().index = 2;
  EXPECT_EQ(FindGpu(snapshot, "3:2").value(), snapshot.gpus[0].uuid);
  EXPECT_THAT(FindGpu(snapshot, "4"), StatusIs(StatusCode::kNotFound));
  EXPECT_THAT(FindGpu(snapshot, "all"), StatusIs(StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace kgpu::faults
