// The agent's parts through years of simulated time.
//   KGPU_SOAK_SEED=N   the same actions as that run had; "random" for new ones
//   KGPU_SOAK_DAYS=N   how long
// docs/how-it-works/testing.md says what it checks.
#include <gtest/gtest.h>

#include <malloc.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "src/platform/base/log.h"
#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "tests/soak/days_agent.h"
#include "tests/soak/days_plan.h"
#include "tests/soak/lists.h"

namespace kgpu::soak {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr uint32_t kDaysSeed = 20'261'102;
constexpr uint64_t kUsualDays = 10;
constexpr minutes kStep{10};
constexpr minutes kRound{1};
// Hold-down, the pauses between checks, and the grace of vanished devices, all together.
constexpr minutes kCalmAfter{40};
constexpr size_t kMostTimers = 40;
// Of the retention, and of days that the clock claimed by mistake.
constexpr uint64_t kLongRun = 400;

class DaysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SetLogSink([](LogLevel, std::string_view) {});
  }
  void TearDown() override {
    agent_.reset();
    SetLogSink({});
  }

  std::string Run(uint64_t days) {
    Configure();
    agent_ = std::make_unique<DayAgent>(world_);
    for (uint64_t day = 0; day < days; ++day) {
      for (auto time = minutes(0); time < hours(24); time += kStep) {
        const Action action = plan_->Next();
        if (!action.verb.empty()) {
          story_->Add(action.text());
          ++done_[action.verb];
          Do(action);
        }
        if (std::string problem = Check(); !problem.empty() || HasFailure()) {
          return fmt::format("day {}: {}", day, problem);
        }
        Pass();
      }
      memory_.push_back(mallinfo2().uordblks);
      if (std::string problem = CheckHistory(); !problem.empty()) {
        return problem;
      }
    }
    return Growth(days);
  }

  void Pass(minutes length = kStep) {
    for (auto time = minutes(0); time < length; time += kRound) {
      for (unsigned gpu = 0; gpu < DayGpus::kCount; ++gpu) {
        world_.gpus.at(gpu).busy = moments_.Below(100);
      }
      world_.loop.Advance(kRound);
      agent_->OnRound();
    }
    agent_->Drain();
  }

  void Configure() {
    const auto config = config::ParseNodeConfig(
        fmt::format(
            "apiVersion: kgpu.dev/v1\nkind: NodeConfig\nhealth: {{kernelLog: false}}\n"
            "pools:\n- {{devices: {{index: 3}}, mig: mixed, resource: nvidia.com/divided}}\n{}",
            plan_->layout().text),
        "n.yaml");
    ASSERT_TRUE(config.ok()) << Message(config.status());
    world_.config = std::make_shared<const config::NodeConfig>(*config);
  }

  void Do(const Action& action);
  void DoFault(const Action& action);
  void Report(unsigned gpu, uint64_t xid, int times);
  void Kill();
  std::set<std::string> OpenFaults() const;
  void Repair();
  void Lend(const std::string& holder);
  std::string Check();
  std::string CheckLists() const;
  std::string CheckPodsKeepTheirs() const;
  std::string CheckReports();
  std::string CheckCalm();
  std::string CheckBounds() const;
  std::string CheckHistory() const;
  std::string Growth(uint64_t days) const;
  SteadyTime Now() const { return world_.loop.clock().Now(); }

  std::optional<Story> story_;
  std::optional<DayPlan> plan_;
  Dice moments_{1};
  DayWorld world_;
  std::unique_ptr<DayAgent> agent_;
  Holders holders_;
  std::map<std::string, std::string> loans_;  // ids by holder
  std::map<std::string, size_t> done_;
  std::set<unsigned> faulty_;   // GPUs that must be unhealthy now
  SteadyTime troubled_{};       // when something was last wrong or changed
  std::vector<size_t> memory_;  // bytes in use, each day
  size_t refused_ = 0;
  size_t calm_ = 0;
  size_t reports_ = 0;
  size_t cleared_by_hand_ = 0;
};

void DaysTest::Lend(const std::string& holder) {
  const bool is_slice = plan_->layout().name == "local-slices";
  const http::Response response =
      agent_->Ask("POST", "/v1/loans",
                  fmt::format(R"({{"holder": "{}", "count": 1{}}})", holder,
                              is_slice ? R"(, "memory": 10737418240)" : ""));
  const auto answer = doc::Parse(response.body, doc::Format::kJson, "loan");
  if (response.code < 300 && answer.ok()) {
    loans_[holder] = FieldOf(*answer, "id");
  } else {
    ++refused_;
  }
}

void DaysTest::Do(const Action& action) {
  const std::string& verb = action.verb;
  if (verb == "pod") {
    refused_ += world_.kubelet.Start(action.arguments[0], action.arguments[1],
                                     std::stoul(action.arguments[2]))
                    ? 0
                    : 1;
  } else if (verb == "end") {
    world_.kubelet.End(action.arguments[0]);
  } else if (verb == "lend") {
    Lend(action.arguments[0]);
  } else if (verb == "return") {
    if (loans_.contains(action.arguments[0])) {
      EXPECT_EQ(agent_->Ask("DELETE", "/v1/loans/" + loans_[action.arguments[0]]).code, 204);
      loans_.erase(action.arguments[0]);
    }
  } else if (verb == "config") {
    Configure();
    agent_->OnConfig();
    troubled_ = Now();
  } else if (verb == "divide") {
    const auto held = world_.kubelet.Held();
    if (std::ranges::none_of(held, [](const auto& pod) {
          return std::ranges::any_of(pod.second,
                                     [](const Unit& unit) { return unit.kind == "MIG"; });
        })) {
      world_.gpus.Divide(std::stoul(action.arguments[0]));
      agent_->OnGpus();
      troubled_ = Now();
    }
  } else if (verb == "repair") {
    Repair();
  } else {
    DoFault(action);
    troubled_ = Now();
  }
}

// Several times: more often than a device may fail.
void DaysTest::Report(unsigned gpu, uint64_t xid, int times) {
  for (int i = 0; i < times && world_.gpus.is_driver_up && world_.gpus.at(gpu).is_there; ++i) {
    agent_->OnXid(gpu, xid);
    if (times > 1) {
      Pass(minutes(3));
    } else if (xid != 31) {
      faulty_.insert(gpu);
    }
  }
}

void DaysTest::DoFault(const Action& action) {
  const std::string& verb = action.verb;
  const unsigned gpu =
      action.arguments.empty() ? 0 : static_cast<unsigned>(std::stoul(action.arguments[0]) % 4);
  if (verb == "xid" || verb == "flap") {
    Report(gpu, verb == "xid" ? std::stoul(action.arguments[1]) : 48, verb == "xid" ? 1 : 5);
  } else if (verb == "remove") {
    world_.gpus.at(gpu).is_there = false;
    agent_->OnGpus();
  } else if (verb == "lose") {
    world_.gpus.at(gpu).answers = false;
    agent_->OnGpus();
  } else if (verb == "rows") {
    world_.gpus.at(gpu).has_failed_rows = true;
  } else if (verb == "driver-down") {
    world_.gpus.is_driver_up = false;
    agent_->OnGpus();
  } else if (verb == "kubelet-down") {
    world_.kubelet.is_up = false;
  } else if (verb == "reboot-kubelet") {
    world_.kubelet.is_up = true;
    world_.kubelet.SetList({});
    agent_->OnKubelet();
  } else if (verb == "disk-full") {
    world_.usage_disk.is_full = true;
  } else if (verb == "jump") {
    world_.loop.JumpWall(minutes(std::stol(action.arguments[0])));
  } else {
    EXPECT_EQ(verb, "kill");
    Kill();
  }
}

// The next agent knows of every fault, and of no other.
void DaysTest::Kill() {
  const std::set<std::string> before = OpenFaults();
  agent_.reset();
  agent_ = std::make_unique<DayAgent>(world_);
  EXPECT_EQ(OpenFaults(), before);
}

std::set<std::string> DaysTest::OpenFaults() const {
  std::set<std::string> faults;
  for (const health::OpenFault& fault : agent_->health().open) {
    if (fault.is_unhealthy) {
      faults.insert(fmt::format("{} of {}{}", fault.rule, fault.scope.gpu.str(),
                                fault.is_held ? ", held" : ""));
    }
  }
  return faults;
}

void DaysTest::Repair() {
  for (unsigned gpu = 0; gpu < DayGpus::kCount; ++gpu) {
    DayGpus::Gpu& state = world_.gpus.at(gpu);
    state.is_there = state.answers = true;
    state.has_failed_rows = false;
  }
  const bool was_up = world_.kubelet.is_up && world_.gpus.is_driver_up;
  world_.gpus.is_driver_up = true;
  world_.kubelet.is_up = true;
  world_.usage_disk.is_full = false;
  agent_->OnGpus();
  agent_->OnKubelet();
  if (!was_up) {
    troubled_ = Now();
  }
}

// Within a list, and over all of them, an id stands once.
std::string DaysTest::CheckLists() const {
  std::set<std::string> ids;
  for (const auto* lists : {&agent_->shown().resources, &agent_->shown().local}) {
    for (const pools::Resource& resource : *lists) {
      for (const pools::Slot& slot : resource.slots) {
        if (!ids.insert(slot.id).second) {
          return fmt::format("{} is listed twice, the second time for {}", slot.id, resource.name);
        }
      }
    }
  }
  return "";
}

// A device that a pod holds is shown to the kubelet as what it holds, or not at all; of a local
// pool, it is not lent.
std::string DaysTest::CheckPodsKeepTheirs() const {
  std::map<std::string, std::set<std::string>> listed;  // "resource id" by device
  for (const pools::Resource& resource : agent_->shown().resources) {
    for (const pools::Slot& slot : resource.slots) {
      listed[slot.device_uuid].insert(resource.name + " " + slot.id);
    }
  }
  for (const auto& [name, pod] : world_.kubelet.pods()) {
    for (const std::string& slot : pod.slots) {
      const auto found = listed.find(slot.substr(0, slot.find("::")));
      if (found != listed.end() && !found->second.contains(pod.resource + " " + slot)) {
        return fmt::format("{} holds {} of {}, which is shown as {}", name, slot, pod.resource,
                           *found->second.begin());
      }
    }
  }
  return "";
}

// A device that has just failed is unhealthy at once.
std::string DaysTest::CheckReports() {
  for (const unsigned gpu : faulty_) {
    for (const pools::Resource& resource : agent_->shown().resources) {
      for (const pools::Slot& slot : resource.slots) {
        if (slot.gpu == DayGpus::UuidOf(gpu) && slot.health.is_healthy) {
          return fmt::format("GPU {} has failed, and {} is healthy", gpu, slot.id);
        }
      }
    }
    ++reports_;
  }
  faulty_.clear();
  return "";
}

std::string DaysTest::CheckCalm() {
  bool is_faulty = !world_.gpus.is_driver_up || !world_.kubelet.is_up;
  for (unsigned gpu = 0; gpu < DayGpus::kCount; ++gpu) {
    const DayGpus::Gpu& state = world_.gpus.at(gpu);
    is_faulty = is_faulty || !state.is_there || !state.answers || state.has_failed_rows;
  }
  if (is_faulty) {
    troubled_ = Now();
  }
  if (Now() - troubled_ < kCalmAfter) {
    return "";
  }
  for (const health::OpenFault& fault : agent_->health().open) {
    if (fault.is_held) {  // it failed too often: an admin looks at it
      ++cleared_by_hand_;
      agent_->Clear(fault.scope.gpu);
    } else if (fault.is_unhealthy) {
      return fmt::format("{} still has {}", fault.scope.gpu.str(), fault.rule);
    }
  }
  ++calm_;
  return world_.kubelet.Count(false) == 0
             ? ""
             : fmt::format("{} devices stay unhealthy", world_.kubelet.Count(false));
}

std::string DaysTest::CheckHistory() const {
  for (unsigned gpu = 0; gpu < DayGpus::kCount; ++gpu) {
    const auto history = agent_->history().Of(DayGpus::UuidOf(gpu));
    if (ListAt(history, "utilization").size() > live::History::kPoints) {
      return "the history is longer than an hour";
    }
  }
  return "";
}

std::string DaysTest::CheckBounds() const {
  if (world_.loop.timers() > kMostTimers) {
    return fmt::format("{} timers are armed", world_.loop.timers());
  }
  std::set<std::string> lent;
  for (const loans::Loan& loan : agent_->loans().loans()) {
    lent.insert(loan.id);
  }
  std::set<std::string> given;
  for (const auto& [holder, id] : loans_) {
    given.insert(id);
  }
  return lent == given
             ? ""
             : fmt::format("{} loans were given, {} are known", given.size(), lent.size());
}

std::string DaysTest::Check() {
  std::map<std::string, Units> held = world_.kubelet.Held();
  for (const loans::Loan& loan : agent_->loans().loans()) {
    Units& units = held["loan " + loan.id];
    for (const slices::SliceSlot& slice : loan.slices) {
      units.insert({.gpu = slice.device_uuid, .kind = "lent slices", .part = slice.id});
    }
    for (const device::GpuUuid& gpu : loan.gpus) {
      if (loan.slices.empty()) {
        units.insert({.gpu = gpu.str()});
      }
    }
  }
  for (std::string problem : {holders_.Check(std::move(held)), CheckLists(), CheckPodsKeepTheirs(),
                              CheckReports(), CheckCalm(), CheckBounds()}) {
    if (!problem.empty()) {
      return problem;
    }
  }
  return "";
}

// A day has its own ups and downs, of some 40 KiB: the least of many counts.
std::string DaysTest::Growth(uint64_t days) const {
  if (days < kLongRun) {
    return "";
  }
  const size_t window = days / 5;
  const auto least = [&](size_t from) {
    return *std::min_element(memory_.begin() + static_cast<std::ptrdiff_t>(from),
                             memory_.begin() + static_cast<std::ptrdiff_t>(from + window));
  };
  const size_t first = least(days / 10);
  const size_t last = least(days - window);
  constexpr size_t kNoise = size_t{32} << 10;
  return last <= first + std::max(first / 20, kNoise)
             ? ""
             : fmt::format("memory grew from {} KiB after {} days to {} KiB", first / 1024,
                           days / 10, last / 1024);
}

TEST_F(DaysTest, NobodyLosesADeviceAndNothingGrows) {
  const uint32_t seed = SeedOf(kDaysSeed);
  const uint64_t days = NumberOf("KGPU_SOAK_DAYS", kUsualDays);
  story_.emplace("soak_days_test", seed);
  plan_.emplace(seed);
  moments_ = Dice(seed + 1);
  fmt::print("soak: seed {}\n", seed);
  (void)std::fflush(stdout);
  const std::string problem = Run(days);
  fmt::print(
      "soak: seed {}, {} days, {} actions, {} holders, {} refusals, {} reports; faults: {} "
      "raised, {} cleared, {} held, {} cleared by hand; {} calm moments\n",
      seed, memory_.size(), story_->steps(), holders_.seen(), refused_, reports_,
      world_.health.raised, world_.health.cleared, world_.health.held, cleared_by_hand_, calm_);
  for (const auto& [verb, count] : done_) {
    fmt::print("  {} {}", verb, count);
  }
  if (!memory_.empty()) {
    fmt::print("\nKiB in use, the least of each tenth:");
    for (size_t tenth = 0; tenth < 10; ++tenth) {
      const auto from = memory_.begin() + static_cast<std::ptrdiff_t>(memory_.size() * tenth / 10);
      const auto to =
          memory_.begin() + static_cast<std::ptrdiff_t>(memory_.size() * (tenth + 1) / 10);
      fmt::print(" {}", from == to ? 0 : *std::min_element(from, to) / 1024);
    }
    fmt::print("\n");
  }
  if (!problem.empty() || HasFailure()) {
    FAIL() << story_->Failure(problem);
  }
}

}  // namespace
}  // namespace kgpu::soak
