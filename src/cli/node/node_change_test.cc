#include "src/cli/node/node_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "src/kube/api/client.h"
#include "src/node/labels/feature_files.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::cli {
namespace {

namespace json = boost::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A server with one node, of which a test can change the answers.
class OneNodeApi final : public NodeApi {
 public:
  StatusOr<json::value> Send(kube::ApiRequest request) override {
    const std::string what = fmt::format("{} {}", request.method, request.path);
    sent_.push_back(what);
    if (const auto refusal = refuse_ ? refuse_(what) : OkStatus(); !refusal.ok()) {
      return refusal;
    }
    if (request.path.find("nodefeatures") != std::string::npos) {
      return json::parse(R"({"items":[
          {"metadata":{"name":"a","namespace":"s","uid":"1","annotations":{"kgpu.dev/digest":"1"}}},
          {"metadata":{"name":"b","namespace":"s","uid":"2","annotations":{"kgpu.dev/digest":"1"}}}
        ]})");
    }
    if (request.method != "GET") {
      SetNode(on_write_);
    }
    return node_;
  }

  void SetNode(const std::string& labels) {
    node_ = json::parse(fmt::format(
        R"({{"metadata":{{"name":"n","uid":"u","resourceVersion":"{}","labels":{{{}}}}}}})",
        ++version_, labels));
  }
  // The labels after a write that succeeds.
  void SetOnWrite(std::string labels) { on_write_ = std::move(labels); }
  // An error in place of the answer to "METHOD /path".
  void SetRefuse(std::function<Status(const std::string&)> refuse) { refuse_ = std::move(refuse); }
  const std::vector<std::string>& sent() const { return sent_; }

 private:
  int version_ = 0;
  json::value node_;
  std::string on_write_;
  std::function<Status(const std::string&)> refuse_;
  std::vector<std::string> sent_;
};

class NodeChangeTest : public ::testing::Test {
 protected:
  NodeChangeTest() { api_.SetNode(""); }

  Status SetLabel(bool overwrite = false) {
    return Carry(
        api_, options_,
        [overwrite](const node::SeenNode& seen) {
          return node::PlanLabels(seen, {{.key = "gpu", .value = "true"}}, overwrite);
        },
        change_);
  }
  // The first write meets a node that `labels` were set on meanwhile.
  void ChangeMeanwhile(const std::string& labels) {
    api_.SetRefuse([this, labels, is_done = false](const std::string& what) mutable {
      if (what.starts_with("GET") || std::exchange(is_done, true)) {
        return OkStatus();
      }
      api_.SetNode(labels);
      return MakeStatus(StatusCode::kAborted, "the object has been modified");
    });
  }

  OneNodeApi api_;
  NodeOptions options_;
  NodeChange change_{.node = "n"};
};

TEST_F(NodeChangeTest, TellsWhatItWrote) {
  api_.SetOnWrite(R"("gpu":"true")");
  EXPECT_OK(SetLabel());
  EXPECT_THAT(change_.changes, ElementsAre("label + gpu=true"));
}

TEST_F(NodeChangeTest, WritesAgainWhenTheNodeChangedMeanwhile) {
  ChangeMeanwhile(R"("zone":"a")");
  api_.SetOnWrite(R"("gpu":"true")");
  EXPECT_OK(SetLabel());
  EXPECT_THAT(change_.changes, ElementsAre("label + gpu=true"));
  EXPECT_EQ(api_.sent().size(), 4U);
}

TEST_F(NodeChangeTest, AnotherValueThatCameMeanwhileIsAnError) {
  ChangeMeanwhile(R"("gpu":"false")");
  EXPECT_THAT(SetLabel(), StatusIs(StatusCode::kAlreadyExists, HasSubstr("gpu=false")));
  EXPECT_THAT(change_.changes, IsEmpty());
}

TEST_F(NodeChangeTest, WhatSomebodyElseDidMeanwhileIsNotOurs) {
  ChangeMeanwhile(R"("gpu":"true")");
  EXPECT_OK(SetLabel());
  EXPECT_THAT(change_.changes, IsEmpty());
}

TEST_F(NodeChangeTest, TellsNothingThatTheServerRefused) {
  api_.SetRefuse([](const std::string& what) {
    return what.starts_with("GET") ? OkStatus() : MakeStatus(StatusCode::kPermissionDenied, "no");
  });
  EXPECT_THAT(SetLabel(), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(change_.changes, IsEmpty());
}

TEST_F(NodeChangeTest, ADryRunTellsWhatWouldBeWritten) {
  options_.is_dry_run = true;
  EXPECT_OK(SetLabel());
  EXPECT_THAT(change_.changes, ElementsAre("label + gpu=true"));
}

class NodeClearTest : public NodeChangeTest {
 protected:
  NodeClearTest() {
    dir_.WriteFile(kFile,
                   "# Written by kgpu, which overwrites this file.\n"
                   "a=b\n");
  }

  Status Clear() {
    ClearOptions options;
    options.host_root = dir_.path();
    return ClearNode(api_, options, change_);
  }
  void Refuse(std::string_view part, StatusCode code) {
    api_.SetRefuse([part, code](const std::string& what) {
      return what.find(part) == what.npos ? OkStatus() : MakeStatus(code, "refused");
    });
  }
  bool HasFile() const { return !dir_.ReadFile(kFile).empty(); }

  const std::string kFile =
      fmt::format("{}/{}", labels::kFeatureFilesFolder, labels::kOwnFeatureFile);
  TempDir dir_;
};

TEST_F(NodeClearTest, TakesObjectsAndFile) {
  EXPECT_OK(Clear());
  EXPECT_THAT(change_.changes,
              ElementsAre("NodeFeature - s/a", "NodeFeature - s/b", HasSubstr("file - /")));
  EXPECT_FALSE(HasFile());
}

TEST_F(NodeClearTest, TakesTheFileThoughNodeFeaturesAreRefused) {
  Refuse("nodefeatures", StatusCode::kPermissionDenied);
  EXPECT_THAT(Clear(), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(change_.changes, ElementsAre(HasSubstr("file - /")));
  EXPECT_FALSE(HasFile());
}

TEST_F(NodeClearTest, AClusterThatKnowsNoNodeFeaturesHasNone) {
  Refuse("nodefeatures", StatusCode::kNotFound);
  EXPECT_OK(Clear());
  EXPECT_FALSE(HasFile());
}

TEST_F(NodeClearTest, GoesOnAfterAnObjectThatIsRefused) {
  Refuse("nodefeatures/a", StatusCode::kPermissionDenied);
  EXPECT_THAT(Clear(), StatusIs(StatusCode::kPermissionDenied));
  EXPECT_THAT(change_.changes, ElementsAre("NodeFeature - s/b", HasSubstr("file - /")));
}

TEST_F(NodeClearTest, AsksNoMoreOfAServerThatDoesNotAnswer) {
  Refuse("", StatusCode::kUnavailable);
  EXPECT_THAT(Clear(), StatusIs(StatusCode::kUnavailable));
  EXPECT_EQ(api_.sent().size(), 1U);
  EXPECT_FALSE(HasFile());
}

}  // namespace
}  // namespace kgpu::cli
