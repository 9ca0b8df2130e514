#include "src/functions/provider/test_machine.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <boost/json/value.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/doc/json_reader.h"

namespace kgpu::functions {
namespace {

using std::chrono::milliseconds;

// The value of "--name=value" among the arguments.
std::string FlagValue(const std::vector<std::string>& argv, const std::string& flag) {
  for (const std::string& word : argv) {
    if (word.starts_with(flag + "=")) {
      return word.substr(flag.size() + 1);
    }
  }
  return "";
}

constexpr char kOutOfSight[] =
    "Error: joining network namespace of container: unknown FS magic on /run/netns/x: 1021994";

sys::RunResult Exited(int code, std::string out, std::string err = "") {
  return {.exit = {.code = code, .signal = {}}, .out = std::move(out), .err = std::move(err)};
}

}  // namespace

FakeAgent::FakeAgent(EventLoop& loop, std::string socket, std::vector<std::string> gpus)
    : loop_(loop), socket_(std::move(socket)), gpus_(std::move(gpus)) {
}

void FakeAgent::Start() {
  server_ = std::make_unique<http::Server>(
      loop_, [this](const http::Request& request, const http::Responder& responder) {
        responder.Send(Answer(request));
      });
  EXPECT_TRUE(server_->Listen(socket_).ok());
}

std::set<std::string> FakeAgent::Holders() const {
  std::set<std::string> holders;
  for (const auto& [id, lent] : loans_) {
    holders.insert(lent.holder);
  }
  return holders;
}

size_t FakeAgent::free() const {
  size_t lent = 0;
  for (const auto& [id, loan] : loans_) {
    lent += loan.gpus.size();
  }
  return gpus_.size() - lent;
}

std::string FakeAgent::LoanText(const std::string& id) const {
  const Lent& lent = loans_.at(id);
  boost::json::array devices;
  boost::json::array uuids;
  std::string problem;
  for (const std::string& gpu : lent.gpus) {
    problem += unhealthy.contains(gpu) ? gpu + ": Xid79" : "";
    devices.emplace_back("kgpu.dev/gpu=" + gpu);
    uuids.emplace_back(gpu);
  }
  return doc::PrintLine(boost::json::object{{"id", id},
                                            {"holder", lent.holder},
                                            {"devices", std::move(devices)},
                                            {"uuids", std::move(uuids)},
                                            {"since", "2026-01-01T00:00:00Z"},
                                            {"healthy", problem.empty()},
                                            {"problem", problem}});
}

http::Response FakeAgent::Answer(const http::Request& request) {
  if (has_full_disk && request.method != "GET") {
    return http::JsonResponse(503, R"({"error":"loans.json: No space left on device"})");
  }
  if (request.method == "POST") {
    return refusal ? *refusal : Borrow(request);
  }
  if (request.method == "DELETE") {
    loans_.erase(request.path.substr(std::string_view("/v1/loans/").size()));
    return {.code = 204};
  }
  std::string list;
  for (const auto& [id, lent] : loans_) {
    list += (list.empty() ? "" : ",") + LoanText(id);
  }
  return http::JsonResponse(200, "{\"loans\":[" + list + "]}");
}

http::Response FakeAgent::Borrow(const http::Request& request) {
  const auto body = doc::ParseJson(request.body, "request", {});
  const std::string holder = body->at("holder").as_string().c_str();
  const auto count = static_cast<size_t>(body->at("count").as_int64());
  for (const auto& [id, lent] : loans_) {
    if (lent.holder == holder) {
      return http::JsonResponse(200, LoanText(id));
    }
  }
  if (count > gpus_.size()) {
    return http::JsonResponse(422, R"({"error":"this machine has fewer GPUs"})");
  }
  std::set<std::string> left(gpus_.begin(), gpus_.end());
  for (const auto& [id, lent] : loans_) {
    for (const std::string& gpu : lent.gpus) {
      left.erase(gpu);
    }
  }
  std::erase_if(left, [this](const std::string& gpu) { return unhealthy.contains(gpu); });
  if (left.size() < count) {
    return http::JsonResponse(409, R"({"error":"no GPU is free"})");
  }
  if (request.path == "/v1/loans/check") {
    return {.code = 204};
  }
  std::string id = fmt::format("loan-{}", ++last_);
  loans_[id] = {holder, {left.begin(), std::next(left.begin(), static_cast<long>(count))}};
  return http::JsonResponse(201, LoanText(id));
}

void FakePodman::Start(ProgramRequest request, Done done) {
  if (on_start) {
    on_start(request.argv);
  }
  // The program runs even if the provider that started it has gone.
  const bool is_held = holds_runs && request.argv.at(1) == "run";
  std::function<void()> program = [this, request = std::move(request), done = std::move(done),
                                   generation = generation_] {
    sys::RunResult result = Do(request.argv);
    if (generation == generation_) {
      done(std::move(result));
    }
  };
  if (is_held) {
    held_.push_back(std::move(program));
  } else {
    loop_.Post(std::move(program));
  }
}

void FakePodman::Release() {
  holds_runs = false;
  for (std::function<void()>& program : std::exchange(held_, {})) {
    loop_.Post(std::move(program));
  }
}

sys::RunResult FakePodman::Do(const std::vector<std::string>& argv) {
  const std::string& command = argv.at(1);
  if (command == "run") {
    return Run(argv);
  }
  if (command == "rm" && removes_none) {
    return Exited(125, "", "Error: no valid executable found for OCI runtime");
  }
  if (command == "rm") {
    if (IsOutOfSight(argv.back())) {
      return Exited(125, "", kOutOfSight);
    }
    containers_.erase(argv.back());
    return Exited(0, "");
  }
  if (command == "ps") {
    for (const auto& [name, container] : containers_) {
      if (IsOutOfSight(name)) {
        return Exited(125, "", kOutOfSight);
      }
    }
    return Exited(0, List());
  }
  if (command == "container") {
    return containers_.contains(argv.back()) ? Exited(0, "137 false\n") : Exited(125, "", "none");
  }
  if (command == "image") {
    return images.contains(argv.back()) ? Exited(0, "id-of-" + argv.back() + "\n")
                                        : Exited(125, "", "no such image");
  }
  return Exited(125, "", "unknown command " + command);
}

bool FakePodman::IsOutOfSight(const std::string& name) const {
  const auto found = containers_.find(name);
  if (!is_blind || found == containers_.end()) {
    return false;
  }
  pollfd ended = {.fd = found->second.process->pidfd(), .events = POLLIN, .revents = 0};
  return poll(&ended, 1, 0) == 0;
}

sys::RunResult FakePodman::Run(const std::vector<std::string>& argv) {
  ++runs_;
  last_run_ = argv;
  Container container;
  std::string folder;
  for (const std::string& word : argv) {
    if (word.starts_with("--label=")) {
      const std::string label = word.substr(8);
      container.labels[label.substr(0, label.find('='))] = label.substr(label.find('=') + 1);
    } else if (word.starts_with("--device=")) {
      container.devices.push_back(word.substr(9));
    } else if (word.starts_with("--mount=type=bind,source=")) {
      folder = word.substr(25, word.find(",target") - 25);
    }
  }
  if (!run_error.empty()) {
    return Exited(125, "", run_error);
  }
  if (!std::filesystem::exists(folder)) {
    return Exited(125, "", "Error: statfs " + folder + ": no such file or directory");
  }
  StatusOr<sys::ChildProcess> process =
      sys::ChildProcess::Spawn({.argv = {"/bin/sleep", "1000"}, .environment = {}, .fds = {}});
  EXPECT_TRUE(process.ok());
  container.process = std::make_unique<sys::ChildProcess>(*std::move(process));
  std::ofstream(FlagValue(argv, "--pidfile")) << container.process->pid();
  container.watchdog = std::make_unique<http::Server>(
      loop_, [this](const http::Request& request, const http::Responder& responder) {
        Answer(request, responder);
      });
  EXPECT_TRUE(container.watchdog->Listen(folder + "/fn.sock").ok());
  containers_[FlagValue(argv, "--name")] = std::move(container);
  return Exited(0, "0123456789ab\n");
}

void FakePodman::Answer(const http::Request& request, const http::Responder& responder) {
  if (request.path == "/_/status") {
    return responder.Send(http::JsonResponse(
        200, fmt::format(R"({{"state":"{}","problem":"{}",)"
                         R"("phases":{{"workerStarted":10,"workerReady":110}}}})",
                         makes_workers_ready ? "ready" : "starting", worker_problem)));
  }
  if (handler) {
    return handler(request, responder);
  }
  http::Response response;
  response.headers.Add("X-Handler", "yes");
  response.body = request.body;
  responder.Send(std::move(response));
}

std::string FakePodman::List() const {
  boost::json::array list;
  for (const auto& [name, container] : containers_) {
    boost::json::object labels;
    for (const auto& [key, value] : container.labels) {
      labels[key] = value;
    }
    list.push_back(boost::json::object{{"Names", boost::json::array{boost::json::value(name)}},
                                       {"State", container.is_running ? "running" : "exited"},
                                       {"Pid", container.is_running ? container.process->pid() : 0},
                                       {"ExitCode", 137},
                                       {"Labels", std::move(labels)}});
  }
  return doc::PrintLine(list);
}

std::multiset<std::string> FakePodman::Devices() const {
  std::multiset<std::string> devices;
  for (const auto& [name, container] : containers_) {
    devices.insert(container.devices.begin(), container.devices.end());
  }
  return devices;
}

void FakePodman::KillAll() {
  for (auto& [name, container] : containers_) {
    container.is_running = false;
    container.watchdog.reset();
    EXPECT_TRUE(container.process->Kill().ok());
  }
}

TestMachine::TestMachine(std::vector<std::string> gpus)
    : agent(loop, dir.At("run/agent.sock"), std::move(gpus)), podman(loop) {
  dir.MakeDir("run");
  agent.Start();
  StartProvider();
}

TestMachine::~TestMachine() {
  KillProvider();
}

void TestMachine::StartProvider() {
  ProviderOptions options;
  options.run_dir = dir.At("run");
  options.state_dir = dir.At("state");
  options.node_labels = {{"kubernetes.io/os", "linux"}};
  StatusOr<std::unique_ptr<Provider>> opened = Provider::Open(loop, podman, options, ++starts_);
  ASSERT_TRUE(opened.ok()) << opened.status();
  provider = *std::move(opened);
  QueueOptions of_service = queue;
  of_service.folder = provider->folders().queue;
  StatusOr<std::unique_ptr<Service>> started =
      Service::Start(loop, *provider, 2,
                     ServiceOptions{.version = "test",
                                    .queue = of_service,
                                    .mesh_folder = MeshFolder(provider->folders()),
                                    .stopped = [this] { was_stopped = true; }});
  ASSERT_TRUE(started.ok()) << started.status();
  service = *std::move(started);
  ASSERT_TRUE(service->Listen(socket()).ok());
}

void TestMachine::KillProvider() {
  podman.Forget();
  service.reset();
  provider.reset();
}

bool TestMachine::Until(const std::function<bool()>& holds) {
  constexpr int kSteps = 6'000;
  for (int i = 0; i < kSteps; ++i) {
    loop.RunUntilIdle();
    if (holds()) {
      return true;
    }
    loop.WaitForDescriptor(milliseconds(1));
    loop.Advance(milliseconds(10));
  }
  return false;
}

std::unique_ptr<http::Call> TestMachine::BeginAt(const std::string& socket,
                                                 const http::Request& request,
                                                 std::optional<http::Response>& answer) {
  return http::Call::Start(loop, socket, request,
                           [&answer](const StatusOr<http::Response>& response) {
                             answer = response.ok() ? *response : http::Response{.code = 0};
                           },
                           {.timeout = std::chrono::hours(1)});
}

http::Response TestMachine::AskAt(const std::string& socket, const http::Request& request) {
  std::optional<http::Response> answer;
  const std::unique_ptr<http::Call> call = BeginAt(socket, request, answer);
  EXPECT_TRUE(Until([&] { return answer.has_value(); })) << "no answer";
  return answer.value_or(http::Response{.code = 0});
}

Status TestMachine::Deploy(const Function& function, DeployMode mode) {
  std::optional<Status> deployed;
  provider->Deploy(function.name, function, mode,
                   [&](const StatusOr<Provider::Notes>& notes) { deployed = notes.status(); });
  EXPECT_TRUE(Until([&] { return deployed.has_value(); }));
  return deployed.value_or(Internal("no end"));
}

bool TestMachine::DeployAndRun(int64_t replicas) {
  Function function = HelloFunction();
  function.scaling.min_replicas = replicas;
  const Status deployed = Deploy(function);
  EXPECT_TRUE(deployed.ok()) << deployed;
  return deployed.ok() && Until([&] { return std::cmp_equal(Running(), replicas); });
}

http::Response TestMachine::Call(const std::string& input, const std::string& name) {
  http::Request request{.method = "POST", .target = "/function/" + name};
  request.body = input;
  return Ask(request);
}

size_t TestMachine::Running() const {
  size_t running = 0;
  for (const auto& [name, pool] : provider->pools()) {
    running += static_cast<size_t>(pool->running());
  }
  return running;
}

Function HelloFunction() {
  Function function;
  function.name = "hello";
  function.runtime = "python3";
  function.image = "localhost/kgpu-fn/hello";
  function.gpu.count = 1;
  function.scaling = {.min_replicas = 0, .max_replicas = 2, .idle = std::chrono::minutes(5)};
  return function;
}

}  // namespace kgpu::functions
