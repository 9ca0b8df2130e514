// The preparer on the stub API server, in simulated time, with files on a real disk.
#include "src/node/claims/preparer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <map>
#include <memory>
#include <optional>
#include <set>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/node/claims/test_claims.h"
#include "src/platform/base/log.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::claims {
namespace {

namespace json = boost::json;
using std::chrono::seconds;
using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Key;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

constexpr char kClaimsPath[] = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims";

class PreparerTest : public ::testing::Test {
 protected:
  PreparerTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    dir_.MakeDir("host/var/run/cdi");
    host_ = std::make_unique<sys::Root>(*sys::Root::Open(dir_.At("host")));
    Start();
  }
  void TearDown() override { SetLogSink({}); }

  // As after a kill: nothing of the earlier one ends.
  void Start(const std::string& boot = "b1") {
    preparer_.reset();
    preparer_ = std::make_unique<Preparer>(
        loop_, *host_, ClaimFilesOptions{.state_dir = dir_.At("state"), .boot_id = boot},
        pods::AtOnce(),
        PreparerHooks{.facts = [this]() -> StatusOr<PreparerFacts> {
                        if (!is_ready_) {
                          return Unavailable("not ready");
                        }
                        return PreparerFacts{.pool = "n1",
                                             .cards = claims_.cards,
                                             .resources = claims_.resources,
                                             .plan = claims_.plan,
                                             .places = {.slices = "/var/lib/kgpu/share"}};
                      },
                      .client = [this] { return has_cluster_ ? &client_ : nullptr; },
                      .held = [this](const dra::Checkpoint&) { return held_; },
                      .change_gpu = [this](const GpuTask& task,
                                           GpuDone done) { ChangeGpu(task, std::move(done)); },
                      .renew_slots =
                          [this](std::span<const std::string> ids) {
                            renewed_.insert(renewed_.end(), ids.begin(), ids.end());
                            return renew_status_;
                          },
                      .changed = [] {}});
    Settle();
  }
  // As the GPU does: places have MIG devices.
  void ChangeGpu(const GpuTask& task, GpuDone done) {
    tasks_.push_back(task.awaits_mps ? "mps"
                                     : fmt::format("{} {}@{}", static_cast<int>(task.step),
                                                   task.place.profile, task.place.start));
    const std::string place = fmt::format("{}@{}", task.place.profile, task.place.start);
    if (!mig_status_.ok()) {
      loop_.Post([this, done = std::move(done)] { done(mig_status_); });
      return;
    }
    without_mps_.push_back(task.without_mps);
    mig::MadeDevice made;
    if (task.step == mig::Step::kMake && !task.awaits_mps) {
      const std::string uuid = fmt::format("MIG-{}", place);
      made = {.uuid = made_.try_emplace(place, uuid).first->second, .gpu_instance = 7};
      claims_.AddPlanned(made.uuid);
    } else {
      made_.erase(place);
    }
    if (answers_) {
      loop_.Post([made, done = std::move(done)] { done(made); });
    }
  }
  void Settle(std::chrono::nanoseconds time = seconds(1)) {
    loop_.RunUntilIdle();
    loop_.Advance(time);
  }
  // A claim of the server, allocated to devices of this node. Returns its UID.
  std::string MakeClaim(const std::string& name, const std::vector<std::string>& devices,
                        const json::value& sharing = nullptr) {
    const json::value spec = {
        {"devices",
         {{"requests",
           json::array{{{"name", "r"}, {"exactly", {{"deviceClassName", "gpu.nvidia.com"}}}}}}}}};
    auto made = api_.Do("POST", kClaimsPath,
                        {{"apiVersion", "resource.k8s.io/v1"},
                         {"kind", "ResourceClaim"},
                         {"metadata", {{"name", name}, {"namespace", "default"}}},
                         {"spec", spec}});
    EXPECT_OK(made);
    json::value claim = made.value_or(json::object());
    json::array results;
    for (const std::string& device : devices) {
      results.push_back(
          {{"request", "r"}, {"driver", dra::kDriverName}, {"pool", "n1"}, {"device", device}});
    }
    json::object allocated = {{"results", results}};
    if (!sharing.is_null()) {
      allocated["config"] = json::array{
          {{"source", "FromClaim"},
           {"requests", json::array()},
           {"opaque",
            {{"driver", dra::kDriverName},
             {"parameters",
              {{"apiVersion", dra::kParametersVersion},
               {"kind",
                devices[0].find("-mig-") != std::string::npos ? "MigDeviceConfig" : "GpuConfig"},
               {"sharing", sharing}}}}}}};
    }
    claim.as_object()["status"] = {{"allocation", {{"devices", allocated}}}};
    EXPECT_OK(api_.Do("PUT", fmt::format("{}/{}/status", kClaimsPath, name), claim));
    return std::string(claim.at("metadata").at("uid").as_string());
  }
  void Delete(const std::string& name) {
    ASSERT_OK(api_.Do("DELETE", fmt::format("{}/{}", kClaimsPath, name), nullptr));
  }
  // "kgpu.dev/claim=…" of each device, or the error.
  std::string Prepare(const std::string& name, const std::string& uid) {
    std::optional<std::string> answer;
    BeginPrepare(name, uid, answer);
    Settle(seconds(30));
    return answer.value_or("no answer");
  }
  void BeginPrepare(const std::string& name, const std::string& uid,
                    std::optional<std::string>& answer) {
    preparer_->Prepare({.space = "default", .name = name, .uid = uid},
                       [&answer](StatusOr<std::vector<dra::PreparedDevice>> devices) {
                         answer = devices.ok() ? "" : std::string(Message(devices.status()));
                         for (const dra::PreparedDevice& device :
                              devices.ok() ? *devices : std::vector<dra::PreparedDevice>()) {
                           *answer += device.device + " ";
                         }
                       });
  }
  std::string Unprepare(const std::string& uid) {
    std::string answer = "no answer";
    preparer_->Unprepare({.space = "default", .name = "any", .uid = uid},
                         [&answer](const Status& status) { answer = Message(status); });
    Settle();
    return answer;
  }
  std::vector<std::string> Specs() const {
    return host_->ListDir("var/run/cdi").value_or(std::vector<std::string>());
  }

  FakeLoop loop_;
  TempDir dir_;
  std::unique_ptr<sys::Root> host_;
  Random random_{1};
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  TestClaims claims_;
  bool is_ready_ = true;
  bool has_cluster_ = true;
  std::map<std::string, std::string> made_;  // MIG devices by place
  std::vector<std::string> tasks_;
  std::vector<std::string> without_mps_;  // of the tasks
  Status mig_status_;
  StatusOr<std::vector<dra::PreparedClaim>> held_ = std::vector<dra::PreparedClaim>();
  bool answers_ = true;  // the helper; false: it works, and is killed then
  std::vector<std::string> renewed_;
  Status renew_status_;
  std::unique_ptr<Preparer> preparer_;
};

TEST_F(PreparerTest, PreparesAndGivesBack) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  EXPECT_THAT(Specs(), ElementsAre(SpecFileOf(uid)));
  EXPECT_THAT(preparer_->record().claims, SizeIs(1));
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ") << "the same each time";
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(Specs(), IsEmpty());
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
  EXPECT_EQ(Unprepare(uid), "") << "of a claim that is not prepared";
}

TEST_F(PreparerTest, TheStatusOfAClaimNamesItsDevices) {
  const std::string uid = MakeClaim("c", {"gpu-1"});
  EXPECT_EQ(Prepare("c", uid), "gpu-1 ");
  const auto claim = api_.Do("GET", fmt::format("{}/c", kClaimsPath), nullptr);
  ASSERT_OK(claim);
  const json::value& device = claim->at("status").at("devices").at(0);
  EXPECT_EQ(device.at("data").at("uuid"), json::value(pools::TestGpuName(1)));
  EXPECT_EQ(device.at("conditions").at(0).at("type"), json::value("Ready"));
  EXPECT_EQ(claim->at("status").at("allocation").at("devices").at("results").as_array().size(), 1U);
}

TEST_F(PreparerTest, WhatIsPreparedSurvivesARestart) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  const std::string other = MakeClaim("d", {"gpu-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  Start();
  has_cluster_ = false;
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ") << "without asking the API server";
  has_cluster_ = true;
  EXPECT_THAT(Prepare("d", other), HasSubstr("gpu-0 is prepared for claim default/c"));
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_EQ(Prepare("d", other), "gpu-0 ");
}

TEST_F(PreparerTest, ASpecThatIsGoneIsWrittenAgain) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  ASSERT_EQ(unlink(dir_.At("host/var/run/cdi/" + SpecFileOf(uid)).c_str()), 0);
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  EXPECT_THAT(Specs(), ElementsAre(SpecFileOf(uid)));
}

TEST_F(PreparerTest, AKillBetweenSpecAndRecordLeavesNothing) {
  dir_.WriteFile("host/var/run/cdi/" + SpecFileOf("u9"), "{}");
  dir_.WriteFile("host/var/run/cdi/kgpu-kgpu.dev-gpu.json", "{}");
  Start();
  EXPECT_THAT(Specs(), ElementsAre("kgpu-kgpu.dev-gpu.json"));
}

TEST_F(PreparerTest, ABootEndsAllClaims) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  Start("b2");
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
  EXPECT_THAT(Specs(), IsEmpty());
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
}

TEST_F(PreparerTest, ADamagedRecordIsSetAsideAndReported) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  const std::string text = dir_.ReadFile("state/claims.json");
  dir_.WriteFile("state/claims.json", text.substr(0, text.size() / 2));
  Start();
  EXPECT_THAT(preparer_->problem(), HasSubstr("claims.json"));
  EXPECT_THAT(Specs(), ElementsAre(SpecFileOf(uid))) << "containers may start again";
  EXPECT_EQ(dir_.ReadFile("state/claims.json.bad"), text.substr(0, text.size() / 2));
}

TEST_F(PreparerTest, AfterADamageNoDeviceOfAContainerIsGiven) {
  EXPECT_EQ(Prepare("c", MakeClaim("c", {"gpu-0"})), "gpu-0 ");
  dir_.WriteFile("state/claims.json", "{");
  Start();
  held_ = Unavailable("the kubelet has not answered");
  const std::string other = MakeClaim("d", {"gpu-0"});
  EXPECT_EQ(Prepare("d", other), "the kubelet has not answered");
  held_ = std::vector<dra::PreparedClaim>{
      {.space = "default",
       .name = "c",
       .devices = {{.device = "gpu-0", .device_uuid = pools::TestGpuName(0)}}}};
  EXPECT_THAT(Prepare("d", other), HasSubstr("gpu-0 is prepared for claim default/c"));
  EXPECT_EQ(Prepare("e", MakeClaim("e", {"gpu-1"})), "gpu-1 ");
  Start();
  EXPECT_THAT(Prepare("d", other), HasSubstr("gpu-0 is prepared for claim default/c"))
      << "also by a later process";
  held_ = std::vector<dra::PreparedClaim>();
  EXPECT_EQ(Prepare("d", other), "gpu-0 ");
  EXPECT_EQ(preparer_->problem(), "");
}

// NVIDIA's driver, say, which kgpu replaces while its pods run.
TEST_F(PreparerTest, DevicesThatAnotherDriverGaveStayTheirs) {
  held_ = std::vector<dra::PreparedClaim>{
      {.space = "ml",
       .name = "old",
       .devices = {{.device = "gpu-0", .device_uuid = pools::TestGpuName(0)}}}};
  const std::string uid = MakeClaim("c", {"gpu-0"});
  EXPECT_THAT(Prepare("c", uid), HasSubstr("gpu-0 is prepared for claim ml/old"));
  EXPECT_EQ(preparer_->problem(), "");
  EXPECT_EQ(Unprepare("uid-of-old"), "");
  held_ = std::vector<dra::PreparedClaim>();
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
}

TEST_F(PreparerTest, NothingIsPreparedForAClaimThatHasEnded) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  Delete("c");
  EXPECT_THAT(Prepare("c", uid), HasSubstr("read claim default/c"));
  const std::string later = MakeClaim("c", {"gpu-0"});
  EXPECT_THAT(Prepare("c", uid), HasSubstr("is another one by now"));
  EXPECT_EQ(Prepare("c", later), "gpu-0 ");
}

// The kubelet has given up the first call, and the answer of the API server comes late.
TEST_F(PreparerTest, ALatePrepareLosesAgainstAnUnprepare) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  std::optional<std::string> late;
  BeginPrepare("c", uid, late);
  std::string ended = "no answer";
  preparer_->Unprepare({.space = "default", .name = "c", .uid = uid},
                       [&](const Status& status) { ended = Message(status); });
  Settle(seconds(30));
  EXPECT_EQ(ended, "");
  EXPECT_EQ(late, "the claim was unprepared meanwhile");
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
}

TEST_F(PreparerTest, CallsOfOneClaimAtTheSameTimeHaveOneAnswer) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  std::optional<std::string> first;
  std::optional<std::string> second;
  BeginPrepare("c", uid, first);
  BeginPrepare("c", uid, second);
  Settle(seconds(30));
  EXPECT_EQ(first, "gpu-0 ");
  EXPECT_EQ(second, "gpu-0 ");
  EXPECT_THAT(preparer_->record().claims, SizeIs(1));
}

TEST_F(PreparerTest, SlotsAreRenewedForANewClaimAlone) {
  claims_.Configure("serve: {by: dra}\npools: [{share: {by: memory, size: 20Gi}}]\n");
  const std::string uid = MakeClaim("c", {"gpu-0-20gi"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0-20gi ");
  EXPECT_THAT(renewed_, ElementsAre(pools::TestGpuName(0) + "::0"));
  EXPECT_EQ(Prepare("c", uid), "gpu-0-20gi ");
  EXPECT_THAT(renewed_, SizeIs(1)) << "its containers use it";
  renew_status_ = ResourceExhausted("disk full");
  EXPECT_EQ(Prepare("d", MakeClaim("d", {"gpu-0-20gi"})), "disk full");
  EXPECT_THAT(preparer_->record().claims, SizeIs(1));
}

TEST_F(PreparerTest, SaysWhyNothingCanBePreparedNow) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  has_cluster_ = false;
  EXPECT_THAT(Prepare("c", uid), HasSubstr("API server"));
  has_cluster_ = true;
  is_ready_ = false;
  EXPECT_EQ(Prepare("c", uid), "not ready");
  EXPECT_THAT(Prepare("c", "../../etc/passwd"), HasSubstr("UID ../../etc/passwd of the claim"));
  EXPECT_THAT(Prepare("c", ""), HasSubstr("UID"));
  is_ready_ = true;
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
}

// A disk that is full, or cannot be written.
TEST_F(PreparerTest, WhatCannotBeRecordedIsNotGiven) {
  const std::string uid = MakeClaim("c", {"gpu-0"});
  dir_.WriteFile("state", "a file in the place of the folder");
  EXPECT_THAT(Prepare("c", uid), HasSubstr("Not a directory"));
  EXPECT_THAT(Specs(), IsEmpty());
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
}

TEST_F(PreparerTest, AMigDeviceLivesAsLongAsItsClaim) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4", "gpu-0-mig-1g10gb-19-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 gpu-0-mig-1g10gb-19-0 ");
  EXPECT_THAT(made_, UnorderedElementsAre(Key("3g.40gb@4"), Key("1g.10gb@0")));
  EXPECT_THAT(dir_.ReadFile("host/var/run/cdi/" + SpecFileOf(uid)),
              HasSubstr("/dev/nvidia-caps/nvidia-cap1"));
  Start();
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 gpu-0-mig-1g10gb-19-0 ");
  EXPECT_THAT(tasks_, SizeIs(2)) << "the same devices";
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(made_, IsEmpty());
  EXPECT_THAT(Specs(), IsEmpty());
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
}

TEST_F(PreparerTest, AKillWhileADeviceIsMadeLosesAndDoublesNothing) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4", "gpu-0-mig-1g10gb-19-0"});
  answers_ = false;
  EXPECT_EQ(Prepare("c", uid), "no answer");
  EXPECT_THAT(made_, SizeIs(1));
  Start();
  EXPECT_THAT(Prepare("d", MakeClaim("d", {"gpu-0"})), HasSubstr("prepared for claim default/c"));
  answers_ = true;
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 gpu-0-mig-1g10gb-19-0 ");
  EXPECT_THAT(made_, SizeIs(2));
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(made_, IsEmpty());
}

// The pod was deleted meanwhile: the kubelet only gives the claim back.
TEST_F(PreparerTest, WhatAKilledProcessMadeIsRemovedWithTheClaim) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4"});
  answers_ = false;
  EXPECT_EQ(Prepare("c", uid), "no answer");
  Start();
  answers_ = true;
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(made_, IsEmpty());
  EXPECT_EQ(Prepare("d", MakeClaim("d", {"gpu-0"})), "gpu-0 ");
}

TEST_F(PreparerTest, AKillWhileADeviceIsRemovedIsFinished) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4", "gpu-0-mig-1g10gb-19-0"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 gpu-0-mig-1g10gb-19-0 ");
  answers_ = false;
  EXPECT_EQ(Unprepare(uid), "no answer");
  EXPECT_THAT(Specs(), IsEmpty()) << "no container may start";
  Start();
  answers_ = true;
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(made_, IsEmpty());
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
}

TEST_F(PreparerTest, ADeviceThatCannotBeMadeFailsItsClaimAlone) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4"});
  mig_status_ = FailedPrecondition("the driver says no");
  EXPECT_EQ(Prepare("c", uid), "the driver says no");
  mig_status_ = OkStatus();
  EXPECT_EQ(Prepare("d", MakeClaim("d", {"gpu-1"})), "gpu-1 ");
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_EQ(Prepare("e", MakeClaim("e", {"gpu-0"})), "gpu-0 ");
}

TEST_F(PreparerTest, ADeviceThatIsStillUsedKeepsItsClaim) {
  claims_.Divide();
  const std::string uid = MakeClaim("c", {"gpu-0-mig-3g40gb-9-4"});
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 ");
  mig_status_ = FailedPrecondition("in use by process 4711");
  EXPECT_EQ(Unprepare(uid), "in use by process 4711");
  EXPECT_THAT(preparer_->record().claims, SizeIs(1));
  mig_status_ = OkStatus();
  EXPECT_THAT(Prepare("d", MakeClaim("d", {"gpu-0"})), HasSubstr("prepared for claim default/c"));
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(made_, IsEmpty());
}

TEST_F(PreparerTest, AMigDeviceOfNoClaimGoesAsAtTheEndOfOne) {
  claims_.Divide();
  made_["3g.40gb@4"] = "MIG-1";
  dra::PreparedDevice device{.device = "gpu-0-mig-3g40gb-9-4",
                             .device_uuid = "MIG-1",
                             .made = dra::MadeInstance{.gpu = claims_.snapshot->gpus[0].uuid.str(),
                                                       .profile = "3g.40gb",
                                                       .start = 4,
                                                       .gpu_instance = 2}};
  Status status;
  const auto remove = [&] {
    preparer_->RemoveUnclaimed(device, [&status](const Status& ended) { status = ended; });
    Settle();
  };
  mig_status_ = FailedPrecondition("in use by process 4711");
  remove();
  EXPECT_EQ(Message(status), "in use by process 4711");
  EXPECT_THAT(Prepare("c", MakeClaim("c", {"gpu-0"})), HasSubstr("is being removed: try again"));
  mig_status_ = OkStatus();
  Start();
  EXPECT_THAT(preparer_->record().claims, UnorderedElementsAre(Key("MIG-1")));
  remove();
  EXPECT_OK(status);
  EXPECT_THAT(made_, IsEmpty());
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
  const std::string uid = MakeClaim("d", {"gpu-0-mig-3g40gb-9-4"});
  EXPECT_EQ(Prepare("d", uid), "gpu-0-mig-3g40gb-9-4 ");
  device.device_uuid = made_.at("3g.40gb@4");
  remove();
  EXPECT_EQ(Message(status), "claim default/d has it");
}

TEST_F(PreparerTest, AWholeGpuLeavesMigMode) {
  claims_.snapshot->gpus[0].mig_mode =
      device::MigMode{.is_enabled = true, .is_pending_enabled = true};
  claims_.Divide();
  EXPECT_EQ(Prepare("c", MakeClaim("c", {"gpu-0"})), "gpu-0 ");
  EXPECT_EQ(Prepare("d", MakeClaim("d", {"gpu-1"})), "gpu-1 ");
  EXPECT_THAT(tasks_, ElementsAre(fmt::format("{} @0", static_cast<int>(mig::Step::kEmpty))));
}

// NVIDIA's examples have these parameters.
TEST_F(PreparerTest, AClaimHasMpsOfItsOwn) {
  const std::string uid =
      MakeClaim("c", {"gpu-0"}, json::parse(R"({"strategy": "MPS", "mpsConfig": {
                    "defaultActiveThreadPercentage": 50, "defaultPinnedDeviceMemoryLimit": "10Gi"}})"));
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  EXPECT_THAT(tasks_, ElementsAre("mps"));
  const std::string spec = dir_.ReadFile("host/var/run/cdi/" + SpecFileOf(uid));
  EXPECT_THAT(spec, HasSubstr("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=50"));
  EXPECT_THAT(spec, HasSubstr("CUDA_MPS_PINNED_DEVICE_MEM_LIMIT=0=10240M"));
  EXPECT_THAT(spec, HasSubstr(pools::TestGpuName(0) + "/pipe"));
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(tasks_, SizeIs(1));
}

TEST_F(PreparerTest, AMadeDeviceLosesItsMpsFirst) {
  claims_.Divide();
  const std::string uid =
      MakeClaim("c", {"gpu-0-mig-3g40gb-9-4"}, json::parse(R"({"strategy": "MPS"})"));
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 ");
  EXPECT_THAT(tasks_, ElementsAre(_, "mps")) << "made before";
  EXPECT_FALSE(preparer_->IsEnding(uid));
  mig_status_ = Unavailable("its MPS daemon still runs");
  EXPECT_EQ(Unprepare(uid), "its MPS daemon still runs");
  EXPECT_TRUE(preparer_->IsEnding(uid));
  mig_status_ = OkStatus();
  EXPECT_EQ(Prepare("c", uid), "gpu-0-mig-3g40gb-9-4 ") << "another pod has it after all";
  EXPECT_FALSE(preparer_->IsEnding(uid)) << "with its daemon";
  without_mps_.clear();
  EXPECT_EQ(Unprepare(uid), "");
  EXPECT_THAT(without_mps_, ElementsAre("MIG-3g.40gb@4"));
  EXPECT_FALSE(preparer_->IsEnding(uid));
}

TEST_F(PreparerTest, ATimeSliceEndsWithItsClaim) {
  const std::string uid = MakeClaim(
      "c", {"gpu-0"},
      json::parse(R"({"strategy": "TimeSlicing", "timeSlicingConfig": {"interval": "Long"}})"));
  mig_status_ = FailedPrecondition("nvidia-smi: not found");
  EXPECT_EQ(Prepare("c", uid), "nvidia-smi: not found");
  mig_status_ = OkStatus();
  EXPECT_EQ(Prepare("c", uid), "gpu-0 ");
  const std::string time = fmt::format("{} @0", static_cast<int>(mig::Step::kTimeSlice));
  EXPECT_THAT(tasks_, ElementsAre(time, time));
  mig_status_ = FailedPrecondition("nvidia-smi: not found");
  EXPECT_EQ(Unprepare(uid), "") << "it harms nobody";
  EXPECT_THAT(tasks_, ElementsAre(time, time, time)) << "the default again";
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
}

// As a hundred pods that come and go at the same time.
TEST_F(PreparerTest, ManyClaimsLeaveNothing) {
  constexpr int kClaims = 100;
  claims_.Configure("serve: {by: dra}\npools: [{share: {by: time, replicas: 60}}]\n");
  std::vector<std::string> uids;
  std::vector<std::optional<std::string>> answers(kClaims);
  for (int i = 0; i < kClaims; ++i) {
    const std::string name = fmt::format("c{}", i);
    uids.push_back(MakeClaim(name, {fmt::format("gpu-{}", i % 2)}));
    BeginPrepare(name, uids.back(), answers[static_cast<size_t>(i)]);
    if (i % 3 == 0) {  // its pod is deleted at once
      preparer_->Unprepare({.space = "default", .name = name, .uid = uids.back()},
                           [](const Status& status) { EXPECT_OK(status); });
    }
  }
  Settle(seconds(30));
  std::set<std::string> slots;
  for (const auto& [uid, claim] : preparer_->record().claims) {
    for (const std::string& slot : claim.devices.at(0).slots) {
      EXPECT_TRUE(slots.insert(slot).second) << slot << " was given twice";
    }
  }
  for (const std::string& uid : uids) {
    EXPECT_EQ(Unprepare(uid), "");
  }
  EXPECT_THAT(preparer_->record().claims, IsEmpty());
  EXPECT_THAT(Specs(), IsEmpty());
}

TEST_F(PreparerTest, AnApiServerThatIsAwayDelaysNewClaimsAlone) {
  const std::string known = MakeClaim("c", {"gpu-0"});
  const std::string fresh = MakeClaim("d", {"gpu-1"});
  EXPECT_EQ(Prepare("c", known), "gpu-0 ");
  api_.faults().Add({.kind = apiserver::FaultKind::kAway});
  EXPECT_THAT(Prepare("d", fresh), HasSubstr("read claim default/d"));
  EXPECT_EQ(Prepare("c", known), "gpu-0 ") << "a container of it starts again";
  EXPECT_EQ(Unprepare(known), "");
  api_.faults().Clear();
  EXPECT_EQ(Prepare("d", fresh), "gpu-1 ");
}

}  // namespace
}  // namespace kgpu::claims
