#include "src/node/cluster/rule_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <chrono>
#include <memory>

#include "src/kube/api/http_client.h"
#include "src/kube/api/test_transport.h"
#include "testing/apiserver/api.h"
#include "testing/apiserver/memory_transport.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"

namespace kgpu::cluster {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

json::value Crd(const std::string& plural, const std::string& kind, const std::string& scope) {
  return {{"apiVersion", "apiextensions.k8s.io/v1"},
          {"kind", "CustomResourceDefinition"},
          {"metadata", {{"name", plural + ".nfd.k8s-sigs.io"}}},
          {"spec",
           {{"group", "nfd.k8s-sigs.io"},
            {"scope", scope},
            {"names", {{"plural", plural}, {"singular", "x" + plural}, {"kind", kind}}},
            {"versions", json::array{{{"name", "v1alpha1"},
                                      {"served", true},
                                      {"storage", true},
                                      {"schema",
                                       {{"openAPIV3Schema",
                                         {{"type", "object"},
                                          {"x-kubernetes-preserve-unknown-fields", true}}}}}}}}}}};
}

class RuleWatchTest : public ::testing::Test {
 protected:
  void Do(std::string_view method, std::string_view target, const json::value& body) {
    const auto done = api_.Do(method, target, body);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  void InstallNfd() {
    const std::string crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    Do("POST", crds, Crd("nodefeaturerules", "NodeFeatureRule", "Cluster"));
    Do("POST", crds, Crd("nodefeatures", "NodeFeature", "Namespaced"));
  }
  void AddRule(const std::string& name, const json::value& rules) {
    Do("POST", "/apis/nfd.k8s-sigs.io/v1alpha1/nodefeaturerules",
       {{"apiVersion", "nfd.k8s-sigs.io/v1alpha1"},
        {"kind", "NodeFeatureRule"},
        {"metadata", {{"name", name}}},
        {"spec", {{"rules", rules}}}});
  }
  void AddFeature(const std::string& name, const std::string& node) {
    Do("POST", "/apis/nfd.k8s-sigs.io/v1alpha1/namespaces/default/nodefeatures",
       {{"apiVersion", "nfd.k8s-sigs.io/v1alpha1"},
        {"kind", "NodeFeature"},
        {"metadata",
         {{"name", name},
          {"namespace", "default"},
          {"labels", {{"nfd.node.kubernetes.io/node-name", node}}}}},
        {"spec", {{"labels", {{"vendor.io/" + name, "1"}}}}}});
  }
  std::unique_ptr<RuleWatch> MakeWatch() {
    return std::make_unique<RuleWatch>(loop_, client_, random_, "n1", "default", "kgpu-n1",
                                       [this] { ++changes_; });
  }
  void Start() {
    watch_ = MakeWatch();
    loop_.Advance(seconds(20));
  }
  uint64_t Requests() const { return requests_.sent; }

  // Counts what goes out.
  class Counting final : public kube::Transport {
   public:
    explicit Counting(kube::Transport& next) : next_(next) {}
    std::unique_ptr<kube::Exchange> Start(const http::Request& request,
                                          kube::ExchangeHandlers handlers) override {
      ++sent;
      return next_.Start(request, std::move(handlers));
    }
    uint64_t sent = 0;

   private:
    kube::Transport& next_;
  };

  FakeLoop loop_;
  apiserver::Api api_{loop_};
  apiserver::MemoryTransport memory_{loop_, api_};
  Counting requests_{memory_};
  kube::TestAuthenticator authenticator_;
  Random random_{7};
  kube::HttpClient client_{loop_, requests_, authenticator_, random_};
  int changes_ = 0;
  std::unique_ptr<RuleWatch> watch_;
};

TEST_F(RuleWatchTest, AClusterWithoutNfdAddsNothingAndIsAskedRarely) {
  Start();
  EXPECT_TRUE(watch_->is_known());
  EXPECT_THAT(watch_->labels()->rules, IsEmpty());
  const uint64_t before = Requests();
  loop_.Advance(minutes(60));
  EXPECT_LE(Requests() - before, 6U);
}

TEST_F(RuleWatchTest, FindsNfdWhenItComes) {
  Start();
  InstallNfd();
  AddRule("a", json::array{{{"name", "r"}, {"labels", {{"vendor.io/x", "1"}}}}});
  loop_.Advance(minutes(16));
  EXPECT_THAT(watch_->labels()->rules, SizeIs(1));
}

TEST_F(RuleWatchTest, NothingIsKnownWhileTheServerIsAway) {
  api_.faults().Add({.kind = apiserver::FaultKind::kAway, .lasts_for = seconds(1'000)});
  Start();
  loop_.Advance(seconds(900));
  EXPECT_FALSE(watch_->is_known());
  loop_.Advance(minutes(3));
  EXPECT_TRUE(watch_->is_known()) << "it is asked again soon when it is back";
}

TEST_F(RuleWatchTest, OneWrongAnswerIsNotBelieved) {
  InstallNfd();
  AddRule("a", json::array{{{"name", "r"}, {"labels", {{"vendor.io/x", "1"}}}}});
  api_.faults().Add({.kind = apiserver::FaultKind::kAnswer, .code = 404, .count = 1});
  watch_ = MakeWatch();
  for (int i = 0; i < 600 && !watch_->is_known(); ++i) {
    loop_.Advance(milliseconds(100));
  }
  EXPECT_TRUE(watch_->is_known());
  EXPECT_THAT(watch_->labels()->rules, SizeIs(1));
}

TEST_F(RuleWatchTest, ACollectionThatIsNotThereOrNotForUsAddsNothing) {
  Do("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
     Crd("nodefeaturerules", "NodeFeatureRule", "Cluster"));
  AddRule("a", json::array{{{"name", "r"}, {"labels", {{"vendor.io/x", "1"}}}}});
  Start();
  loop_.Advance(minutes(1));
  EXPECT_TRUE(watch_->is_known());
  EXPECT_THAT(watch_->labels()->rules, SizeIs(1));
  ASSERT_THAT(watch_->problems(), SizeIs(1));
  EXPECT_THAT(watch_->problems()[0], HasSubstr("nodefeatures"));
}

TEST_F(RuleWatchTest, WithoutTheRightToListItAsksRarely) {
  InstallNfd();
  api_.faults().Add({.kind = apiserver::FaultKind::kAnswer, .verb = "list", .code = 403});
  Start();
  loop_.Advance(minutes(2));
  EXPECT_TRUE(watch_->is_known());
  EXPECT_THAT(watch_->problems(), SizeIs(2));
  const uint64_t before = Requests();
  loop_.Advance(minutes(60));
  EXPECT_LE(Requests() - before, 26U);
}

TEST_F(RuleWatchTest, FollowsRules) {
  InstallNfd();
  Start();
  EXPECT_TRUE(watch_->is_known());
  AddRule("a", json::array{{{"name", "r"}, {"labels", {{"vendor.io/x", "1"}}}}});
  loop_.Advance(seconds(1));
  ASSERT_THAT(watch_->labels()->rules, SizeIs(1));
  EXPECT_EQ(watch_->labels()->rules[0].name, "a");
  EXPECT_GT(changes_, 0);
}

TEST_F(RuleWatchTest, AWrongRuleIsReported) {
  InstallNfd();
  AddRule("a", json::array{{{"name", "r"}, {"labels", 7}}});
  Start();
  ASSERT_THAT(watch_->problems(), SizeIs(1));
  EXPECT_THAT(watch_->problems()[0], HasSubstr("a"));
}

TEST_F(RuleWatchTest, TakesFeaturesOfOthersAboutThisNode) {
  InstallNfd();
  AddFeature("mine", "n1");
  AddFeature("other-node", "n2");
  AddFeature("kgpu-n1", "n1");  // what we write ourselves
  Start();
  const labels::ClusterLabels found = *watch_->labels();
  ASSERT_THAT(found.features, SizeIs(1));
  EXPECT_EQ(found.features[0].name, "mine");
}

}  // namespace
}  // namespace kgpu::cluster
