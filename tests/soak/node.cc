#include "tests/soak/node.h"

#include <sched.h>
#include <sys/mount.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <utility>

#include "tests/integration/kubelet_times.h"
#include "tests/integration/wait_for_file.h"
#include "tests/soak/lists.h"
#include "tests/soak/mps_daemons.h"

namespace kgpu::soak {

namespace json = boost::json;

StatusOr<std::string> SoakClaims::GetClaim(const std::string& /*space*/, const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto found = claims_.find(name);
  return found == claims_.end() ? StatusOr<std::string>(NotFound("no claim {}", name))
                                : found->second;
}

void SoakClaims::WipeSlices(const std::string& /*driver*/) {
  if (wipe) {
    wipe();
  }
}

void SoakClaims::Put(const std::string& name, std::string text) {
  const std::lock_guard lock(mutex_);
  claims_[name] = std::move(text);
}

void SoakClaims::Remove(const std::string& name) {
  const std::lock_guard lock(mutex_);
  claims_.erase(name);
}

// The small disk of the agent's state is mounted for this process and its children alone.
void SoakNode::SetUpTestSuite() {
  if (unshare(CLONE_NEWNS) == 0) {
    (void)mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr);
  }
}

std::string SoakNode::Profile() const {
  return std::string(KGPU_SOURCE_DIR) + "/tests/integration/testdata/traces/three_h100.yaml";
}

std::vector<std::string> SoakNode::ServerFlags() const {
  return {"--control", At("control")};
}

void SoakNode::SetUp() {
  keeps_log_ = true;
  ClusterFixture::SetUp();
  if (IsSkipped()) {
    return;
  }
  host_->dir().MakeDir("state");
  has_disk_ = mount("soak", At("state").c_str(), "tmpfs", 0, "size=8m") == 0;
  const auto devices = doc::Parse(host_->Kgpu({"devices", "--output", "json"}).out,
                                  doc::Format::kJson, "kgpu devices");
  ASSERT_OK(devices);
  for (const json::value& gpu : ListAt(*devices, "gpus")) {
    gpus_.push_back(TextAt(gpu, {"uuid"}));
  }
  claims_.wipe = [this] {
    http::Request request{.method = "DELETE", .target = kSlicesPath};
    request.headers.Add("Authorization", fmt::format("Bearer {}", e2e::kAdmin));
    (void)http::Fetch(address_, request);  // a real kubelet tries again, too
  };
  Configure(Plan(1));
  StartKubelet();
  StartFreshAgent();
}

void SoakNode::TearDown() {
  if (server_) {
    Repair();
  }
  agent_.reset();
  kubelet_.reset();
  if (host_) {
    KillMpsDaemons();
  }
  ClusterFixture::TearDown();
  if (has_disk_) {
    (void)umount2(At("state").c_str(), MNT_DETACH);
  }
}

void SoakNode::Configure(const Plan& plan) {
  config_ = fmt::format(
      "health: {{every: 1s, holdDown: 50ms, flapLimit: {{times: 0}}}}\n"
      "plugin: {{deviceListStrategy: cdi-cri}}\n"
      "pools:\n"
      "- devices: {{index: 2}}\n"
      "  share: {{by: mig, layout: {}}}\n"
      "{}",
      plan.mig().text, plan.layout().text);
}

void SoakNode::StartKubelet() {
  kubelet::Constants constants = integration::ShortTimes();
  constants.health_timeout = std::chrono::seconds(30);
  constants.wipe_delay = std::chrono::seconds(30);
  kubelet_ = std::make_unique<kubelet::FakeKubelet>(kubelet::FakeKubelet::Options{
      .root = At("kubelet"), .constants = constants, .claims = &claims_});
  RunKubelet();
}

// A machine whose watches of folders are all in use has some a moment later.
void SoakNode::RunKubelet() {
  kgpu::Status status;
  EXPECT_TRUE(integration::WaitInFolder(
      At("run"), [&] { return (status = kubelet_->Start()).ok(); }, std::chrono::minutes(1)))
      << Message(status);
  is_kubelet_stopped_ = false;
}

// With the configuration in force, or the one that is broken now.
void SoakNode::StartFreshAgent() {
  StartAgent(is_config_broken_ ? "pools: nonsense\n" : config_);
  is_agent_new_ = true;
}

StatusOr<http::Response> SoakNode::Control(const std::string& method, const std::string& target,
                                           const std::string& body) const {
  return http::Fetch(At("control"), {.method = method, .target = target, .body = body});
}

bool SoakNode::Inject(const std::string& verb, std::vector<std::string> arguments) const {
  std::vector<std::string> argv = {"kgpu-sim", verb, host_->path()};
  std::ranges::move(arguments, std::back_inserter(argv));
  return e2e::RunProgram(std::move(argv)).code == 0;
}

json::value SoakNode::FromAgent(const std::string& target) const {
  const auto response = http::Fetch(At("run/agent.sock"), {.method = "GET", .target = target});
  const auto answer = response.ok() && response->code == 200
                          ? doc::Parse(response->body, doc::Format::kJson, target)
                          : StatusOr<json::value>(Unavailable("no answer"));
  return answer.ok() && answer->is_object() ? *answer : json::value();
}

void SoakNode::Do(const Action& action, const Plan& plan) {
  ++done_[action.verb];
  static const std::set<std::string> kWorkloads = {"pod",   "mig",  "claim", "end",
                                                   "force", "lend", "return"};
  static const std::set<std::string> kCluster = {
      "api", "cut-watches", "restart-kubelet", "stop-kubelet", "remove-sockets", "cut-plugin"};
  static const std::set<std::string> kAgent = {"config",     "break-config", "fill-disk",
                                               "kill-probe", "reload",       "stop-agent",
                                               "kill-agent", "foreign-cdi",  "kill-mps"};
  if (kWorkloads.contains(action.verb)) {
    DoWorkload(action);
  } else if (kCluster.contains(action.verb)) {
    DoCluster(action);
  } else if (kAgent.contains(action.verb)) {
    DoAgent(action, plan);
  } else {
    DoDriver(action);
  }
}

void SoakNode::DoDriver(const Action& action) {
  if (!Inject(action.verb, action.arguments)) {
    return;  // a GPU that is gone cannot fail
  }
  const std::string& verb = action.verb;
  const std::string gpu =
      action.arguments.empty() || verb == "slow" ? "" : gpus_.at(std::stoul(action.arguments[0]));
  if (verb == "hang" || verb == "slow") {  // the driver has one of these at a time
    std::erase_if(expected_, [](const ExpectedReport& fault) { return fault.is_hang; });
  }
  if (verb == "hang") {
    expected_.push_back({.gpu = gpu, .is_hang = true});
  } else if (verb == "lose" || verb == "unload" ||
             (verb == "set" && action.arguments[1] == "remap-failed")) {
    expected_.push_back({.gpu = gpu});
  } else if (verb == "xid" && action.arguments[1] != "31") {
    expected_.push_back({.gpu = gpu, .xid = std::stoi(action.arguments[1])});
  }
}

void SoakNode::DoCluster(const Action& action) {
  const std::string& verb = action.verb;
  if (verb == "api") {
    is_api_ill_ = true;
    const std::string code = action.arguments.size() > 1 ? action.arguments[1] : "500";
    EXPECT_OK(
        Control("POST", "/stub/faults",
                fmt::format(R"({{"kind": "{}", "code": {}, "retryAfter": {}, "delayMs": 300)"
                            R"({}}})",
                            action.arguments[0], code, code == "429" ? 1 : 0,
                            action.arguments[0] == "away" ? "" : R"(, "userAgent": "kgpu")")));
  } else if (verb == "cut-watches") {
    EXPECT_OK(Control("POST", "/stub/watches/cut"));
  } else if (verb == "restart-kubelet") {
    kubelet_->Stop();
    RunKubelet();
  } else if (verb == "stop-kubelet") {
    kubelet_->Stop();
    is_kubelet_stopped_ = true;
  } else if (verb == "remove-sockets") {
    RemoveSockets();
  } else {
    (void)kubelet_->CutPluginConnection();
  }
}

void SoakNode::DoAgent(const Action& action, const Plan& plan) {
  const std::string& verb = action.verb;
  if (verb == "config" || verb == "break-config") {
    is_config_broken_ = verb == "break-config";
    Configure(plan);
    host_->dir().WriteFile("config.yaml",
                           "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" +
                               (is_config_broken_ ? std::string("pools: nonsense\n") : config_));
  } else if (verb == "fill-disk") {
    FillDisk(true);
  } else if (verb == "kill-probe") {
    KillProbe();
  } else if (verb == "kill-mps") {
    KillMpsDaemons();
  } else if (verb == "reload") {
    // One that has just begun does not listen yet, and the signal would end it.
    EXPECT_EQ(is_agent_new_ ? 0 : kill(agent_pid(), SIGHUP), 0);
  } else if (verb == "foreign-cdi") {
    host_->dir().WriteFile("host/etc/cdi/broken.json", "{");
  } else {
    if (verb == "stop-agent") {
      const sys::ExitState end = agent_->Stop();
      EXPECT_TRUE(end.code == 0 || end.signal == SIGTERM) << "it may not have begun yet";
    }
    agent_.reset();
    // The simulated kernel log, unlike a real one, has nothing for a reader that comes later.
    std::erase_if(expected_, [](const ExpectedReport& fault) { return fault.xid != 0; });
    StartFreshAgent();
  }
}

void SoakNode::KillProbe() const {
  std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", agent_pid()));
  for (pid_t child = 0; children >> child;) {
    (void)kill(child, SIGKILL);
  }
}

void SoakNode::KillMpsDaemons() const {
  for (const auto& [device, pids] : FindMpsDaemons(At("run"))) {
    for (const pid_t pid : pids) {
      (void)kill(pid, SIGKILL);
    }
  }
}

void SoakNode::RemoveSockets() const {
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(At("kubelet/device-plugins"), error)) {
    if (entry.path().filename().string().starts_with("kgpu-")) {
      std::filesystem::remove(entry.path(), error);
    }
  }
}

void SoakNode::FillDisk(bool is_full) const {
  if (!has_disk_) {
    return;
  }
  if (!is_full) {
    std::error_code error;
    std::filesystem::remove(At("state/ballast"), error);
    return;
  }
  std::ofstream ballast(At("state/ballast"), std::ios::binary);
  const std::string block(4096, 'x');
  while (ballast.write(block.data(), static_cast<std::streamsize>(block.size())).flush()) {
  }
}

void SoakNode::Repair() {
  EXPECT_OK(Control("DELETE", "/stub/faults"));
  is_api_ill_ = false;
  FillDisk(false);
  std::error_code error;
  std::filesystem::remove(At("host/etc/cdi/broken.json"), error);
  (void)Inject("load", {});
  for (size_t gpu = 0; gpu < gpus_.size(); ++gpu) {
    for (const char* field : {"remap-failed", "recovery-action"}) {
      (void)Inject("set", {std::to_string(gpu), field, "0"});
    }
  }
  (void)Inject("heal", {});
  if (is_kubelet_stopped_) {
    RunKubelet();
  }
  if (is_config_broken_) {
    is_config_broken_ = false;
    host_->dir().WriteFile("config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n" + config_);
  }
  expected_.clear();
}

}  // namespace kgpu::soak
