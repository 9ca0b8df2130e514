#include "src/setup/driver/other_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "testing/status_matchers.h"

namespace kgpu::driver {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

class OtherRequestTest : public ::testing::Test {
 protected:
  StatusOr<std::string> Other(const std::string& file_version = "") const {
    return OtherThanAsked(request_, plan_, file_version);
  }

  Request request_;
  Plan plan_{.version = "535",
             .kind = ModuleKind::kProprietary,
             .source = SourceKind::kDistribution,
             .kernel = "",
             .why = {},
             .notes = {},
             .steps = {}};
};

TEST_F(OtherRequestTest, WhoAsksForNothingHasIt) {
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
}

TEST_F(OtherRequestTest, AVersionOfTheBranchIsNoOtherOne) {
  request_.version = "535.104.05";
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
  plan_.version = "535.104.05";
  request_.version = "535";
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
  request_.version = "535.54.03";
  EXPECT_THAT(Other(), IsOkAndHolds("it is not 535.54.03"));
}

TEST_F(OtherRequestTest, AFileOfAnotherVersionIsAnotherRequest) {
  request_.source = SourceKind::kRunFile;
  plan_.source = SourceKind::kRunFile;
  EXPECT_THAT(Other("535.104.05"), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Other("580.95.05"), IsOkAndHolds(HasSubstr("580.95.05, the version of the file")));
}

TEST_F(OtherRequestTest, TheOtherKindOfModulesIsAnotherRequest) {
  request_.kind = ModuleKind::kProprietary;
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
  request_.kind = ModuleKind::kOpen;
  EXPECT_THAT(Other(), IsOkAndHolds("its modules are the proprietary ones, not the open ones"));
}

TEST_F(OtherRequestTest, AnotherSourceIsAnotherRequest) {
  request_.source = SourceKind::kNvidia;
  EXPECT_THAT(Other(), IsOkAndHolds("its source is distribution, not nvidia"));
}

TEST_F(OtherRequestTest, ADisplayIsAnotherRequestWhereThePlanHadNone) {
  request_.has_display = true;
  EXPECT_THAT(Other(), IsOkAndHolds(HasSubstr("not display")));
  plan_.steps.push_back({.id = "display-config", .title = "", .source = "", .action = Reboot{}});
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
}

TEST_F(OtherRequestTest, ACudaThatTheBranchNeverHasIsAnotherRequest) {
  request_.cuda = "12.2";
  EXPECT_THAT(Other(), IsOkAndHolds(IsEmpty()));
  request_.cuda = "12.4";
  EXPECT_THAT(Other(), IsOkAndHolds("CUDA 12.4 needs driver 550.54.14 or newer"));
  request_.cuda = "99";
  EXPECT_THAT(Other(), IsOkAndHolds(HasSubstr("unknown to kgpu")));
  request_.cuda = "twelve";
  EXPECT_THAT(Other(), StatusIs(StatusCode::kInvalidArgument, HasSubstr("--cuda")));
}

TEST_F(OtherRequestTest, WhatIsNotAskedForStaysAsItIs) {
  request_.kind = ModuleKind::kOpen;
  const Request kept = KeepRequest(request_, plan_);
  EXPECT_EQ(kept.version, "535");
  EXPECT_EQ(kept.kind, ModuleKind::kOpen);
  EXPECT_EQ(kept.source, SourceKind::kDistribution);
  EXPECT_FALSE(kept.has_display);
}

TEST_F(OtherRequestTest, ABranchThatIsAskedForTakesNoOther) {
  request_.version = "580";
  plan_.steps = {{.id = "display-config", .title = "", .source = "", .action = Reboot{}}};
  const Request kept = KeepRequest(request_, plan_);
  EXPECT_EQ(kept.version, "580");
  EXPECT_EQ(kept.kind, ModuleKind::kProprietary);
  EXPECT_TRUE(kept.has_display);
  request_.version = "";
  request_.cuda = "12.4";
  EXPECT_EQ(KeepRequest(request_, plan_).version, "");
}

TEST_F(OtherRequestTest, AFileIsNotKeptForAnotherRequest) {
  plan_.source = SourceKind::kRunFile;
  EXPECT_EQ(KeepRequest(request_, plan_).source, std::nullopt);
  EXPECT_EQ(KeepRequest(request_, plan_).version, "");
}

}  // namespace
}  // namespace kgpu::driver
