#include "src/node/mig/helper.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "testing/status_matchers.h"

namespace kgpu::mig {
namespace {

using ::testing::HasSubstr;

constexpr const char* kGpu = "GPU-5d5ba0d6-d33d-2b2c-524d-9e3d8d2b0000";

HelperRequest ARequest() {
  return {.step = Step::kChange,
          .layout = {.named = "half", .configs_file = "/etc/kgpu/mig.yaml"},
          .gpus = {kGpu},
          .host = {.host_root = "/host", .probe = "/usr/bin/kgpu-probe", .kubelet_dir = "/k"}};
}

TEST(MigHelperTest, RequestsAreReadBack) {
  HelperRequest request = ARequest();
  EXPECT_THAT(ParseRequest(PrintRequest(request)), IsOkAndHolds(request));
  request.step = Step::kPlan;
  request.layout = {.instances = "none"};
  EXPECT_THAT(ParseRequest(PrintRequest(request)), IsOkAndHolds(request));
}

TEST(MigHelperTest, RequestsForAClaimAreReadBack) {
  HelperRequest request = ARequest();
  request.layout = {};
  request.step = Step::kEmpty;
  EXPECT_THAT(ParseRequest(PrintRequest(request)), IsOkAndHolds(request));
  request.step = Step::kMake;
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("place")));
  HelperRequest slice = request;
  slice.step = Step::kTimeSlice;
  slice.time_slice = 3;
  EXPECT_THAT(ParseRequest(PrintRequest(slice)), IsOkAndHolds(slice));
  request.place = ClaimPlace{.profile = "1g.10gb+me", .start = 6};
  EXPECT_THAT(ParseRequest(PrintRequest(request)), IsOkAndHolds(request));
  request.step = Step::kRemove;
  request.place->gpu_instance = 7;
  EXPECT_THAT(ParseRequest(PrintRequest(request)), IsOkAndHolds(request));
  request.gpus.emplace_back(kGpu);
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("MIG request.gpus")));
}

TEST(MigHelperTest, ARequestNamesOneLayoutAndGpusByUuid) {
  HelperRequest request = ARequest();
  request.layout.instances = "3g.40gb";
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("layout: set either")));
  request.layout = {};
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("layout: set either")));
  request = ARequest();
  request.gpus = {"0"};
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("MIG request.gpus")));
  request.gpus.clear();
  EXPECT_THAT(ParseRequest(PrintRequest(request)),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("MIG request.gpus")));
}

TEST(MigHelperTest, OtherRequestsAreRefused) {
  for (const char* text : {"", "{}", "[]", R"({"step":"evict"})"}) {
    EXPECT_THAT(ParseRequest(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(MigHelperTest, RepliesAreReadBack) {
  for (const Outcome outcome : {Outcome::kDone, Outcome::kWaits, Outcome::kInfeasible,
                                Outcome::kBusy, Outcome::kFailed, Outcome::kUndone}) {
    const HelperReply reply{.outcome = outcome,
                            .reason = "GPU 0: \"no\"\n",
                            .changes = {{.gpu = kGpu, .changes_mode = true}},
                            .waiting = {{.gpu = kGpu, .reason = "in use"}}};
    EXPECT_THAT(ParseReply(PrintReply(reply)), IsOkAndHolds(reply));
  }
}

TEST(MigHelperTest, TheReplyToAClaimHasItsDevice) {
  const HelperReply reply{
      .outcome = Outcome::kDone,
      .made = MadeDevice{.uuid = "MIG-5d5ba0d6", .gpu_instance = 7, .compute_instance = 1}};
  EXPECT_THAT(ParseReply(PrintReply(reply)), IsOkAndHolds(reply));
}

TEST(MigHelperTest, TheLastCompleteReplyCounts) {
  const HelperReply first{.outcome = Outcome::kUndone, .reason = "no room"};
  const HelperReply last{.outcome = Outcome::kUndone,
                         .reason = "no room; the former layouts are back"};
  EXPECT_THAT(ParseReply(PrintReply(first) + PrintReply(last)), IsOkAndHolds(last));
  EXPECT_THAT(ParseReply(PrintReply(first) + PrintReply(last).substr(0, 20)), IsOkAndHolds(first));
  for (const char* text : {"", "{}", "{}\n", "\n", "kgpu: killed\n"}) {
    EXPECT_THAT(ParseReply(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

TEST(MigHelperTest, AnErrorThatMayPassIsNoFailure) {
  EXPECT_EQ(ReplyOf(Unavailable("the driver does not answer")),
            (HelperReply{.outcome = Outcome::kBusy, .reason = "the driver does not answer"}));
  EXPECT_EQ(ReplyOf(DeadlineExceeded("x")).outcome, Outcome::kBusy);
  EXPECT_EQ(ReplyOf(ResourceExhausted("x")).outcome, Outcome::kBusy);
  EXPECT_EQ(ReplyOf(NotFound("x")).outcome, Outcome::kFailed);
}

}  // namespace
}  // namespace kgpu::mig
