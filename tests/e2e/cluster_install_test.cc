// `kgpu cluster …` and `kubectl kgpu …` against `kgpu-sim apiserver` with controllers; and what an
// agent leaves on a host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "src/platform/net/http/client.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/kubectl.h"
#include "tests/e2e/program.h"
#include "tests/e2e/sim_host.h"

namespace kgpu::e2e {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ClusterInstallTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<Background>(
        std::vector<std::string>{ProgramPath("kgpu-sim"), "apiserver", "--controllers",
                                 "--kubeconfig-out", dir_.At("kubeconfig")});
    ASSERT_TRUE(server_->WaitFor("serving on http://"));
    const std::string& out = server_->out();
    const size_t begin = out.find("http://") + 7;
    address_ = out.substr(begin, out.find('\n', begin) - begin);
    for (const char* name : {"n1", "n2"}) {
      Ask("POST", "/api/v1/nodes",
          fmt::format(R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}"}}}})", name));
    }
    // The kubelets have reported their nodes.
    for (const char* name : {"n1", "n2"}) {
      ASSERT_TRUE(WaitForText(fmt::format("/api/v1/nodes/{}", name), "\"Ready\""));
    }
  }

  std::string Ask(const std::string& method, const std::string& target,
                  const std::string& body = "") const {
    http::Request request{.method = method, .target = target, .body = body};
    request.headers.Add("Content-Type", "application/json");
    const auto answer = http::Fetch(address_, request);
    EXPECT_OK(answer);
    return answer.ok() ? answer->body : std::string();
  }
  // Reads again whenever nodes change, for at most 20 s.
  bool WaitForText(const std::string& target, const std::string& text) const {
    const auto until = std::chrono::steady_clock::now() + seconds(20);
    while (Ask("GET", target).find(text) == std::string::npos) {
      if (std::chrono::steady_clock::now() > until) {
        return false;
      }
      (void)http::Fetch(address_, {.target = "/api/v1/nodes?watch=1&timeoutSeconds=1"});
    }
    return true;
  }
  std::string Dump() const { return Ask("GET", "/stub/dump"); }

  std::vector<std::string> Command(std::vector<std::string> words) const {
    words.insert(words.begin(), {ProgramPath("kgpu"), "cluster"});
    words.insert(words.end(), {"--kubeconfig", dir_.At("kubeconfig")});
    return words;
  }
  Result Cluster(const std::vector<std::string>& words) const {
    return RunProgram(Command(words), seconds(120));
  }
  Result Uninstall() const { return Cluster({"uninstall", "--yes", "--keep-host-files"}); }

  TempDir dir_;
  std::unique_ptr<Background> server_;
  std::string address_;
};

TEST_F(ClusterInstallTest, InstallsUpgradesAndLeavesNothing) {
  const std::string before = Dump();
  const Result dry = Cluster({"install", "--dry-run"});
  EXPECT_EQ(dry.code, 0) << dry.err;
  EXPECT_THAT(dry.out, HasSubstr("DaemonSet kgpu/kgpu-agent: would be created"));
  EXPECT_EQ(Dump(), before);

  const Result installed = Cluster({"install", "--timeout", "60s"});
  ASSERT_EQ(installed.code, 0) << installed.err << installed.out;
  EXPECT_THAT(installed.err, HasSubstr("2 of 2 pods are available"));
  EXPECT_THAT(installed.out, HasSubstr("Namespace kgpu: created"));

  const Result upgraded = Cluster({"upgrade", "--set", "agent.nodeSelector.gpu=true", "--no-wait"});
  ASSERT_EQ(upgraded.code, 0) << upgraded.err;
  EXPECT_THAT(upgraded.out,
              AllOf(HasSubstr("DaemonSet kgpu/kgpu-agent: changed"),
                    HasSubstr("spec.template.spec.nodeSelector: + {\"gpu\":\"true\"}")));
  const Result again = Cluster({"upgrade", "--no-wait"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("no changes"));

  const Result removed = Uninstall();
  ASSERT_EQ(removed.code, 0) << removed.err << removed.out;
  EXPECT_EQ(Dump(), before);
  EXPECT_EQ(Uninstall().code, 3);
}

TEST_F(ClusterInstallTest, FunctionsComeWithOneFlagAndLeaveNothing) {
  const std::string before = Dump();
  const std::string secret = "/api/v1/namespaces/kgpu/secrets/kgpu-gateway-tokens";
  const Result installed =
      Cluster({"install", "--functions", "--set", "functions.quotas={kgpu-functions: {gpus: 4}}",
               "--timeout", "60s"});
  ASSERT_EQ(installed.code, 0) << installed.err << installed.out;
  EXPECT_THAT(installed.err, HasSubstr("the gateway's admin token: kubectl -n kgpu get secret "
                                       "kgpu-gateway-tokens"));
  EXPECT_THAT(installed.out, AllOf(HasSubstr("Namespace kgpu-functions: created"),
                                   HasSubstr("ResourceQuota kgpu-functions/kgpu-functions"),
                                   HasSubstr("Deployment kgpu/kgpu-gateway")));
  const std::string tokens = Ask("GET", secret);
  EXPECT_THAT(tokens, HasSubstr("admin-token"));
  const Result again = Cluster({"upgrade", "--functions", "--no-wait"});
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("no changes"));
  EXPECT_EQ(Ask("GET", secret), tokens);

  // A function, as the gateway deploys it.
  Ask("POST", "/apis/apps/v1/namespaces/kgpu-functions/deployments",
      R"({"metadata": {"name": "hello", "labels": {"app.kubernetes.io/managed-by": "kgpu-gateway",
          "kgpu.dev/function": "hello"}}, "spec": {"selector": {"matchLabels": {"a": "b"}},
          "template": {"metadata": {"labels": {"a": "b"}},
                       "spec": {"containers": [{"name": "function", "image": "i"}]}}}})");
  const Result dropped = Cluster({"upgrade", "--set", "functions.enabled=false", "--no-wait"});
  EXPECT_EQ(dropped.code, 6) << dropped.out;
  EXPECT_THAT(dropped.err, HasSubstr("holds Deployment kgpu-functions/hello"));
  const Result refused = Uninstall();
  EXPECT_EQ(refused.code, 6) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("functions are deployed (kgpu-functions/hello)"),
                                 HasSubstr("--delete-functions")));
  const Result removed = Cluster({"uninstall", "--yes", "--keep-host-files", "--delete-functions"});
  ASSERT_EQ(removed.code, 0) << removed.err << removed.out;
  EXPECT_EQ(Dump(), before);
}

TEST_F(ClusterInstallTest, AKilledRunIsContinued) {
  const std::string before = Dump();
  Ask("POST", "/stub/faults", R"({"kind": "delay", "delayMs": 20})");
  for (const int time : {50, 250, 450, 650, 850}) {
    Background run(Command({"install", "--no-wait"}));
    (void)run.RunsFor(milliseconds(time));
    kill(run.pid(), SIGKILL);
  }
  const Result installed = Cluster({"install", "--no-wait"});
  ASSERT_EQ(installed.code, 0) << installed.err;
  for (const int time : {200, 500, 800}) {
    Background run(Command({"uninstall", "--yes", "--keep-host-files"}));
    (void)run.RunsFor(milliseconds(time));
    kill(run.pid(), SIGKILL);
  }
  const Result removed = Uninstall();
  EXPECT_TRUE(removed.code == 0 || removed.code == 3) << removed.err << removed.out;
  EXPECT_EQ(Dump(), before);
}

TEST_F(ClusterInstallTest, ErrorsHaveTheirExitCodes) {
  const Result none = Cluster({"status"});
  EXPECT_EQ(none.code, 3);
  EXPECT_THAT(none.err, HasSubstr("kgpu cluster install"));
  EXPECT_EQ(Cluster({"upgrade"}).code, 3);
  Ask("POST", "/stub/faults",
      R"({"kind": "answer", "verb": "apply", "resource": "serviceaccounts", "code": 403})");
  const Result refused = Cluster({"install", "--no-wait"});
  EXPECT_EQ(refused.code, 5);
  EXPECT_THAT(refused.err, HasSubstr("ServiceAccount kgpu/kgpu-agent"));
  Ask("DELETE", "/stub/faults");
  EXPECT_EQ(Cluster({"install", "--no-wait"}).code, 0);
}

TEST_F(ClusterInstallTest, KubectlRunsItAsAPlugin) {
  if (!HasKubectl()) {
    GTEST_SKIP() << "no kubectl: install kubernetes-client (scripts/setup.sh --test)";
  }
  dir_.MakeDir("bin");
  for (const char* name : {"kubectl-kgpu", "kubectl_complete-kgpu"}) {
    std::filesystem::create_symlink(ProgramPath("kgpu"), dir_.At(fmt::format("bin/{}", name)));
  }
  const auto kubectl = [&](const std::vector<std::string>& arguments) {
    std::vector<std::string> argv = KubectlCommand(dir_.path(), arguments);
    for (std::string& word : argv) {
      if (word.starts_with("PATH=")) {
        word += ":" + dir_.At("bin");
      }
    }
    return RunProgram(argv, seconds(120));
  };
  const Result installed = kubectl({"kgpu", "install"});
  ASSERT_EQ(installed.code, 0) << installed.err;
  const Result status = kubectl({"kgpu", "status", "-n", "kgpu"});
  EXPECT_EQ(status.code, 0) << status.err << status.out;
  EXPECT_THAT(status.out, AllOf(HasSubstr("NODE"), HasSubstr("n2")));
  EXPECT_THAT(kubectl({"kgpu", "--help"}).out, HasSubstr("uninstall"));
  EXPECT_THAT(
      kubectl({"get", "configmap", "-n", "kgpu", "kgpu-install", "-o", "jsonpath={.data.state}"})
          .out,
      HasSubstr("installed"));
  const Result words = RunProgram({dir_.At("bin/kubectl_complete-kgpu"), "up"});
  EXPECT_THAT(words.out, AllOf(HasSubstr("upgrade"), HasSubstr("\n:4\n")));
}

// Every path of a folder with what it is; not what sockets and pipes contain.
std::string TreeOf(const std::string& folder) {
  std::vector<std::string> lines;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().lexically_relative(folder).string();
    std::string content;
    if (entry.is_symlink()) {
      content = std::filesystem::read_symlink(entry.path()).string();
    } else if (entry.is_regular_file()) {
      std::ifstream file(entry.path(), std::ios::binary);
      std::ostringstream text;
      text << file.rdbuf();
      content = fmt::format("{}", std::hash<std::string>()(text.str()));
    }
    lines.push_back(fmt::format("{} {}", path, content));
  }
  std::ranges::sort(lines);
  return fmt::format("{}", fmt::join(lines, "\n"));
}

TEST(HostFilesTest, ClearingAHostRestoresItsTree) {
  if (!CanMakeDevices()) {
    GTEST_SKIP() << "character devices cannot be created here: run as root with CAP_MKNOD";
  }
  const SimHost host("4xT4");
  for (const char* folder :
       {"var/lib/kubelet/device-plugins", "var/lib/kubelet/plugins_registry"}) {
    std::filesystem::create_directories(host.path() + "/" + folder);
  }
  // With configurations to choose from, the agent remembers its choice.
  const TempDir etc;
  etc.WriteFile("config.yaml", "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n");
  etc.WriteFile("configs/mig.yaml", "version: v1\n");
  const std::string before = TreeOf(host.path());
  {
    std::vector<std::string> argv = {
        ProgramPath("kgpu"),  "agent", "--http-address", "off", "--node", "n1", "--config",
        etc.At("config.yaml")};
    for (const std::string& flag : host.flags()) {
      argv.push_back(flag);
    }
    const Background agent(argv);
    // It waits ten seconds for labels before it chooses.
    const auto until = std::chrono::steady_clock::now() + seconds(40);
    for (const char* name : {"agent-memory.json", "chosen-config.json"}) {
      const std::string file = fmt::format("{}/run/kgpu/{}", host.path(), name);
      while (!std::filesystem::exists(file) && std::chrono::steady_clock::now() < until) {
        ASSERT_TRUE(agent.RunsFor(milliseconds(50)));
      }
      ASSERT_TRUE(std::filesystem::exists(file)) << name;
    }
    // What the agent writes where a runtime reads CDI.
    EXPECT_EQ(host.Kgpu({"cdi", "generate"}).code, 0);
    EXPECT_TRUE(std::filesystem::exists(host.path() + "/run/cdi"));
    const Result refused =
        RunProgram({"kgpu", "node", "clear", "--host-files", "--host-root", host.path()});
    EXPECT_EQ(refused.code, 6) << refused.out;
  }
  EXPECT_NE(TreeOf(host.path()), before);
  const Result cleared =
      RunProgram({"kgpu", "node", "clear", "--host-files", "--host-root", host.path()});
  ASSERT_EQ(cleared.code, 0) << cleared.err;
  EXPECT_EQ(TreeOf(host.path()), before) << cleared.out;
}

}  // namespace
}  // namespace kgpu::e2e
