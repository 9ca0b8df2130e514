#include "src/cluster/run/start.h"

#include "src/cluster/run/test_runs.h"

namespace kgpu::run {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using StartTest = RunsFixture;

TEST_F(StartTest, AJobRunsAndEnds) {
  AddNode("n1", "8");
  const RunRequest request = Request(RunKind::kJob);
  ASSERT_OK(Begin(request));
  const auto running = WaitUntilRunning(Deps(), request, std::chrono::minutes(1));
  ASSERT_OK(running);
  EXPECT_EQ(running->node, "n1");
  const auto ended = WaitUntilEnded(Deps(), request);
  ASSERT_OK(ended);
  EXPECT_EQ(ended->state, RunState::kSucceeded);
}

TEST_F(StartTest, AJobThatFailsSaysHow) {
  AddNode("n1", "8");
  RunRequest request = Request(RunKind::kJob);
  request.environment = {{"SIM_EXIT_CODE", "3"}};
  ASSERT_OK(Begin(request));
  const auto ended = WaitUntilEnded(Deps(), request);
  ASSERT_OK(ended);
  EXPECT_EQ(ended->state, RunState::kFailed);
  EXPECT_THAT(ended->problem, HasSubstr("code 3"));
}

TEST_F(StartTest, WaitsForGpusAndSaysWhy) {
  AddNode("n1", "1");
  const RunRequest first = Request(RunKind::kShell, "first");
  ASSERT_OK(Begin(first));
  ASSERT_OK(WaitUntilRunning(Deps(), first, std::chrono::minutes(1)));
  notes_.clear();
  const RunRequest second = Request(RunKind::kShell, "second");
  ASSERT_OK(Begin(second));
  api_.loop.After(std::chrono::seconds(30), [&] {
    EXPECT_OK(api_.api.Do("DELETE", "/api/v1/namespaces/default/pods/first", nullptr));
  });
  ASSERT_OK(WaitUntilRunning(Deps(), second, std::chrono::minutes(5)));
  EXPECT_THAT(notes_, Contains("second: explained secon").Times(1));
}

// A quota, or the security of pods: the Job exists and has no pod.
TEST_F(StartTest, SaysWhyNoPodIsMade) {
  AddNode("n1", "8");
  const RunRequest request = Request(RunKind::kJob);
  ASSERT_OK(Begin(request));
  ASSERT_OK(api_.api.Do("PATCH", "/apis/batch/v1/namespaces/default/jobs/train",
                        {{"spec", {{"suspend", true}}}}));
  EXPECT_THAT(WaitUntilRunning(Deps(), request, std::chrono::seconds(15)),
              StatusIs(StatusCode::kDeadlineExceeded,
                       HasSubstr("train: not running after 15s: explained train")));
}

TEST_F(StartTest, WaitsNoLongerThanAsked) {
  AddNode("n1", "1");
  RunRequest request = Request(RunKind::kJob);
  request.gpus = 2;
  ASSERT_OK(Begin(request));
  EXPECT_THAT(WaitUntilRunning(Deps(), request, std::chrono::seconds(30)),
              StatusIs(StatusCode::kDeadlineExceeded,
                       HasSubstr("train: not running after 30s: explained train")));
}

TEST_F(StartTest, FailsAtOnceWhenNoNodeQualifies) {
  AddNode("n1", "1", {{"kgpu.dev/gpu.model.T4.count", "1"}});
  judgement_ = {.prospect = Prospect::kNever, .text = "n1: gpu-too-few"};
  RunRequest request = Request(RunKind::kJob);
  request.models = {"H100-SXM5-80GB"};
  EXPECT_THAT(Begin(request),
              StatusIs(StatusCode::kFailedPrecondition,
                       AllOf(HasSubstr("no node can run it"),
                             HasSubstr("wanted: H100-SXM5-80GB; models of the cluster: T4"),
                             HasSubstr("n1: gpu-too-few"))));
  EXPECT_EQ(Leftovers(), 0U);
}

TEST_F(StartTest, BusyNodesAreNoReasonToFail) {
  AddNode("n1", "1");
  judgement_ = {.prospect = Prospect::kBusy};
  EXPECT_OK(Begin(Request(RunKind::kJob)));
}

TEST_F(StartTest, DriverThatIsTooOldForTheImageFails) {
  AddNode("n1", "1", {{"nvidia.com/cuda.driver-version.full", "470.82.01"}});
  EXPECT_THAT(Begin(Request(RunKind::kJob)),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("CUDA 12.4 (test)")));
  EXPECT_EQ(Leftovers(), 0U);
}

TEST_F(StartTest, SaysThatCudaWasNotChecked) {
  AddNode("n1", "1");
  cuda_.reset();
  ASSERT_OK(Begin(Request(RunKind::kJob)));
  EXPECT_THAT(notes_, Contains(HasSubstr("was not checked")));
}

TEST_F(StartTest, TheTagOfAnImageNamesItsCuda) {
  AddNode("n1", "1", {{"nvidia.com/cuda.driver-version.full", "470.82.01"}});
  cuda_.reset();
  RunRequest request = Request(RunKind::kJob);
  request.image = "nvidia/cuda:12.4.1-base-ubuntu22.04";
  EXPECT_THAT(Begin(request),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("CUDA 12.4 (its tag)")));
  request.cuda = "11.4";
  EXPECT_OK(Begin(request));
}

TEST_F(StartTest, WhoMayNotReadNodesCanRunAllTheSame) {
  AddNode("n1", "1");
  judgement_ = {.prospect = Prospect::kUnknown};
  api_.api.faults().Add({.kind = apiserver::FaultKind::kAnswer, .resource = "nodes", .code = 403});
  const RunRequest request = Request(RunKind::kJupyter);
  ASSERT_OK(Begin(request));
  EXPECT_THAT(notes_, Contains(HasSubstr("whether a node can run it is not known")));
  const auto run = WaitUntilRunning(Deps(), request, std::chrono::minutes(1));
  ASSERT_OK(run);
  EXPECT_THAT(UrlOf(api_.client, *run, "t0"),
              IsOkAndHolds(std::string("http://n1:30061/?token=t0")));
}

TEST_F(StartTest, ADryRunKeepsNothing) {
  AddNode("n1", "1");
  ASSERT_OK(Begin(Request(RunKind::kJupyter), true));
  EXPECT_EQ(Leftovers(), 0U);
}

TEST_F(StartTest, WhatWasCreatedIsRemovedWhenTheRestIsRefused) {
  AddNode("n1", "8");
  ASSERT_OK(Begin(Request(RunKind::kJupyter, "first")));
  const size_t before = Leftovers();
  RunRequest second = Request(RunKind::kJupyter, "second");
  second.has_own_claim = true;
  // The port is taken: the Secret and the claim exist by then.
  EXPECT_THAT(Begin(second),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("already allocated"), HasSubstr("--node-port"))));
  EXPECT_EQ(Leftovers(), before);
}

TEST_F(StartTest, ANameThatIsTakenIsRefused) {
  AddNode("n1", "8");
  ASSERT_OK(Begin(Request(RunKind::kJob)));
  const size_t before = Leftovers();
  EXPECT_THAT(Begin(Request(RunKind::kJob)),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("choose another --name")));
  EXPECT_EQ(Leftovers(), before);
}

TEST_F(StartTest, ARunThatIsRemovedMeanwhileIsNotFound) {
  RunRequest request = Request(RunKind::kShell);
  ASSERT_OK(Begin(request));
  api_.loop.After(std::chrono::seconds(10), [&] {
    EXPECT_OK(api_.api.Do("DELETE", "/api/v1/namespaces/default/pods/train", nullptr));
  });
  EXPECT_THAT(WaitUntilRunning(Deps(), request, {}), StatusIs(StatusCode::kNotFound));
}

TEST_F(StartTest, AShellThatEndsIsAnError) {
  AddNode("n1", "8");
  RunRequest request = Request(RunKind::kShell);
  request.environment = {{"SIM_RUN_SECONDS", "0"}, {"SIM_EXIT_CODE", "1"}};
  ASSERT_OK(Begin(request));
  EXPECT_THAT(WaitUntilRunning(Deps(), request, {}),
              StatusIs(StatusCode::kFailedPrecondition, HasSubstr("has ended")));
}

TEST_F(StartTest, AServerThatIsAwayForAMomentEndsNoWait) {
  AddNode("n1", "8");
  const RunRequest request = Request(RunKind::kJupyter);
  ASSERT_OK(Begin(request));
  api_.api.faults().Add(
      {.kind = apiserver::FaultKind::kAway, .lasts_for = std::chrono::seconds(8)});
  EXPECT_OK(WaitUntilRunning(Deps(), request, std::chrono::minutes(2)));
}

}  // namespace
}  // namespace kgpu::run
