#include "tests/soak/functions_machine.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <future>
#include <thread>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/base/unique_fd.h"
#include "src/platform/doc/json_reader.h"
#include "src/platform/net/http/client.h"
#include "tests/soak/lists.h"

namespace kgpu::soak {

namespace json = boost::json;

namespace {

constexpr int kStateMib = 16;
constexpr unsigned kOk = 200;
constexpr unsigned kAccepted = 202;
constexpr unsigned kNotFound = 404;
constexpr std::chrono::minutes kCallLimit{3};
constexpr std::chrono::minutes kPatience{3};
constexpr std::chrono::milliseconds kLook{100};
constexpr std::chrono::milliseconds kRest{2000};
constexpr std::chrono::milliseconds kMostCpu{120};

// Waits; true if the process lives on.
bool LivesFor(pid_t pid, std::chrono::milliseconds time) {
  const UniqueFd process(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd end{.fd = process.get(), .events = POLLIN, .revents = 0};
  return process.is_valid() && poll(&end, 1, static_cast<int>(time.count())) == 0;
}

// GPUs recover soon, and none is held back for an admin.
std::string ConfigOf(const FunctionLayout& layout) {
  return fmt::format("health: {{every: 1s, holdDown: 50ms, flapLimit: {{times: 0}}}}\npools:\n{}",
                     layout.text);
}

std::string Refusal(const std::string& what, const e2e::Result& result) {
  return fmt::format("{} exited with {}: {}{}", what, result.code, result.out, result.err);
}

}  // namespace

SoakFunctions::SoakFunctions()
    : machine_("8xA100-SXM4-80GB", {"slice-client"}, kStateMib),
      config_(ConfigOf(FunctionLayouts()[0])) {
  machine_.Configure(config_);
}

std::string SoakFunctions::Do(const Action& action) {
  ++done_[action.verb];
  const std::string name = action.arguments.empty() ? "" : action.arguments[0];
  if (action.verb == "deploy") {
    return Deploy(name, action.arguments.at(1));
  }
  if (action.verb == "delete") {
    return Delete(name);
  }
  if (action.verb == "scale") {
    return Scale(name, action.arguments.at(1));
  }
  if (action.verb == "call" || action.verb == "calls") {
    return CallAtOnce(name, action.verb == "call" ? 1 : std::stoul(action.arguments.at(1)));
  }
  if (action.verb == "async") {
    return Judge(name, "", Call(name, "hi", "/async-function/"));
  }
  has_faults_ = true;
  return DoFault(action);
}

std::string SoakFunctions::DoFault(const Action& action) {
  const std::string& verb = action.verb;
  if (verb == "kill-agent") {
    machine_.KillAgent();
  } else if (verb == "kill-service") {
    machine_.KillService();
  } else if (verb == "down") {
    (void)machine_.Fn({"down"});
  } else if (verb == "kill") {
    const bool is_there =
        machine_.KillProcess(action.arguments[0], std::stoul(action.arguments[1]));
    hits_ += is_there ? 1 : 0;
  } else if (verb == "crash") {
    return Judge(action.arguments[0], "crash", Call(action.arguments[0], "crash"));
  } else if (verb == "lose-runtime") {
    machine_.SetRuntime(false);
  } else if (verb == "fill-disk") {
    machine_.FillDisk(true);
  } else if (verb == "config") {
    config_ = ConfigOf(FunctionLayoutOf(action.arguments.at(0)));
    machine_.Configure(config_);
  } else if (verb == "break-config") {
    machine_.Configure("pools: nonsense\n");
  } else {
    (void)machine_.Simulate(verb, action.arguments);
  }
  return "";
}

std::string SoakFunctions::Deploy(const std::string& name, std::string_view shape) {
  const Shape& wanted = ShapeOf(shape);
  const std::string file = machine_.WriteConfig(std::string(wanted.text), "none", name);
  const e2e::Result result = machine_.Fn({"deploy", "-f", file, "--replace"});
  // The program waits for a replica, which may not start now.
  if (result.code == 0 || result.err.find("is deployed, but no replica") != std::string::npos) {
    deployed_[name] = {.shape = &wanted, .least = wanted.least};
    deleting_.erase(name);
  }
  constexpr int kNoReplica = 4;
  const bool may_wait =
      result.code == kNoReplica && deployed_.contains(name) && AreSlicesShort(name);
  return result.code == 0 || has_faults_ || may_wait ? "" : Refusal("deploy", result);
}

std::string SoakFunctions::Delete(const std::string& name) {
  // It takes as long as podman cannot remove a container.
  constexpr std::chrono::seconds kDeleteLimit{20};
  const e2e::Result result = machine_.Fn({"delete", name}, "", kDeleteLimit);
  const bool was_deployed = deployed_.contains(name);
  if (result.code == 0) {
    deployed_.erase(name);
  } else if (was_deployed) {
    deleting_.insert(name);
  }
  return (result.code == 0) == was_deployed || has_faults_ ? "" : Refusal("delete", result);
}

std::string SoakFunctions::Scale(const std::string& name, const std::string& count) {
  const e2e::Result result = machine_.Fn({"scale", name, count});
  const auto function = deployed_.find(name);
  if (result.code == 0 && function != deployed_.end()) {
    function->second.least = std::stol(count);
  }
  const bool was_deployed = function != deployed_.end();
  return (result.code == 0) == was_deployed || has_faults_ ? "" : Refusal("scale", result);
}

SoakFunctions::Answer SoakFunctions::Call(const std::string& name, const std::string& input,
                                          std::string_view prefix) const {
  const auto response =
      http::Fetch(machine_.service_socket(),
                  {.method = "POST", .target = fmt::format("{}{}", prefix, name), .body = input},
                  {.timeout = kCallLimit});
  if (!response.ok()) {
    return {.body = std::string(Message(response.status()))};
  }
  return {.code = static_cast<unsigned>(response->code),
          .body = response->body,
          .fault = std::string(response->headers.Find("Kgpu-Fault").value_or(""))};
}

std::string SoakFunctions::CallAtOnce(const std::string& name, size_t count) {
  const std::string input = fmt::format("hi from {}", done_["call"] + done_["calls"]);
  std::vector<std::future<Answer>> calls(count);
  for (auto& call : calls) {
    call = std::async(std::launch::async, [this, name, input] { return Call(name, input); });
  }
  std::string problem;
  for (auto& call : calls) {
    const Answer answer = call.get();
    ++answers_[answer.fault.empty() ? fmt::format("{}", answer.code) : answer.fault];
    if (std::string wrong = Judge(name, input, answer); problem.empty()) {
      problem = std::move(wrong);
    }
  }
  return problem;
}

std::string SoakFunctions::Judge(const std::string& name, const std::string& input,
                                 const Answer& answer) const {
  if (answer.code == kOk && answer.body != input) {
    return fmt::format("{} was called with '{}' and answered '{}'", name, input, answer.body);
  }
  const auto function = deployed_.find(name);
  const bool is_there = function != deployed_.end();
  const bool may_lack_gpus = is_there && function->second.shape->gpus > 0;
  if (has_faults_ || answer.code == kOk || answer.code == kAccepted ||
      (!is_there && answer.code == kNotFound) || (may_lack_gpus && answer.fault == "no-gpu")) {
    return "";
  }
  return fmt::format("a call of {} got {} {}: {}", name, answer.code, answer.fault, answer.body);
}

std::string SoakFunctions::CheckLoans() {
  std::map<std::string, Units> held;
  const auto loans = machine_.LedgerLoans();
  for (const auto& [loan, parts] : loans) {
    for (const std::string& part : parts) {
      const size_t end = part.find("::");
      held[loan].insert(end == std::string::npos
                            ? Unit{.gpu = part}
                            : Unit{.gpu = part.substr(0, end), .kind = "slices", .part = part});
    }
  }
  if (std::string problem = holders_.Check(std::move(held)); !problem.empty()) {
    return problem;
  }
  const std::vector<std::string> running = machine_.RunningLoans();
  std::set<std::string> seen;
  for (const std::string& loan : running) {
    if (!seen.insert(loan).second) {
      return fmt::format("two containers have loan {}", loan);
    }
  }
  const auto lent = machine_.LedgerLoans();
  for (const std::string& loan : machine_.RunningLoans()) {
    if (seen.contains(loan) && !lent.contains(loan)) {
      return fmt::format("a container has the GPUs of loan {}, which the agent does not know",
                         loan);
    }
  }
  return "";
}

void SoakFunctions::Repair() {
  machine_.SetRuntime(true);
  machine_.FillDisk(false);
  machine_.Configure(config_);
  (void)machine_.Simulate("load");
  constexpr int kGpus = 8;
  for (int gpu = 0; gpu < kGpus && has_faults_; ++gpu) {
    for (const char* field : {"remap-failed", "recovery-action"}) {
      (void)machine_.Simulate("set", {std::to_string(gpu), field, "0"});
    }
  }
  (void)machine_.Simulate("heal");
  machine_.Up();
}

json::value SoakFunctions::Ask(const std::string& socket, const std::string& target) const {
  const auto response = http::Fetch(socket, {.method = "GET", .target = target});
  const bool is_there = response.ok() && response->code == kOk;
  const auto answer = doc::ParseJson(is_there ? response->body : "", target, {});
  return answer.ok() ? *answer : json::value();
}

std::string SoakFunctions::CheckAgent() const {
  const json::value status = Ask(machine_.agent_socket(), "/v1/status");
  if (!status.is_object() || !FlagOf(status, "ready")) {
    return "the agent is not ready: " + FieldOf(status, "obstacle");
  }
  const std::string problem = FieldOf(status.at("config"), "problem");
  return problem.empty() ? FaultIn(Ask(machine_.agent_socket(), "/v1/health?output=json"))
                         : "the configuration: " + problem;
}

// The service, the agent and podman agree.
std::string SoakFunctions::CheckReplicas() const {
  const json::value listed = Ask(machine_.service_socket(), "/system/functions");
  const json::array functions = ListAt(listed, "Functions");
  if (!listed.is_object() || functions.size() != deployed_.size()) {
    return "the service does not list the functions that were deployed";
  }
  size_t replicas = 0;
  size_t borrowers = 0;
  for (const json::value& function : functions) {
    const std::string name = FieldOf(function, "Name");
    const auto deployed = deployed_.find(name);
    const json::value& own = function.at("Kgpu");
    const json::array list = ListAt(own, "replicaList");
    if (deployed == deployed_.end()) {
      return name + " was deleted";
    }
    if (static_cast<int64_t>(list.size()) < deployed->second.least && !AreSlicesShort(name)) {
      return fmt::format("{}: {} of {} replicas: {}", name, list.size(), deployed->second.least,
                         FieldOf(own, "problem"));
    }
    for (const json::value& replica : list) {
      if (FieldOf(replica, "state") != "running" ||
          ListAt(replica, "gpus").size() != deployed->second.shape->gpus) {
        return fmt::format("{}: a replica is {} {}", name, FieldOf(replica, "state"),
                           json::serialize(replica));
      }
      ++replicas;
      borrowers += deployed->second.shape->gpus > 0 ? 1 : 0;
    }
  }
  const std::string containers = machine_.Podman({"ps", "--all", "--format={{.State}}"}).out;
  const auto running = Trim(containers).empty() ? 0 : Split(Trim(containers), '\n').size();
  const std::array<size_t, 3> counts = {running, machine_.ReplicaFolders().size(), replicas};
  if (std::ranges::any_of(counts, [&](size_t count) { return count != replicas; })) {
    return fmt::format("{} containers, {} folders, {} replicas", counts[0], counts[1], counts[2]);
  }
  const size_t loans = machine_.LedgerLoans().size();
  return loans == borrowers ? "" : fmt::format("{} loans of {} replicas", loans, borrowers);
}

std::string SoakFunctions::CheckQueue() const {
  const json::value queue = Ask(machine_.service_socket(), "/v1/queue");
  if (!queue.is_object()) {
    return "the queue does not answer";
  }
  for (const json::value& call : ListAt(queue, "calls")) {
    // A call that was killed in its container is not repeated without `retries`.
    if (FieldOf(call, "state") != "dead" || !has_faults_) {
      return "an asynchronous call has not ended: " + json::serialize(call);
    }
  }
  const auto purged =
      http::Fetch(machine_.service_socket(),
                  {.method = "POST", .target = "/v1/queue/purge", .body = R"({"state":"dead"})"});
  return purged.ok() && purged->code == kOk ? "" : "dead calls cannot be purged";
}

bool SoakFunctions::AreSlicesShort(const std::string& name) const {
  constexpr std::ptrdiff_t kGpusWithSlices = 2;
  const auto loans = machine_.LedgerLoans();
  std::ptrdiff_t whole = 0;
  for (const auto& [loan, parts] : loans) {
    whole += std::ranges::count_if(
        parts, [](const std::string& part) { return part.find("::") == std::string::npos; });
  }
  return deployed_.at(name).shape->is_slice && whole >= kGpusWithSlices &&
         config_.find("size: 4Gi") != std::string::npos;
}

// A function answers, and sees the GPUs that it asked for.
std::string SoakFunctions::CheckAnswer(const std::string& name,
                                       std::set<std::string>& answered) const {
  if (answered.contains(name)) {
    return "";
  }
  const Answer answer = Call(name, "gpus");
  const auto nodes =
      static_cast<size_t>(answer.body.empty() ? 0 : 1 + std::ranges::count(answer.body, ' '));
  if (answer.code == kOk && nodes != deployed_.at(name).shape->gpus) {
    return fmt::format("{} sees the GPUs '{}'", name, answer.body);
  }
  if (answer.code != kOk && !(answer.fault == "no-gpu" && AreSlicesShort(name))) {
    return fmt::format("{} answers {} {}: {}", name, answer.code, answer.fault, answer.body);
  }
  answered.insert(name);
  return "";
}

void SoakFunctions::ForgetDeleted() {
  const json::value listed = Ask(machine_.service_socket(), "/system/functions");
  const json::array functions = ListAt(listed, "Functions");
  for (const std::string& name : deleting_) {
    const bool is_there = std::ranges::any_of(
        functions, [&](const json::value& function) { return FieldOf(function, "Name") == name; });
    if (listed.is_object() && !is_there) {
      deployed_.erase(name);
    }
  }
}

std::string SoakFunctions::Unrest(std::set<std::string>& answered) {
  ForgetDeleted();
  if (std::string problem = CheckAgent(); !problem.empty()) {
    return problem;
  }
  for (const auto& [name, function] : deployed_) {
    if (std::string problem = CheckAnswer(name, answered); !problem.empty()) {
      return problem;
    }
  }
  std::string problem = CheckReplicas();
  return problem.empty() ? CheckQueue() : problem;
}

std::string SoakFunctions::Settle() {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  std::set<std::string> answered;
  std::string problem = Unrest(answered);
  while (!problem.empty() && std::chrono::steady_clock::now() < end) {
    if (!LivesFor(engines::FunctionMachine::ListenerOf(machine_.service_socket()), kLook)) {
      return "the service has ended: " + problem;
    }
    problem = Unrest(answered);
  }
  deleting_.clear();
  return problem;
}

std::string SoakFunctions::CheckRest() {
  constexpr int kAttempts = 5;
  std::string problem;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    problem.clear();
    std::map<std::string, std::chrono::milliseconds> used;
    for (const std::string& socket : {machine_.agent_socket(), machine_.service_socket()}) {
      used[socket] = CpuTime(engines::FunctionMachine::ListenerOf(socket));
    }
    if (!LivesFor(engines::FunctionMachine::ListenerOf(machine_.service_socket()), kRest)) {
      return "the service has ended";
    }
    for (const auto& [socket, before] : used) {
      const auto cpu = CpuTime(engines::FunctionMachine::ListenerOf(socket)) - before;
      if (cpu > kMostCpu) {
        problem = fmt::format("at rest, the daemon of {} used {} ms of {} ms", socket, cpu.count(),
                              kRest.count());
      }
    }
    if (problem.empty()) {
      return "";
    }
  }
  return problem;
}

std::string SoakFunctions::CheckGrowth(size_t round) {
  std::string problem;
  for (const std::string& socket : {machine_.agent_socket(), machine_.service_socket()}) {
    Daemon& daemon = daemons_[socket];
    const pid_t pid = engines::FunctionMachine::ListenerOf(socket);
    if (daemon.pid != pid) {
      problem = problem.empty() ? Growth(socket, daemon.life) : problem;
      daemon = {.pid = pid};
    }
    daemon.life.push_back(Measure(pid, round));
  }
  return problem;
}

std::string SoakFunctions::CheckGrowth() const {
  for (const auto& [socket, daemon] : daemons_) {
    if (std::string problem = Growth(socket, daemon.life); !problem.empty()) {
      return problem;
    }
  }
  return "";
}

std::string SoakFunctions::Summary() const {
  std::string text =
      fmt::format("{} loans, {} processes killed by name; answers:", holders_.seen(), hits_);
  for (const auto& [answer, count] : answers_) {
    text += fmt::format(" {} {}", count, answer);
  }
  text += "\n ";
  for (const auto& [verb, count] : done_) {
    text += fmt::format(" {} {}", verb, count);
  }
  for (const auto& [socket, daemon] : daemons_) {
    if (!daemon.life.empty()) {
      const Footprint& first = daemon.life[daemon.life.size() / 10];
      const Footprint& last = daemon.life.back();
      text += fmt::format("\n{}: {} rounds; {} KiB and {} files in round {}, {} and {} at the end",
                          socket, daemon.life.size(), first.memory_kib, first.files, first.round,
                          last.memory_kib, last.files);
    }
  }
  return text;
}

std::string SoakFunctions::Evidence() {
  return fmt::format("--- functions\n{}\n--- containers\n{}\n--- ledger and logs\n{}",
                     machine_.Fn({"list", "--output=json"}).out,
                     machine_.Podman({"ps", "--all"}).out, machine_.StateTexts());
}

}  // namespace kgpu::soak
