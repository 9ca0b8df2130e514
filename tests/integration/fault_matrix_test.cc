// Every fault that a simulated host knows, on one GPU and on all, before the start of the agent and
// under it, alone and in pairs: the agent lives, what it shows is true, and after the hold-down it
// rests. All machines of a table go through each phase side by side.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "tests/integration/agent_node.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Two A100 with NVLinks between them, and a driver that has all there is to be asked.
constexpr const char* kTwoGpus = R"(name: two
description: "two A100"
driver: {version: 570.124.06, cuda_major: 12, cuda_minor: 8}
kernel: 5.15.0-94-generic
numa_cpus: ["0-31", "32-63"]
nvlink: direct
gpus:
  - {model: A100-SXM4-80GB, pci: "0000:25:00.0", numa: 0}
  - {model: A100-SXM4-80GB, pci: "0000:2b:00.0", numa: 1}
)";

// What is over soon, measured often, and counted at once.
constexpr const char* kQuickHealth =
    "every: 1s, rules: {ThermalSlowdown: {lasts: 1s}, PowerBrake: {lasts: 1s}, "
    "PcieDowngrade: {lasts: 1s}, FabricNotReady: {lasts: 1s}, FabricDegraded: {lasts: 1s}}";

// Over which CPU time is measured. It must be real time: what is looked for is an agent that does
// something when there is nothing to do.
constexpr milliseconds kWindow{1500};
// An agent that never rests needs some 60 % of a core, and no window of it is quiet.
constexpr int kWindows = 4;
constexpr seconds kPatience{25};
constexpr milliseconds kMostCpu{90};
constexpr int kMostTimesRest = 5;

using Command = std::vector<std::string>;

enum class Reach : uint8_t {
  kGpu,   // the commands are about "GPU", and so is what is shown
  kHost,  // the commands are about the host, and so is what is shown
};

struct FaultCase {
  std::string name;
  std::vector<Command> commands = {};  // kgpu-sim verbs; "GPU" stands for the index
  bool is_unhealthy = false;           // while it lasts, after the hold-down
  std::string rule = {};               // that an agent which sees it come tells of; empty: none
  Reach reach = Reach::kGpu;
  std::vector<Command> undo = {};  // what `heal` does not do
  // As is_unhealthy, for an agent that starts later: what only an event tells is not known to it.
  bool is_unhealthy_later = is_unhealthy;
  std::string profile = {};  // empty: kTwoGpus
  size_t gpus = 2;
};

std::vector<FaultCase> Signs() {
  return {
      {.name = "nothing"},
      {.name = "xid 79", .commands = {{"xid", "GPU", "79"}}, .rule = "Xid79"},
      {.name = "xid 48", .commands = {{"xid", "GPU", "48"}}, .rule = "Xid48"},
      {.name = "xid of a program", .commands = {{"xid", "GPU", "13"}}, .rule = "Xid13"},
      {.name = "xid nobody knows", .commands = {{"xid", "GPU", "999"}}, .rule = "Xid999"},
      {.name = "xid of the kernel",
       .commands = {{"xid", "GPU", "48", "--only", "kernel-log"}},
       .rule = "Xid48"},
      {.name = "xid of the driver",
       .commands = {{"xid", "GPU", "48", "--only", "driver"}},
       .rule = "Xid48"},
      {.name = "xid storm", .commands = {{"xid", "GPU", "31", "--times", "1000"}}, .rule = "Xid31"},
      {.name = "ecc single", .commands = {{"ecc", "GPU", "--single", "5"}}},
      {.name = "ecc double",
       .commands = {{"ecc", "GPU", "--double", "2"}},
       .is_unhealthy = true,
       .rule = "EccDoubleBit",
       .is_unhealthy_later = false},
      {.name = "busy", .commands = {{"util", "GPU", "--gpu", "100", "--memory", "100"}}},
      {.name = "hot", .commands = {{"temp", "GPU", "93"}}, .rule = "ThermalSlowdown"},
      {.name = "too hot",
       .commands = {{"temp", "GPU", "99"}},
       .is_unhealthy = true,
       .rule = "GpuLost"},
      {.name = "power brake",
       .commands = {{"throttle", "GPU", "power-brake"}},
       .rule = "PowerBrake"},
      {.name = "link down", .commands = {{"nvlink", "GPU", "0", "--down"}}, .rule = "NvLinkDown"},
      {.name = "link errors", .commands = {{"nvlink", "GPU", "1", "--errors", "100000"}}},
      {.name = "narrow bus",
       .commands = {{"set", "GPU", "pcie-width", "1"}},
       .undo = {{"set", "GPU", "pcie-width", "16"}}},
      {.name = "row pending",
       .commands = {{"set", "GPU", "remap-pending", "1"}},
       .rule = "RowRemapPending"},
      {.name = "row failed",
       .commands = {{"set", "GPU", "remap-failed", "1"}},
       .is_unhealthy = true,
       .rule = "RowRemapFailed",
       .undo = {{"set", "GPU", "remap-failed", "0"}}},
      {.name = "sram",
       .commands = {{"set", "GPU", "sram-threshold", "1"}},
       .is_unhealthy = true,
       .rule = "SramThreshold",
       .undo = {{"set", "GPU", "sram-threshold", "0"}}},
      {.name = "reset wanted",
       .commands = {{"set", "GPU", "recovery-action", "1"}},
       .is_unhealthy = true,
       .rule = "RecoveryReset"},
      {.name = "drain wanted",
       .commands = {{"set", "GPU", "recovery-action", "4"}},
       .is_unhealthy = true,
       .rule = "RecoveryDrainReset"},
      {.name = "process",
       .commands = {{"process", "GPU", "--pid", "1", "--memory", "512"}},
       .undo = {{"process", "GPU", "--pid", "1", "--end"}}},
  };
}

std::vector<FaultCase> Losses() {
  return {
      {.name = "lost", .commands = {{"lose", "GPU"}}, .is_unhealthy = true, .rule = "GpuLost"},
      {.name = "reset required",
       .commands = {{"set", "GPU", "reset-required", "1"}},
       .is_unhealthy = true,
       .rule = "RecoveryReset"},
      {.name = "removed",
       .commands = {{"remove", "0"}},
       .is_unhealthy = true,
       .undo = {{"add", "--model", "A100-SXM4-80GB"}}},
      {.name = "mig",
       .commands = {{"mig", "GPU", "--enable"}},
       .is_unhealthy = true,  // no program can use it without MIG devices
       .undo = {{"mig", "GPU", "--disable"}}},
      {.name = "hang of a GPU",
       .commands = {{"hang", "GPU"}},
       .is_unhealthy = true,
       .rule = "DriverUnresponsive"},
      {.name = "hang",
       .commands = {{"hang"}},
       .is_unhealthy = true,
       .rule = "DriverUnresponsive",
       .reach = Reach::kHost},
      {.name = "slow", .commands = {{"slow", "2", "--gpu", "GPU"}}},
      {.name = "too slow",
       .commands = {{"slow", "60000", "--gpu", "GPU"}},
       .is_unhealthy = true,
       .rule = "DriverUnresponsive"},
      {.name = "unloaded",
       .commands = {{"unload"}},
       .is_unhealthy = true,
       .reach = Reach::kHost,
       .undo = {{"load"}}},
      {.name = "another module",
       .commands = {{"unload"}, {"load", "--driver", "550.54.15", "--module-only"}},
       .is_unhealthy = true,
       .reach = Reach::kHost,
       .undo = {{"unload"}, {"load", "--driver", "570.124.06"}}},
      {.name = "nouveau",
       .commands = {{"nouveau"}},
       .is_unhealthy = true,
       .reach = Reach::kHost,
       .undo = {{"load"}}},
      {.name = "no server",
       .commands = {{"stop"}},
       .is_unhealthy = true,
       .reach = Reach::kHost,
       .undo = {{"start"}}},
      {.name = "companions",
       .commands = {{"with", "gds,imex=4"}},
       .reach = Reach::kHost,
       .undo = {{"with", "none"}}},
      {.name = "the only GPU",
       .commands = {{"lose", "GPU"}},
       .is_unhealthy = true,
       .rule = "GpuLost",
       .profile = "1xQuadro-K620",
       .gpus = 1},
      {.name = "four of a virtual machine",
       .commands = {{"lose", "GPU"}},
       .is_unhealthy = true,
       .rule = "GpuLost",
       .profile = "4xT4",
       .gpus = 4},
  };
}

size_t HealthyDevices(const json::value& status) {
  size_t healthy = 0;
  for (const json::value& resource : status.at("resources").as_array()) {
    for (const json::value& device : resource.at("devices").as_array()) {
      healthy += device.at("healthy").as_bool() ? 1 : 0;
    }
  }
  return healthy;
}

// One host with its agent, and the faults that are to befall it.
class Machine {
 public:
  Machine(std::vector<FaultCase> faults, const std::string& two_gpus)
      : faults_(std::move(faults)),
        node_({.profile = faults_[0].profile.empty() ? two_gpus : faults_[0].profile,
               .hold_down = "100ms",
               .more_health = kQuickHealth}) {}

  std::string name() const {
    std::string name = faults_[0].name;
    for (size_t i = 1; i < faults_.size(); ++i) {
      name += " + " + faults_[i].name;
    }
    return name;
  }
  AgentNode& node() { return node_; }
  size_t gpus() const { return faults_[0].gpus; }

  // Begins the faults on the first `gpus` GPUs.
  void Begin(size_t gpus) {
    for (const FaultCase& fault : faults_) {
      Run(fault, fault.commands, gpus);
    }
    faulty_ = gpus;
  }
  void Undo() {
    for (auto fault = faults_.rbegin(); fault != faults_.rend(); ++fault) {
      Run(*fault, fault->undo, faulty_);
    }
    node_.host().Inject("heal");
    faulty_ = 0;
  }
  // What befalls the host from now on.
  void SetFaults(std::vector<FaultCase> faults) { faults_ = std::move(faults); }
  // An agent that knows nothing of before.
  void StartAgain() {
    if (node_.agent_pid() != 0) {
      node_.EndAgent(SIGKILL);
    }
    std::filesystem::remove_all(node_.state_dir());
    std::filesystem::remove_all(node_.run_dir());
    std::filesystem::create_directory(node_.run_dir());
    node_.StartAgent();
    pid_ = node_.agent_pid();
  }

  void ExpectHealthy(size_t healthy) const {
    json::value last;
    EXPECT_TRUE(WaitFor("/v1/status",
                        [&](const json::value& status) {
                          last = status;
                          // A driver that hangs is waited for at first.
                          return (healthy == 0 ||
                                  status.at("driver").at("state") != json::value("Starting")) &&
                                 HealthyDevices(status) == healthy;
                        }))
        << healthy << " devices should be healthy: " << json::serialize(last);
    EXPECT_TRUE(std::filesystem::exists("/proc/" + std::to_string(pid_) + "/task"));
  }
  void ExpectShown(bool is_later) const {
    size_t unhealthy = 0;
    for (const FaultCase& fault : faults_) {
      if (is_later ? fault.is_unhealthy_later : fault.is_unhealthy) {
        unhealthy = std::max(unhealthy, fault.reach == Reach::kGpu ? faulty_ : gpus());
      }
    }
    ExpectHealthy(gpus() - unhealthy);
  }
  // The agent has reported each fault.
  void ExpectReported() const {
    for (const FaultCase& fault : faults_) {
      EXPECT_TRUE(fault.rule.empty() || WaitForHistory(fault.rule))
          << "nothing is reported of " << fault.rule;
    }
  }

 private:
  void Run(const FaultCase& fault, const std::vector<Command>& commands, size_t gpus) {
    for (size_t gpu = 0; gpu < (fault.reach == Reach::kHost ? 1 : gpus); ++gpu) {
      for (Command command : commands) {
        std::ranges::replace(command, std::string("GPU"), std::to_string(gpu));
        const std::string verb = command.front();
        command.erase(command.begin());
        node_.host().Inject(verb, std::move(command));
      }
    }
  }
  bool WaitForHistory(const std::string& rule) const {
    return WaitFor("/v1/health/history", [&](const json::value& history) {
      return std::ranges::any_of(history.at("entries").as_array(), [&](const json::value& entry) {
        const json::value* reported = entry.as_object().if_contains("rule");
        return reported != nullptr && *reported == json::value(rule);
      });
    });
  }
  // Until the agent's answer is as wanted; false when it does not come to that.
  bool WaitFor(const std::string& target,
               const std::function<bool(const json::value&)>& is_wanted) const {
    return WaitInFolder(
        node_.run_dir(),
        [&] {
          http::Request request;
          request.target = target + "?output=json";
          const auto response = http::Fetch(node_.run_dir() + "/agent.sock", request);
          const auto answer = response.ok() ? doc::Parse(response->body, doc::Format::kJson, target)
                                            : response.status();
          return answer.ok() && answer->is_object() && is_wanted(*answer);
        },
        kPatience);
  }

  std::vector<FaultCase> faults_;
  AgentNode node_;
  size_t faulty_ = 0;
  pid_t pid_ = 0;
};

class FaultMatrix : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!e2e::CanMakeDevices()) {
      GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
    }
    dir_.WriteFile("two.yaml", kTwoGpus);
  }

  void TearDown() override {
    SideBySide([](std::unique_ptr<Machine>& machine, size_t) { machine.reset(); });
  }

  // A machine for each of `faults`. Hosts are made, and deleted, side by side: it is disk work.
  void Make(const std::vector<FaultCase>& faults) {
    machines_.resize(faults.size());
    SideBySide([&](std::unique_ptr<Machine>& machine, size_t i) {
      machine = std::make_unique<Machine>(std::vector{faults[i]}, dir_.At("two.yaml"));
    });
  }
  void SideBySide(const std::function<void(std::unique_ptr<Machine>&, size_t)>& step) {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < machines_.size(); ++i) {
      threads.emplace_back([&step, &machine = machines_[i], i] { step(machine, i); });
    }
  }
  template <typename Step>
  void Each(Step step) {
    for (const auto& machine : machines_) {
      SCOPED_TRACE(machine->name());
      step(*machine);
    }
  }
  // That nobody needs much more than `rest_` in a window that passes over all machines at once.
  void ExpectRest(std::string_view phase) {
    std::vector<Machine*> busy;
    for (const auto& machine : machines_) {
      busy.push_back(machine.get());
    }
    for (int window = 0; window < kWindows && !busy.empty(); ++window) {
      const std::vector<milliseconds> used = Measure(busy);
      std::vector<Machine*> still_busy;
      for (size_t i = 0; i < busy.size(); ++i) {
        if (used[i] > kMostCpu + kMostTimesRest * rest_) {
          still_busy.push_back(busy[i]);
        }
        if (window + 1 == kWindows) {
          EXPECT_LE(used[i], kMostCpu + kMostTimesRest * rest_)
              << phase << ": " << busy[i]->name() << " does not rest";
        }
      }
      busy = std::move(still_busy);
    }
  }
  std::vector<milliseconds> Measure(const std::vector<Machine*>& machines) {
    std::vector<milliseconds> used;
    for (Machine* machine : machines) {
      used.push_back(-machine->node().CpuTime());
    }
    const auto end = std::chrono::steady_clock::now() + kWindow;
    for (size_t i = 0; i < machines.size(); ++i) {
      const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
      EXPECT_TRUE(machines[i]->node().RunsFor(std::max(left, milliseconds(0))))
          << machines[i]->name();
    }
    for (size_t i = 0; i < machines.size(); ++i) {
      used[i] += machines[i]->node().CpuTime();
    }
    return used;
  }
  // All agents start on healthy GPUs; the first one's needs at rest are what others are held to.
  void StartHealthy() {
    Each([](Machine& machine) { machine.StartAgain(); });
    Each([](Machine& machine) { machine.ExpectHealthy(machine.gpus()); });
    rest_ = Measure({machines_[0].get()})[0];
  }
  void ExpectShown(bool is_later, std::string_view phase) {
    Each([&](Machine& machine) { machine.ExpectShown(is_later); });
    ExpectRest(phase);
    Each([&](Machine& machine) { machine.ExpectShown(is_later); });
  }
  void RunPhases() {
    StartHealthy();
    Each([](Machine& machine) { machine.Begin(1); });
    Each([](Machine& machine) { machine.ExpectReported(); });
    ExpectShown(false, "one GPU, under the agent");
    Each([](Machine& machine) { machine.Undo(); });
    Each([](Machine& machine) { machine.ExpectHealthy(machine.gpus()); });
    Each([](Machine& machine) { machine.Begin(machine.gpus()); });
    ExpectShown(false, "all GPUs, under the agent");
    Each([](Machine& machine) { machine.StartAgain(); });
    ExpectShown(true, "all GPUs, before the start");
    Each([](Machine& machine) {
      machine.node().EndAgent(SIGKILL);
      machine.Undo();
      machine.Begin(1);
      machine.StartAgain();
    });
    ExpectShown(true, "one GPU, before the start");
  }

  TempDir dir_;
  std::vector<std::unique_ptr<Machine>> machines_;
  milliseconds rest_{0};
};

TEST_F(FaultMatrix, EverySign) {
  Make(Signs());
  RunPhases();
}

TEST_F(FaultMatrix, EveryLoss) {
  Make(Losses());
  RunPhases();
}

// Both on the same GPU, the second a moment after the first.
TEST_F(FaultMatrix, EveryPair) {
  constexpr std::string_view kOfPairs[] = {"xid 48",     "ecc double",   "hot",  "link down",
                                           "row failed", "reset wanted", "lost", "reset required",
                                           "hang",       "unloaded"};
  std::vector<FaultCase> all = Signs();
  std::ranges::copy(Losses(), std::back_inserter(all));
  std::vector<std::vector<FaultCase>> pairs;
  for (size_t first = 0; first < std::size(kOfPairs); ++first) {
    for (size_t second = first + 1; second < std::size(kOfPairs); ++second) {
      pairs.push_back({*std::ranges::find(all, kOfPairs[first], &FaultCase::name),
                       *std::ranges::find(all, kOfPairs[second], &FaultCase::name)});
    }
  }
  constexpr size_t kMachines = 15;
  ASSERT_EQ(pairs.size() % kMachines, 0U);
  Make(std::vector<FaultCase>(kMachines));
  StartHealthy();
  for (auto round = pairs.begin(); round != pairs.end(); round += kMachines) {
    auto pair = round;
    Each([&](Machine& machine) {
      machine.SetFaults(*pair++);
      machine.Begin(1);
    });
    ExpectShown(false, "both under the agent");
    Each([](Machine& machine) { machine.Undo(); });
    Each([](Machine& machine) { machine.ExpectHealthy(machine.gpus()); });
  }
}

}  // namespace
}  // namespace kgpu::integration
