// The configuration that a node's labels choose, with the stub API server in simulated time: labels
// from the watch of the Node object, and the condition GPUConfigured on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <filesystem>
#include <memory>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "src/node/choice/config_source.h"
#include "src/node/object/syncer.h"
#include "src/platform/base/log.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::choice {
namespace {

namespace json = boost::json;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kNode[] = "/api/v1/nodes/n1";
constexpr char kHead[] = "apiVersion: kgpu.dev/v1\nkind: NodeConfig\n";
constexpr char kOurLabel[] = "kgpu.dev/config";

class NodeChoiceTest : public ::testing::Test {
 protected:
  NodeChoiceTest() {
    SetLogSink([](LogLevel, std::string_view) {});
    dir_.MakeDir("run");
    dir_.WriteFile("etc/config.yaml", Pool("default"));
    Do("POST", "/api/v1/nodes",
       {{"apiVersion", "v1"}, {"kind", "Node"}, {"metadata", {{"name", "n1"}}}});
  }
  ~NodeChoiceTest() override { SetLogSink({}); }

  static std::string Pool(const std::string& name) {
    return fmt::format("{}pools: [{{resource: example.com/{}}}]\n", kHead, name);
  }
  void Do(std::string_view method, std::string_view target, const json::value& body) {
    const auto done = api_.Do(method, target, body);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  void Label(const char* key, const json::value& value) {
    Do("PATCH", kNode, {{"metadata", {{"labels", {{key, value}}}}}});
    Settle();
  }
  // As the kubelet mounts a ConfigMap: the files are links into a folder that is replaced whole.
  void Mount(const std::string& folder, const std::map<std::string, std::string>& files) {
    const std::string at = "etc/" + folder;
    const std::string version = fmt::format("..{}", ++mounts_);
    dir_.MakeDir(at + "/" + version);
    for (const auto& [key, text] : files) {
      dir_.WriteFile(fmt::format("{}/{}/{}", at, version, key), text);
      std::error_code error;
      std::filesystem::remove(dir_.At(fmt::format("{}/{}", at, key)), error);
      dir_.Symlink(fmt::format("..data/{}", key), fmt::format("{}/{}", at, key));
    }
    dir_.Symlink(version, at + "/..data_tmp");
    std::filesystem::rename(dir_.At(at + "/..data_tmp"), dir_.At(at + "/..data"));
    Settle();
  }
  void Settle() {
    loop_.RunUntilIdle();
    loop_.Advance(seconds(2));
  }

  // What AgentImpl does.
  void StartSource() {
    source_ = std::make_unique<ConfigSource>(
        loop_,
        ConfigSourceOptions{.file = dir_.At("etc/config.yaml"),
                            .must_exist = true,
                            .saved = dir_.At("run/chosen-config.json")},
        [this] { OnConfig(); });
  }
  void StartSyncer() {
    node::SyncerOptions options;
    options.node = "n1";
    syncer_ = std::make_unique<node::Syncer>(
        loop_, client_, random_, options,
        node::Syncer::Handlers{.notify = [](const node::NodeEvent&) {},
                               .changed =
                                   [this] {
                                     if (syncer_->seen() != nullptr) {
                                       source_->SetLabels(syncer_->seen()->labels.values);
                                     }
                                   }});
    OnConfig();
  }
  void Start() {
    StartSource();
    StartSyncer();
    loop_.Advance(seconds(8));
  }
  void Stop() {
    syncer_.reset();
    source_.reset();
  }
  void OnConfig() {
    if (!syncer_ || !source_->has_labels()) {
      return;
    }
    node::DesiredConfig desired;
    if (const auto condition = choice::ConditionOf(source_->report())) {
      desired.condition =
          node::ConditionText{condition->status == "True", condition->reason, condition->message};
    }
    syncer_->SetConfig(desired);
  }

  // The pool's name; "none" without a configuration.
  std::string Runs() const {
    return source_->config() ? source_->config()->pools.at(0).resource.substr(12) : "none";
  }
  std::string Condition() const {
    const auto stored = api_.Find(kNode);
    const auto node = node::ReadNode(stored->object());
    EXPECT_OK(node.status());
    return node.ok() && node->gpu_configured
               ? fmt::format("{} {}: {}", node->gpu_configured->status,
                             node->gpu_configured->reason, node->gpu_configured->message)
               : "none";
  }
  uint64_t Writes() {
    return api_.counters().Sum("patch").requests + api_.counters().Sum("apply").requests;
  }

  TempDir dir_;
  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport transport_{loop_, api_};
  kube::TestAuthenticator authenticator_;
  Random random_{7};
  kube::HttpClient client_{loop_, transport_, authenticator_, random_};
  std::unique_ptr<ConfigSource> source_;
  std::unique_ptr<node::Syncer> syncer_;
  int mounts_ = 0;
};

TEST_F(NodeChoiceTest, AnOrdinaryNodeStartsAtOnceAndWritesNothing) {
  dir_.MakeDir("etc/configs");  // what the kubelet makes for an optional ConfigMap
  StartSource();
  EXPECT_EQ(Runs(), "default");
  StartSyncer();
  loop_.Advance(hours(1));
  EXPECT_EQ(Condition(), "none");
  EXPECT_EQ(Writes(), 0U);
}

TEST_F(NodeChoiceTest, FollowsALabelThatIsSetChangedAndRemoved) {
  Mount("configs", {{"mig.yaml", Pool("mig")}, {"shared", Pool("shared")}});
  Start();
  EXPECT_EQ(Runs(), "default");
  EXPECT_THAT(Condition(), AllOf(StartsWith("True ConfigApplied: runs "),
                                 HasSubstr("/etc/config.yaml (default)")));
  Label(kOurLabel, "mig");
  EXPECT_EQ(Runs(), "mig");
  EXPECT_EQ(Condition(),
            "True ConfigApplied: runs mig from kgpu-configs (label kgpu.dev/config=mig)");
  Label(kOurLabel, "shared");
  EXPECT_EQ(Runs(), "shared");
  Label(kOurLabel, nullptr);
  EXPECT_EQ(Runs(), "default");
}

TEST_F(NodeChoiceTest, TakesNvidiasLabelAndConfigurations) {
  Mount("configs", {{"a100-shared",
                     "version: v1\nsharing: {timeSlicing: {resources: [{name: nvidia.com/gpu, "
                     "replicas: 4}]}}\n"}});
  Start();
  Label("nvidia.com/device-plugin.config", "a100-shared");
  ASSERT_NE(source_->config(), nullptr);
  EXPECT_EQ(source_->config()->pools.at(0).share.replicas, 4U);
  EXPECT_EQ(Condition(),
            "True ConfigApplied: runs a100-shared from kgpu-configs (label "
            "nvidia.com/device-plugin.config=a100-shared)");
}

TEST_F(NodeChoiceTest, ThePolicyChoosesByItsSelectors) {
  Label("pool", "training");
  Mount("policy", {{"training.yaml", Pool("training")},
                   {"selectors.yaml",
                    "- {config: training, nodeSelector: {matchLabels: {pool: training}}}\n"}});
  Start();
  EXPECT_EQ(Runs(), "training");
  EXPECT_THAT(Condition(), HasSubstr("runs training from kgpu-policy (selector 1 of kgpu-policy)"));
}

TEST_F(NodeChoiceTest, AConfigurationIsEditedLive) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  EXPECT_EQ(Runs(), "mig");
  Mount("configs", {{"mig.yaml", Pool("other")}});
  EXPECT_EQ(Runs(), "other");
}

TEST_F(NodeChoiceTest, ConfigMapsMayComeWhileTheAgentRuns) {
  Start();
  Label(kOurLabel, "mig");
  EXPECT_EQ(Runs(), "default");
  EXPECT_THAT(Condition(), HasSubstr("False ConfigUnknown: runs "));
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  EXPECT_EQ(Runs(), "mig");
}

TEST_F(NodeChoiceTest, WhatIsInvalidOrUnknownLeavesTheOldOneRunning) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}, {"shared.yaml", Pool("shared")}});
  Start();
  Mount("configs",
        {{"mig.yaml", std::string(kHead) + "pool: []\n"}, {"shared.yaml", Pool("shared")}});
  EXPECT_EQ(Runs(), "mig");
  EXPECT_THAT(Condition(),
              AllOf(StartsWith("False ConfigInvalid: runs mig from kgpu-configs (label "),
                    HasSubstr("/etc/configs/mig.yaml:3:1: pool: unknown key, did you mean")));
  Label(kOurLabel, "share");
  EXPECT_EQ(Runs(), "mig");
  EXPECT_THAT(Condition(), AllOf(StartsWith("False ConfigUnknown: runs mig"),
                                 HasSubstr("did you mean \"shared\"?")));
  Label(kOurLabel, "shared");
  EXPECT_EQ(Runs(), "shared");
  EXPECT_THAT(Condition(), StartsWith("True ConfigApplied"));
}

TEST_F(NodeChoiceTest, TheConditionGoesWithItsReason) {
  dir_.WriteFile("etc/config.yaml", "pool: []\n");
  Start();
  EXPECT_EQ(Runs(), "none");
  EXPECT_THAT(Condition(), StartsWith("False ConfigInvalid: runs none; "));
  dir_.WriteFile("etc/config.yaml", Pool("good"));
  Settle();
  EXPECT_EQ(Runs(), "good");
  EXPECT_EQ(Condition(), "none");
}

TEST_F(NodeChoiceTest, AFirstStartWaitsForTheLabels) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  StartSource();
  loop_.Advance(seconds(1));
  EXPECT_EQ(Runs(), "none");
  EXPECT_EQ(source_->report().state, choice::State::kWaiting);
  StartSyncer();
  loop_.Advance(seconds(6));
  EXPECT_EQ(Runs(), "mig");
}

TEST_F(NodeChoiceTest, WithoutAnApiServerTheDefaultServesAfterAWhile) {
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Label(kOurLabel, "mig");
  StartSource();
  loop_.Advance(milliseconds(9'900));
  EXPECT_EQ(Runs(), "none");
  loop_.Advance(milliseconds(200));
  EXPECT_EQ(Runs(), "default");
  EXPECT_FALSE(source_->has_labels());
  StartSyncer();  // the server comes
  loop_.Advance(seconds(6));
  EXPECT_EQ(Runs(), "mig");
}

TEST_F(NodeChoiceTest, AnUnknownNameAtTheFirstStartServesNothing) {
  Label(kOurLabel, "mgi");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  EXPECT_EQ(Runs(), "none");
  EXPECT_THAT(Condition(), StartsWith("False ConfigUnknown: runs none; label kgpu.dev/config=mgi"));
}

TEST_F(NodeChoiceTest, ARestartNeedsNoApiServer) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  Stop();
  StartSource();
  EXPECT_EQ(Runs(), "mig");
  Mount("configs", {{"mig.yaml", Pool("edited")}});
  EXPECT_EQ(Runs(), "edited") << "the labels of before count";
}

TEST_F(NodeChoiceTest, ARestartKeepsWhatRanBeforeAnError) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  Mount("configs", {{"mig.yaml", "nonsense"}});
  Stop();
  StartSource();
  EXPECT_EQ(Runs(), "mig");
  EXPECT_EQ(source_->report().state, choice::State::kInvalid);
  EXPECT_EQ(source_->report().why, "label kgpu.dev/config=mig");
}

TEST_F(NodeChoiceTest, ARestartFollowsWhatChangedMeanwhile) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}, {"shared.yaml", Pool("shared")}});
  Start();
  Stop();
  Label(kOurLabel, "shared");
  Start();
  EXPECT_EQ(Runs(), "shared");
  Stop();
  Label(kOurLabel, nullptr);
  Start();
  EXPECT_EQ(Runs(), "default") << "also where the default is what an empty choice is";
}

TEST_F(NodeChoiceTest, NothingIsSavedForAnOrdinaryNode) {
  Label(kOurLabel, "mig");
  Start();
  EXPECT_TRUE(std::filesystem::exists(dir_.At("run/chosen-config.json")));
  Label(kOurLabel, nullptr);
  EXPECT_FALSE(std::filesystem::exists(dir_.At("run/chosen-config.json")));
  EXPECT_EQ(Condition(), "none");
}

TEST_F(NodeChoiceTest, WritesNothingInAQuietHourNorAtARestart) {
  Label(kOurLabel, "mig");
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  api_.counters().Reset();
  loop_.Advance(hours(1));
  Stop();
  Start();
  loop_.Advance(minutes(1));
  EXPECT_EQ(Writes(), 0U);
}

TEST_F(NodeChoiceTest, ALabelThatDecidesNothingChangesNothing) {
  Mount("configs", {{"mig.yaml", Pool("mig")}});
  Start();
  const ConfigPtr before = source_->config();
  api_.counters().Reset();
  Label("team", "a");
  EXPECT_EQ(source_->config(), before);
  EXPECT_EQ(Writes(), 0U);
}

}  // namespace
}  // namespace kgpu::choice
