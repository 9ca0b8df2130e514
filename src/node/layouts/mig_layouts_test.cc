#include "src/node/layouts/mig_layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <boost/json.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "src/node/layouts/mig_label.h"
#include "src/node/part/test_effects.h"
#include "src/node/pools/test_node.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::layouts {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

TEST(MigBegunTest, IsReadBack) {
  const MigChanges::Begun begun{.gpu = pools::TestGpuName(1),
                                .layout = {.named = "half", .configs_file = "/etc/kgpu/mig.yaml"}};
  EXPECT_THAT(ParseBegun(PrintBegun(begun)), IsOkAndHolds(begun));
}

TEST(MigBegunTest, IsTheRequestForOneGpu) {
  const std::string two =
      mig::PrintRequest({.step = mig::Step::kChange,
                         .layout = {.named = "half"},
                         .gpus = {pools::TestGpuName(0), pools::TestGpuName(1)}});
  for (const std::string& text : {std::string(), std::string("{}"), two}) {
    EXPECT_THAT(ParseBegun(text), StatusIs(StatusCode::kInvalidArgument, HasSubstr(kMigBegunFile)))
        << text;
  }
}

TEST(MigLabelTest, WhatIsNotKnownStays) {
  node::SeenNode seen;
  seen.labels.values[kMigStateLabel] = "success";
  std::optional<labels::NodeClaims> claims = labels::NodeClaims();
  AddMigState("", &seen, claims);
  EXPECT_THAT(claims->labels, IsEmpty()) << "it is another's";
  seen.labels.ours.insert(kMigStateLabel);
  AddMigState("", &seen, claims);
  EXPECT_EQ(claims->labels[kMigStateLabel], "success");
  AddMigState("failed", &seen, claims);
  EXPECT_EQ(claims->labels[kMigStateLabel], "failed");
  AddMigState(std::nullopt, &seen, claims);
  EXPECT_THAT(claims->labels, IsEmpty());
}

TEST(MigWithdrawnTest, IsWhatWasMarked) {
  pools::Assignment assignment;
  const auto add = [&](unsigned gpu, std::string_view reason) {
    pools::Slot& slot = assignment.resources.emplace_back().slots.emplace_back();
    slot.gpu = *device::GpuUuid::Parse(pools::TestGpuName(gpu));
    slot.health.is_healthy = reason.empty();
    slot.health.reason = reason;
  };
  add(0, "");
  add(1, pools::kMigChangeReason);
  add(1, pools::kMigChangeReason);
  add(2, "Lost");
  EXPECT_THAT(WithdrawnIn(assignment), ElementsAre(pools::TestGpuName(1)));
}

// The helper is a script that keeps its requests and always replies the same.
class MigLayoutsTest : public ::testing::Test {
 protected:
  MigLayoutsTest() {
    snapshot_ = std::make_shared<const device::Snapshot>(pools::TestNode(1));
    dir_.WriteFile("kgpu", fmt::format("#!/bin/sh\n[ \"$*\" = {} ] && cat >> {}\ncat {}\n",
                                       mig::kHelperCommand, dir_.At("requests"), dir_.At("reply")));
    dir_.WriteFile("reply", mig::PrintReply({.outcome = mig::Outcome::kDone}));
    EXPECT_EQ(chmod(dir_.At("kgpu").c_str(), 0755), 0);
    layouts_ = std::make_unique<MigLayouts>(
        loop_, root_,
        MigLayoutsOptions{.program = dir_.At("kgpu"),
                          .host = {.host_root = "/host"},
                          .configs_file = dir_.At("mig.yaml"),
                          .run_dir = dir_.path(),
                          .node_name = "n1"},
        [this](const auto& job, const auto&) { return Look(job); }, effects_,
        MigLayouts::Gpus{.close = [](const auto& closed) { closed(); },
                         .open = [] {},
                         .read = [](const auto& done) { done(); },
                         .forget = [](const std::string&) {},
                         .borrower = [](const std::string&) { return std::string(); }});
    effects_.state.config = std::make_shared<const config::NodeConfig>(config::DefaultNodeConfig());
    effects_.on_update = [this] { Update(); };
  }
  void SetLabels(std::map<std::string, std::string> labels) {
    labels_ = std::move(labels);
    Update();
  }
  void Update() {
    effects_.state.snapshot = snapshot_;
    effects_.state.labels = std::make_shared<const std::map<std::string, std::string>>(labels_);
    layouts_->Update(effects_.state);
  }
  // As another thread would: its result arrives later if the test holds it.
  bool Look(const std::function<std::function<void()>()>& job) {
    ++looks_;
    held_ = job();
    if (!holds_looks_) {
      std::exchange(held_, nullptr)();
    }
    return true;
  }
  node::StatusPage Page() const {
    node::StatusPage page;
    layouts_->ShowStatus(effects_.state, page);
    return page;
  }
  bool WaitForState(const std::string& state) {
    while (layouts_->label_state() != state && loop_.WaitForDescriptor(seconds(30))) {
    }
    return layouts_->label_state() == state;
  }

  FakeLoop loop_;
  TempDir dir_;
  sys::Root root_ = *sys::Root::Open("/");
  bool holds_looks_ = false;
  int looks_ = 0;
  std::function<void()> held_;
  device::SnapshotPtr snapshot_;
  std::map<std::string, std::string> labels_;
  node::TestEffects effects_;
  std::unique_ptr<MigLayouts> layouts_;
};

TEST_F(MigLayoutsTest, AsksTheHelperForTheLabel) {
  EXPECT_EQ(layouts_->label_state(), "") << "nothing is known yet";
  SetLabels({});
  EXPECT_EQ(layouts_->label_state(), std::nullopt);
  SetLabels({{kMigConfigLabel, "half"}});
  EXPECT_EQ(layouts_->label_state(), "pending")
      << "at once: who waits for it must not see an old state";
  ASSERT_TRUE(WaitForState("success"));
  EXPECT_EQ(dir_.ReadFile("requests"), mig::PrintRequest({.step = mig::Step::kPlan,
                                                          .layout = {.named = "half"},
                                                          .gpus = {pools::TestGpuName(0)},
                                                          .host = {.host_root = "/host"}}));
  ASSERT_THAT(effects_.events, SizeIs(2));
  EXPECT_EQ(effects_.events[0].reason, "MIGConfigPending");
  EXPECT_EQ(effects_.events[1].reason, "MIGConfigApplied");
  EXPECT_EQ(effects_.events[1].regarding.name, "n1");
  SetLabels({});
  EXPECT_EQ(layouts_->label_state(), std::nullopt);
}

TEST_F(MigLayoutsTest, ARestartChangesNoLabelAndTellsNothing) {
  SetLabels({{kMigConfigLabel, "half"}});
  EXPECT_EQ(layouts_->label_state(), "");
  ASSERT_TRUE(WaitForState("success"));
  EXPECT_THAT(effects_.events, IsEmpty());
}

// A GPU is lost, and comes back.
TEST_F(MigLayoutsTest, OtherGpusAreNoNewLabel) {
  SetLabels({});
  SetLabels({{kMigConfigLabel, "half"}});
  ASSERT_TRUE(WaitForState("success"));
  effects_.events.clear();
  for (const unsigned gpus : {2U, 1U}) {
    snapshot_ = std::make_shared<const device::Snapshot>(pools::TestNode(gpus));
    SetLabels(labels_);
    EXPECT_EQ(layouts_->label_state(), "") << "what the node has stays";
    ASSERT_TRUE(WaitForState("success"));
  }
  EXPECT_THAT(effects_.events, IsEmpty());
}

// The reason shows how it ended: what it prints is not for programs.
TEST_F(MigLayoutsTest, AHelperWithoutAReplyIsAFailure) {
  dir_.WriteFile("reply", "no JSON\n");
  SetLabels({{kMigConfigLabel, "half"}});
  ASSERT_TRUE(WaitForState("failed"));
  const node::StatusPage page = Page();
  EXPECT_THAT(page.head, StartsWith("MIG       nvidia.com/mig.config=half: failed: "));
  EXPECT_THAT(page.head, HasSubstr("kgpu __mig ended with exit code 0"));
  EXPECT_EQ(page.fields.at("mig").at("goals").at(0).at("state").as_string(), "failed");
}

TEST_F(MigLayoutsTest, AnAdminsFileHasTheNames) {
  dir_.WriteFile("mig.yaml", "version: v1\n");
  SetLabels({{kMigConfigLabel, "half"}});
  ASSERT_TRUE(WaitForState("success"));
  const auto request = mig::ParseRequest(dir_.ReadFile("requests"));
  ASSERT_OK(request);
  EXPECT_EQ(request->layout.configs_file, dir_.At("mig.yaml"));
}

TEST_F(MigLayoutsTest, ADiskThatHangsHoldsUpPlansAlone) {
  holds_looks_ = true;
  SetLabels({{kMigConfigLabel, "half"}});
  EXPECT_EQ(Page().head, "");
  Update();
  EXPECT_EQ(looks_, 1) << "one look at a time";
  std::exchange(held_, nullptr)();
  ASSERT_TRUE(WaitForState("success"));
}

TEST_F(MigLayoutsTest, AnotherFileIsPlannedAtOnce) {
  dir_.WriteFile("mig.yaml", "version: v1\n");
  SetLabels({{kMigConfigLabel, "half"}});
  ASSERT_TRUE(WaitForState("success"));
  const std::string once = dir_.ReadFile("requests");
  SetLabels(labels_);
  EXPECT_FALSE(loop_.WaitForDescriptor(seconds(0))) << "nothing is new";
  dir_.WriteFile("mig.yaml", "version: v1\n\n");
  SetLabels(labels_);
  while (dir_.ReadFile("requests") != once + once && loop_.WaitForDescriptor(seconds(30))) {
  }
  EXPECT_EQ(dir_.ReadFile("requests"), once + once);
}

TEST_F(MigLayoutsTest, NvidiasMigManagerIsLeftAlone) {
  SetLabels({{kMigConfigLabel, "half"}, {kMigManagerLabel, "true"}});
  EXPECT_EQ(layouts_->label_state(), std::nullopt);
  EXPECT_THAT(Page().head, StartsWith("MIG       nvidia.com/mig.config: left to NVIDIA's MIG"));
  EXPECT_THAT(Page().fields.at("mig").at("goals").as_array(), IsEmpty());
}

TEST_F(MigLayoutsTest, WhatAnotherPluginServesIsLeftAlone) {
  labels_ = {{kMigConfigLabel, "half"}};
  effects_.state.plugin_owner = "another plugin";
  Update();
  EXPECT_EQ(Page().head, "");
}

}  // namespace
}  // namespace kgpu::layouts
