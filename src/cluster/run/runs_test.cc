#include "src/cluster/run/runs.h"

#include "src/cluster/run/test_runs.h"
#include "src/cluster/run/view.h"
#include "src/platform/base/time_text.h"

namespace kgpu::run {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAre;

class RunsTest : public RunsFixture {
 protected:
  void Start(const RunRequest& request) {
    ASSERT_OK(Begin(request));
    ASSERT_OK(WaitUntilRunning(Deps(), request, std::chrono::minutes(1)));
  }
};

TEST_F(RunsTest, ListsEachRunOnce) {
  AddNode("n1", "8");
  Start(Request(RunKind::kJob, "a"));
  Start(Request(RunKind::kShell, "b"));
  RunRequest jupyter = Request(RunKind::kJupyter, "c");
  jupyter.gpus = 2;
  jupyter.has_own_claim = true;
  Start(jupyter);
  const auto runs = ListRuns(api_.client, "");
  ASSERT_OK(runs);
  std::vector<std::string> lines;
  for (const RunInfo& run : *runs) {
    lines.push_back(fmt::format("{} {} {} {} {} {}", run.name, run.kind, run.gpus, run.resource,
                                ToString(run.state), run.node));
  }
  EXPECT_THAT(lines, ElementsAre("a job 1 nvidia.com/gpu succeeded n1",
                                 "b shell 1 nvidia.com/gpu running n1",
                                 "c jupyter 2 nvidia.com/gpu running n1"));
  EXPECT_THAT(*ListRuns(api_.client, "kube-system"), IsEmpty());
  EXPECT_THAT(*ListRuns(api_.client, "default", "b"), SizeIs(1));
}

TEST_F(RunsTest, TheUrlHasTheNodesAddressAndTheToken) {
  AddNode("n1", "8");
  Start(Request(RunKind::kJupyter));
  const auto run = FindRun(api_.client, "default", "train");
  ASSERT_OK(run);
  EXPECT_THAT(TokenOf(api_.client, *run), IsOkAndHolds(std::string("t0")));
  const auto url = UrlOf(api_.client, *run, "t0");
  ASSERT_OK(url);
  EXPECT_THAT(*url, ::testing::MatchesRegex("http://[0-9.]+:30061/\\?token=t0"));
}

TEST_F(RunsTest, ARunThatIsNotThereIsNotFound) {
  EXPECT_THAT(FindRun(api_.client, "default", "none"),
              StatusIs(StatusCode::kNotFound, HasSubstr("kgpu run list")));
}

TEST_F(RunsTest, StopsExactlyItsOwnObjects) {
  AddNode("n1", "8");
  Start(Request(RunKind::kJob, "other"));
  const size_t before = Leftovers();
  RunRequest jupyter = Request(RunKind::kJupyter, "mine");
  jupyter.has_own_claim = true;
  Start(jupyter);
  const auto targets = ObjectsOfRun(api_.client, "default", "mine");
  ASSERT_OK(targets);
  std::vector<std::string> kinds;
  for (const kube::RemoveTarget& target : *targets) {
    kinds.push_back(target.ref.kind);
    EXPECT_FALSE(target.uid.empty());
  }
  EXPECT_THAT(kinds,
              UnorderedElementsAre("Secret", "PersistentVolumeClaim", "Service", "Deployment"));
  ASSERT_OK(RemoveRun(Deps(), "default", "mine"));
  EXPECT_EQ(Leftovers(), before);
}

TEST_F(RunsTest, ObjectsOfOthersAreNoRuns) {
  ASSERT_OK(api_.api.Do("POST", "/api/v1/namespaces/default/pods", boost::json::parse(R"({
      "metadata":{"name":"p"},"spec":{"containers":[{"name":"c","image":"i"}]}})")));
  EXPECT_THAT(*ListRuns(api_.client, ""), IsEmpty());
}

TEST_F(RunsTest, TableHasALineForEachRun) {
  const auto now = *ParseTime("2026-01-01T03:00:00Z");
  const std::string text =
      RunsText({{.run = {.name = "nb",
                         .space = "default",
                         .kind = "jupyter",
                         .gpus = 1,
                         .state = RunState::kRunning,
                         .node = "n1",
                         .created = "2026-01-01T00:00:00Z"},
                 .url = "http://10.0.0.1:30061/"},
                {.run = {.name = "t", .space = "team-a", .kind = "job", .gpus = 8}}},
               now);
  EXPECT_EQ(text,
            "NAMESPACE  NAME  KIND     GPUS  STATE    NODE  AGE  URL\n"
            "default    nb    jupyter  1     running  n1    3h   http://10.0.0.1:30061/\n"
            "team-a     t     job      8     pending  -     -    -\n");
  EXPECT_EQ(RunsText({}, now), "no runs\n");
}

}  // namespace
}  // namespace kgpu::run
