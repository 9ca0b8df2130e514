// Golden traces of what the agent decides about devices: for each kind of pool, what the kubelet,
// containers and `kgpu status` get while GPUs vanish, configurations change and the agent is
// killed. The golden file of a kind has one section per step: the end state, each list that the
// kubelet was sent on the way, and the MPS daemons. A step passes once the agent shows
// its section; with KGPU_UPDATE_GOLDENS=1 it is what the agent shows when it has settled.
#include <algorithm>
#include <array>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/platform/base/strings.h"
#include "src/platform/doc/doc.h"
#include "src/platform/net/http/client.h"
#include "testing/golden.h"
#include "tests/integration/agent_fixture.h"
#include "tests/integration/plugin_caller.h"
#include "tests/integration/wait_for_file.h"

namespace kgpu::integration {
namespace {

namespace json = boost::json;

constexpr std::string_view kFolder = "tests/integration/testdata/traces";
// Longer than the agent waits between two looks at a busy device, or at a GPU that was lost.
constexpr std::chrono::milliseconds kSettled{5'000};

const std::map<std::string, std::string, std::less<>> kPools = {
    {"whole", "- devices: all\n"},
    {"time", "- devices: all\n  share: {by: time, replicas: 2}\n"},
    {"memory", "- devices: all\n  share: {by: memory, size: 30Gi}\n"},
    {"layout", "- devices: all\n  share: {by: memory, layout: [40Gi, 20Gi]}\n"},
    {"mps", "- devices: all\n  share: {by: mps, replicas: 2}\n"},
    {"mig", "- devices: all\n  share: {by: mig, layout: [3g.40gb, 2g.20gb]}\n"},
    {"mixed",
     "- devices: {index: 0}\n  share: {by: mig, layout: [4g.40gb, 3g.40gb]}\n"
     "- devices: {index: 1}\n  share: {by: mps, size: 1/2}\n"
     "- devices: all\n  share: {by: memory, size: 30Gi}\n"},
};
// Before the pools of a kind: a GPU for programs of the host.
constexpr std::string_view kLocalPool = "- {devices: {index: 2}, provider: local}\n";

bool HasLayouts(std::string_view kind) {
  return kind == "mig" || kind == "mixed";
}

// The steps of a kind: its own events, then a change to every other kind while a pod uses a device.
std::vector<std::string> ScriptOf(const std::string& kind) {
  std::vector<std::string> script = {"local " + kind, "lend", "run " + kind, "kill",    "give back",
                                     "lose 2",        "heal", "fault 0",     "repair 0"};
  for (const auto& [other, pools] : kPools) {
    if (other == kind) {
      continue;
    }
    script.insert(script.end(), {"pod", "run " + other, "kill", "end pod"});
    // A pool without layouts leaves GPUs in MIG mode, where it cannot use them.
    if (HasLayouts(kind) || HasLayouts(other)) {
      script.insert(script.end(), {"run whole", "mig off"});
    }
    script.push_back("run " + kind);
  }
  return script;
}

std::string TextOf(const json::value& object, std::string_view key) {
  const json::value* value = object.as_object().if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->as_string()) : "";
}

const json::array& ListOf(const json::value& object, std::string_view key) {
  static const json::array kNothing;
  const json::value* value = object.as_object().if_contains(key);
  return value != nullptr && value->is_array() ? value->as_array() : kNothing;
}

std::string HealthOf(const json::value& device) {
  return device.at("healthy").as_bool()
             ? ""
             : fmt::format("unhealthy {}: {}: ", TextOf(device, "reason"),
                           TextOf(device, "message"));
}

std::string TextOf(const kubelet::ContainerOptions& options) {
  std::string text;
  for (const auto& [name, value] : options.envs) {
    text += fmt::format("    env {}={}\n", name, value);
  }
  std::string nodes;
  for (const kubelet::DeviceSpec& node : options.devices) {
    nodes += fmt::format(" {} {}", node.container_path, node.permissions);
  }
  text += nodes.empty() ? "" : fmt::format("    nodes{}\n", nodes);
  for (const kubelet::BindMount& mount : options.mounts) {
    text += fmt::format("    mount {} {} {}\n", mount.container_path, mount.read_only ? "ro" : "rw",
                        mount.host_path);
  }
  for (const std::string& name : options.cdi_devices) {
    text += fmt::format("    cdi {}\n", name);
  }
  return text;
}

// Whether devices only came back or were added, healthy or not yet, from one list to the next. Both
// are summaries: "2 devices, 1 healthy GPU0=Unhealthy".
bool IsRecovery(const std::string& before, const std::string& after) {
  const std::vector<std::string_view> was = Split(before, ' ');
  const std::vector<std::string_view> is = Split(after, ' ');
  const uint64_t had = ParseUint(was[0]).value_or(0);
  const uint64_t has = ParseUint(is[0]).value_or(0);
  constexpr size_t kUnhealthy = 4;  // the first unhealthy device
  const auto is_new = [&](std::string_view device) {
    return std::ranges::find(was, device) == was.end();
  };
  return had > 0 && has >= had &&
         static_cast<uint64_t>(std::count_if(is.begin() + kUnhealthy, is.end(), is_new)) <=
             has - had;
}

// Devices recover and get their layouts one by one, in any order, and perhaps before the first
// list: only the last list of such a sequence counts.
void AddList(const std::string& list, std::vector<std::string>& lists) {
  if (!lists.empty() && IsRecovery(lists.back(), list)) {
    lists.back() = list;
  } else {
    lists.push_back(list);
  }
}

// Sections by number; what is before the first one is dropped.
std::vector<std::string> SectionsOf(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> sections;
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("== ")) {
      sections.emplace_back();
    }
    if (!sections.empty()) {
      sections.back() += line + "\n";
    }
  }
  return sections;
}

// Ids as they are, with short names for GPUs and MIG devices and for the folders of the test.
class Names {
 public:
  explicit Names(AgentNode& node) : folder_(node.host().dir().path()) {
    const std::vector<std::string> uuids = node.GpuUuids();
    for (size_t i = 0; i < uuids.size(); ++i) {
      gpus_[uuids[i]] = fmt::format("GPU{}", i);
    }
  }

  std::string Shorten(std::string text) const {
    for (const auto& [uuid, name] : gpus_) {
      Replace(uuid, name, text);
    }
    Replace(folder_, "", text);
    // New instances have new UUIDs: numbered as they appear in a step, which is by GPU and place.
    static const std::regex kMig("MIG-[0-9a-f]{8}-[0-9a-f-]{27}");
    std::smatch match;
    for (int number = 0; std::regex_search(text, match, kMig); ++number) {
      Replace(match.str(), fmt::format("MIG{}", number), text);
    }
    return text;
  }
  std::string UuidOf(const std::string& name) const {
    const auto found =
        std::ranges::find_if(gpus_, [&](const auto& entry) { return entry.second == name; });
    return found == gpus_.end() ? "" : found->first;
  }

 private:
  static void Replace(const std::string& from, const std::string& to, std::string& text) {
    for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at)) {
      text.replace(at, from.size(), to);
      at += to.size();
    }
  }

  const std::string folder_;
  std::map<std::string, std::string> gpus_;  // names by UUID
};

// A node, and the trace of what happens to it.
class Trace {
 public:
  explicit Trace(const std::string& kind)
      : golden_(fmt::format("{}/{}.txt", kFolder, kind)),
        sections_(SectionsOf(fmt::format("{}/{}", KGPU_SOURCE_DIR, golden_))),
        node_({.profile = fmt::format("{}/{}/three_h100.yaml", KGPU_SOURCE_DIR, kFolder)}),
        names_(node_),
        kubelet_({.root = node_.kubelet_root(), .constants = ShortTimes()}) {
    EXPECT_OK(kubelet_.Start());
  }
  // MPS daemons outlive their agent on purpose.
  ~Trace() {
    if (node_.agent_pid() != 0) {
      (void)node_.EndAgent();
    }
    for (const auto& [device, pid] : LiveDaemons()) {
      (void)kill(-pid, SIGKILL);  // each leads a session of its own, with its server
    }
  }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  void Run(const std::vector<std::string>& script) {
    for (const std::string& step : script) {
      const size_t space = std::min(step.find(' '), step.size());
      kubelet_.ClearCalls();
      Do(step, step.substr(0, space), step.substr(std::min(space + 1, step.size())));
      Record(fmt::format("== {}: {}\n", steps_++, step));
    }
    ExpectGolden(golden_, text_);
  }

 private:
  void Do(const std::string& step, const std::string& verb, const std::string& argument) {
    if (verb == "run" || verb == "local") {
      Configure((verb == "local" ? std::string(kLocalPool) : "") + kPools.at(argument));
    } else if (step == "kill") {
      (void)node_.EndAgent(SIGKILL);
      node_.StartAgent();
    } else if (verb == "lose") {
      node_.host().Inject("lose", {names_.UuidOf("GPU" + argument)});
    } else if (verb == "fault" || verb == "repair") {  // a state, which lasts
      node_.host().Inject(
          "set", {names_.UuidOf("GPU" + argument), "remap-failed", verb == "fault" ? "1" : "0"});
    } else if (step == "heal") {
      node_.host().Inject("heal", {"all"});
    } else if (step == "mig off") {
      const e2e::Result off =
          node_.host().Kgpu({"mig", "apply", "--select", "all-disabled", "--yes"});
      EXPECT_EQ(off.code, 0) << off.err;
    } else if (step == "pod") {
      StartPod();
    } else if (step == "end pod") {
      EXPECT_OK(kubelet_.RemovePod("pod"));
    } else if (step == "lend") {
      Lend();
    } else if (step == "give back") {
      const auto ended = Ask("DELETE", "/v1/loans/" + loan_);
      EXPECT_EQ(ended.ok() ? ended->code : 0, 204);
    } else {
      ADD_FAILURE() << "no such step: " << step;
    }
  }

  // The first configuration starts the agent.
  void Configure(const std::string& pools) {
    node_.host().dir().WriteFile(
        "config.yaml",
        fmt::format("apiVersion: kgpu.dev/v1\nkind: NodeConfig\n"
                    "health: {{every: 1s, holdDown: 50ms, flapLimit: {{times: 0}}}}\n"
                    "plugin: {{deviceListStrategy: [device-specs, envvar]}}\n"
                    "pools:\n{}",
                    pools));
    if (node_.agent_pid() == 0) {
      node_.StartAgent();
    }
  }
  // With one device of the first resource.
  void StartPod() {
    const json::value status = Status();
    ASSERT_TRUE(status.is_object());
    for (const json::value& resource : ListOf(status, "resources")) {
      if (!ListOf(resource, "devices").empty()) {
        ASSERT_OK(kubelet_.AddPod(kubelet::SimplePod("pod", TextOf(resource, "name"), 1)));
        ASSERT_TRUE(kubelet_.WaitForPhase("pod", PodPhase::kRunning, kAgentPatience))
            << "the pod does not run";
        return;
      }
    }
    ADD_FAILURE() << "no resource for a pod";
  }
  // The agent refuses until it knows what pods hold.
  void Lend() {
    EXPECT_TRUE(WaitInFolder(
        node_.run_dir(),
        [&] {
          const auto lent = Ask("POST", "/v1/loans", R"({"holder": "fn/a/1", "count": 1})");
          if (!lent.ok() || lent->code >= 300) {
            return false;
          }
          const auto answer = doc::Parse(lent->body, doc::Format::kJson, "loan");
          loan_ = answer.ok() ? TextOf(*answer, "id") : "";
          return !loan_.empty();
        },
        kAgentPatience));
  }

  StatusOr<http::Response> Ask(const std::string& method, const std::string& target,
                               const std::string& body = "") const {
    return http::Fetch(node_.run_dir() + "/agent.sock",
                       {.method = method, .target = target, .body = body});
  }
  // Null while no agent answers.
  json::value Status() const {
    const auto response = Ask("GET", "/v1/status");
    const auto status = response.ok() ? doc::Parse(response->body, doc::Format::kJson, "status")
                                      : StatusOr<json::value>(response.status());
    return status.ok() && status->is_object() ? *status : json::value();
  }

  void Record(const std::string& title) {
    std::string section;
    Seen seen;
    const bool is_new =
        std::getenv("KGPU_UPDATE_GOLDENS") != nullptr;  // NOLINT(concurrency-mt-unsafe)
    const size_t number = steps_ - 1;
    const std::string wanted = !is_new && number < sections_.size() ? sections_[number] : "";
    auto since = std::chrono::steady_clock::now();
    const bool is_met = WaitInFolder(
        node_.run_dir(),
        [&] {
          seen = seen_;
          std::string now = title + Show(seen);
          if (now != section) {
            section = std::move(now);
            since = std::chrono::steady_clock::now();
          }
          return is_new ? std::chrono::steady_clock::now() - since > kSettled : section == wanted;
        },
        patience_);
    if (!is_met) {
      ADD_FAILURE() << title << "never shows its section";
      patience_ = std::chrono::seconds(2);  // for the rest of the differences
    }
    text_ += section;
    seen_ = std::move(seen);
  }

  // What steps show only when it has changed.
  struct Seen {
    std::map<std::string, std::string> answers{};  // of Allocate, by resource
    std::map<std::string, pid_t> daemons{};        // of MPS, by device
  };

  std::string Show(Seen& seen) const {
    const json::value status = Status();
    if (!status.is_object()) {
      return "no agent\n";
    }
    std::string text;
    for (const json::value& resource : ListOf(status, "resources")) {
      text += ShowResource(resource, seen.answers);
    }
    text += ShowRest(status) + ShowLists() + ShowDaemons(seen.daemons);
    return names_.Shorten(std::move(text));
  }
  std::string ShowResource(const json::value& resource,
                           std::map<std::string, std::string>& answers) const {
    std::string text;
    const std::string name = TextOf(resource, "name");
    text += fmt::format("{}: {}, kubelet has {}/{}\n", name, TextOf(resource, "state"),
                        kubelet_.Allocatable(name), kubelet_.Capacity(name));
    std::string healthy;  // the first one
    std::string last;     // slots of a device mostly share its health
    for (const json::value& device : ListOf(resource, "devices")) {
      const std::string health = HealthOf(device);
      healthy = health.empty() && healthy.empty() ? TextOf(device, "id") : healthy;
      const std::string before = std::exchange(last, TextOf(device, "device") + health);
      text += before == last ? " " : fmt::format("{}  ", before.empty() ? "" : "\n");
      text += before == last ? TextOf(device, "id") : health + TextOf(device, "id");
    }
    text += last.empty() ? "" : "\n";
    if (!healthy.empty()) {
      std::string answer = names_.Shorten(Answer(TextOf(resource, "socket"), healthy));
      const bool is_same = std::exchange(answers[name], answer) == answer;
      text += fmt::format("  allocate {}:{}\n", healthy, is_same ? " as before" : "");
      text += is_same ? "" : answer;
    }
    return text;
  }
  // The lists that the kubelet was sent in this step, by resource: each resource has a stream of
  // its own, so nothing orders lists of two resources.
  std::string ShowLists() const {
    std::map<std::string, std::vector<std::string>> lists;
    for (const kubelet::CallRecord& call : kubelet_.Calls()) {
      if (call.method == "ListAndWatchResponse") {
        AddList(call.arguments, lists[call.peer]);
      }
    }
    std::string text;
    for (const auto& [resource, sent] : lists) {
      text += fmt::format("sent {}: {}\n", resource, fmt::join(sent, "; "));
    }
    return text;
  }
  std::string ShowDaemons(std::map<std::string, pid_t>& daemons) const {
    const std::map<std::string, pid_t> before = std::exchange(daemons, LiveDaemons());
    std::map<std::string, std::string> lines;  // by the short name
    for (const auto& [device, pid] : daemons) {
      const auto known = before.find(device);
      lines[names_.Shorten(device)] = known == before.end()  ? "started"
                                      : known->second == pid ? "runs"
                                                             : "started again";
    }
    std::string text;
    for (const auto& [name, state] : lines) {
      text += fmt::format("daemon {}: {}\n", name, state);
    }
    return text;
  }
  std::map<std::string, pid_t> LiveDaemons() const {
    std::map<std::string, pid_t> daemons;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(node_.run_dir() + "/mps", error)) {
      std::ifstream file(entry.path() / "pipe/nvidia-cuda-mps-control.pid");
      if (pid_t pid = 0; file >> pid && pid > 1 && kill(pid, 0) == 0) {
        daemons[entry.path().filename()] = pid;
      }
    }
    return daemons;
  }
  static std::string ShowRest(const json::value& status) {
    std::string text;
    for (const json::value& pool : ListOf(status, "local")) {
      for (const json::value& device : ListOf(pool, "devices")) {
        text += fmt::format("local {} {}{}, holder: {}\n", TextOf(pool, "name"), HealthOf(device),
                            TextOf(device, "device"), TextOf(device, "holder"));
      }
    }
    for (const json::value& loan : ListOf(status, "loans")) {
      for (const json::value& uuid : ListOf(loan, "uuids")) {
        text += fmt::format("lent {} to {}\n", std::string_view(uuid.as_string()),
                            TextOf(loan, "holder"));
      }
    }
    for (const json::value& device : ListOf(status, "unassigned")) {
      text +=
          fmt::format("unassigned {}: {}\n", TextOf(device, "device"), TextOf(device, "reason"));
    }
    for (const json::value& goal : ListOf(status.at("mig"), "goals")) {
      text += fmt::format("mig {}: {} {}\n", TextOf(goal, "goal"), TextOf(goal, "state"),
                          TextOf(goal, "text"));
    }
    for (const char* list : {"notes", "sliceProblems"}) {
      for (const json::value& note : ListOf(status, list)) {
        text += fmt::format("{}: {}\n", list, std::string_view(note.as_string()));
      }
    }
    return text;
  }
  static std::string Answer(const std::string& socket, const std::string& device) {
    const auto plugin = PluginCaller::Connect(socket);
    const auto answer = plugin.ok() ? (*plugin)->Allocate({device})
                                    : StatusOr<kubelet::ContainerOptions>(plugin.status());
    return answer.ok() ? TextOf(*answer) : fmt::format("    {}\n", Message(answer.status()));
  }

  const std::string golden_;
  const std::vector<std::string> sections_;
  AgentNode node_;
  const Names names_;
  FakeKubelet kubelet_;  // goes first: it reads the node's folders
  std::string loan_;     // its id
  size_t steps_ = 0;
  Seen seen_;
  std::string text_;
  std::chrono::milliseconds patience_ = kAgentPatience;
};

class GoldenTraces : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenTraces, DecisionsOfTheAgentAreAsRecorded) {
  if (!e2e::CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  Trace(GetParam()).Run(ScriptOf(GetParam()));
}

std::vector<std::string> Kinds() {
  std::vector<std::string> kinds;
  kinds.reserve(kPools.size());
  for (const auto& [kind, pools] : kPools) {
    kinds.push_back(kind);
  }
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Kinds, GoldenTraces, ::testing::ValuesIn(Kinds()),
                         [](const auto& kind) { return kind.param; });

}  // namespace
}  // namespace kgpu::integration
