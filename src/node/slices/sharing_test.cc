#include "src/node/slices/sharing.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "src/node/part/test_effects.h"
#include "src/node/pools/test_node.h"
#include "testing/elf_library.h"
#include "testing/fake_loop.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::slices {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// One GPU in `replicas` slots.
pools::Assignment SlotsOf(unsigned replicas) {
  pools::Assignment assignment;
  pools::Resource& resource = assignment.resources.emplace_back();
  resource.name = "nvidia.com/gpu";
  for (unsigned i = 0; i < replicas; ++i) {
    pools::Slot& slot = resource.slots.emplace_back();
    slot.device_uuid = pools::TestGpuName(0);
    slot.gpu = *device::GpuUuid::Parse(slot.device_uuid);
    slot.id = replicas == 1 ? slot.device_uuid : fmt::format("{}::{}", slot.device_uuid, i);
    slot.threads = replicas == 1 ? 0 : 50;
  }
  return assignment;
}

class SharingTest : public ::testing::Test {
 protected:
  void Assign(unsigned replicas) {
    draft_ = {.fresh = SlotsOf(replicas)};
    sharing_.Assign(effects_.state, draft_);
    effects_.state.assignment = std::make_shared<const pools::Assignment>(draft_.fresh);
  }

  TempDir dir_;
  FakeLoop loop_;
  sys::Root root_ = *sys::Root::Open(dir_.path());
  node::TestEffects effects_;
  node::Draft draft_;
  Sharing sharing_{loop_,          root_,
                   pods::AtOnce(), {.library = "", .folder = dir_.At("share"), .engine_folder = ""},
                   effects_,       [](const SliceUse&) { return OkStatus(); }};
};

TEST_F(SharingTest, NamesTheDevicesThatItHoldsBack) {
  Assign(2);
  EXPECT_THAT(draft_.held.resources, IsEmpty());
  auto pods = std::make_shared<pods::PodMap>();
  pods->devices = {{.resource = "nvidia.com/gpu",
                    .device_id = pools::TestGpuName(0) + "::0",
                    .user = {.pod_namespace = "n", .pod = "p", .container = "c"}}};
  effects_.state.pods = std::move(pods);
  Assign(1);
  EXPECT_THAT(draft_.fresh.unassigned, SizeIs(1)) << "a pod holds it as what it was";
  ASSERT_THAT(draft_.held.resources, SizeIs(1)) << "later parts must know that it is in use";
  EXPECT_THAT(draft_.held.resources[0].slots, SizeIs(2));
}

TEST_F(SharingTest, LetsADeviceChangeOnceNoPodHoldsIt) {
  Assign(2);
  effects_.state.pod_list.has_no_kubelet = true;
  Assign(1);
  EXPECT_THAT(draft_.held.resources, IsEmpty());
  ASSERT_THAT(draft_.fresh.resources, SizeIs(1));
  EXPECT_THAT(draft_.fresh.resources[0].slots, SizeIs(1));
}

// As an earlier agent has saved it.
TEST_F(SharingTest, RecallsWhatDevicesWereShownAsAndThatPodsMayHoldThem) {
  node::SavedState saved;
  saved.fields =
      boost::json::parse(fmt::format(
                             R"({{"shapes": [{{"device": "{0}", "gpu": "{0}", "slots": "1f"}}],
      "held": [{{"resource": "nvidia.com/gpu", "slots": [{{"id": "{0}::0", "device": "{0}", "gpu": "{0}",
                 "replica": 0, "healthy": true, "memoryMiB": 20480}}]}}]}})",
                             pools::TestGpuName(0)))
          .as_object();
  saved.outdated = SlotsOf(2).resources;
  sharing_.Recall(saved);
  boost::json::object again;
  sharing_.Save(again);
  EXPECT_EQ(again.at("shapes"), saved.fields.at("shapes"));
  ASSERT_THAT(again.at("held").as_array(), SizeIs(2));
  EXPECT_EQ(again.at("held").at(0).at("slots").at(0).at("memoryMiB").to_number<int>(), 20480);
  Assign(1);  // it is not known which pods hold it
  ASSERT_THAT(draft_.held.resources, SizeIs(1));
  EXPECT_EQ(draft_.held.resources[0].slots[0].id, pools::TestGpuName(0) + "::0");
}

TEST_F(SharingTest, AddsContainersWithSlicesToTheStatus) {
  node::StatusPage page;
  sharing_.ShowStatus(effects_.state, page);
  EXPECT_EQ(page.tables, "");
  EXPECT_THAT(page.fields.at("slices").as_array(), IsEmpty());
}

class NoLibraryTest : public SharingTest {
 protected:
  static pools::Assignment Slices() {
    pools::Assignment assignment = SlotsOf(2);
    for (pools::Slot& slot : assignment.resources[0].slots) {
      slot.memory = GibiBytes(4);
    }
    return assignment;
  }
  // With the library that the options name.
  void Start(const std::string& library) {
    sliced_ = std::make_unique<Sharing>(
        loop_, root_,
        [this](const std::function<std::function<void()>()>& job,
               const std::function<void(const Status&)>&) {
          results_.push_back(job());
          return true;
        },
        SliceFilesOptions{.library = library, .folder = dir_.At("share"), .engine_folder = "/s"},
        effects_, [](const SliceUse&) { return OkStatus(); });
    AssignSlices();
  }
  void AssignSlices() {
    draft_ = {.fresh = Slices()};
    sliced_->Assign(effects_.state, draft_);
  }
  void Finish() {
    for (const auto& result : std::exchange(results_, {})) {
      result();
    }
  }
  const device::Health& health() const { return draft_.fresh.resources.at(0).slots.at(1).health; }

  std::unique_ptr<Sharing> sliced_;
  std::vector<std::function<void()>> results_;
};

// Before anybody is shown them: a pod must not be admitted and then refused.
TEST_F(NoLibraryTest, SlicesAreUnhealthyFromTheStart) {
  Start("");
  EXPECT_FALSE(health().is_healthy);
  EXPECT_EQ(health().reason, "SlicesNotReady");
  EXPECT_THAT(health().message, HasSubstr("libkgpu-share.so is missing"));
  Finish();
  AssignSlices();
  EXPECT_FALSE(health().is_healthy);
  std::vector<std::string> remarks;
  sliced_->Remark(remarks);
  EXPECT_THAT(remarks, ElementsAre(HasSubstr("libkgpu-share.so is missing")));
  // Whole devices, and those by time, need none.
  effects_.state.pod_list.has_no_kubelet = true;
  draft_ = {.fresh = SlotsOf(1)};
  sliced_->Assign(effects_.state, draft_);
  EXPECT_TRUE(draft_.fresh.resources.at(0).slots.at(0).health.is_healthy);
  EXPECT_EQ(sliced_->problem(), "");
}

TEST_F(NoLibraryTest, SlicesAreUnhealthyWhileNoProgramCouldLoadIt) {
  dir_.WriteFile("lib.so", "no library");
  Start(dir_.At("lib.so"));
  EXPECT_EQ(effects_.assigns, 0);
  Finish();
  EXPECT_EQ(effects_.assigns, 1);
  AssignSlices();
  EXPECT_FALSE(health().is_healthy);
  EXPECT_THAT(health().message, HasSubstr("no program here could load it"));
  pools::Assignment again = Slices();
  sliced_->MarkHealth(again);
  EXPECT_EQ(again.resources[0].slots[0].health.reason, "SlicesNotReady");
  dir_.WriteFile("lib.so", ElfLibrary("x"));
  loop_.Advance(std::chrono::seconds(31));
  Finish();
  EXPECT_EQ(effects_.assigns, 2);
  AssignSlices();
  EXPECT_TRUE(health().is_healthy);
  EXPECT_EQ(sliced_->problem(), "");
}

TEST_F(NoLibraryTest, WithALibrarySlotsAreHealthyAndGetNewLedgers) {
  dir_.WriteFile("lib.so", ElfLibrary("x"));
  Start(dir_.At("lib.so"));
  Finish();
  EXPECT_TRUE(health().is_healthy);
  EXPECT_EQ(effects_.assigns, 0);
  EXPECT_EQ(effects_.shows, 1);
  const std::string id = draft_.fresh.resources[0].slots[1].id;
  const std::string ledger = dir_.At("share/" + sharing::FileOfSlot(id, sharing::kLedgerName));
  std::filesystem::create_hard_link(ledger, dir_.At("first"));
  const std::vector<std::string> ids = {id};
  ASSERT_OK(sliced_->renewal()(ids));
  EXPECT_FALSE(std::filesystem::equivalent(ledger, dir_.At("first")));
}

TEST_F(SharingTest, LooksAgainWhileADeviceWaits) {
  Assign(2);
  Assign(1);  // it is not known which pods hold it
  EXPECT_THAT(draft_.held.resources, SizeIs(1));
  loop_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(effects_.looks, 1);
  EXPECT_EQ(effects_.assigns, 1);
}

}  // namespace
}  // namespace kgpu::slices
