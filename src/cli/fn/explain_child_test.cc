#include "src/cli/fn/explain_child.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "testing/status_matchers.h"

namespace kgpu::cli {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Gives one result to whatever is started.
class OneResult final : public functions::Programs {
 public:
  explicit OneResult(sys::RunResult result) : result_(std::move(result)) {}
  void Start(functions::ProgramRequest request, Done done) override {
    argv = std::move(request.argv);
    done(result_);
  }
  std::vector<std::string> argv;

 private:
  const sys::RunResult result_;
};

StatusOr<functions::PodExplanation> Explained(functions::Programs& programs) {
  std::optional<StatusOr<functions::PodExplanation>> explained;
  ExplainByChild(programs, {"--context=c"})(
      "fn", "hello-1", [&](StatusOr<functions::PodExplanation> it) { explained = std::move(it); });
  return explained ? *std::move(explained) : Internal("no answer");
}

TEST(ExplainChildTest, ReadsTheReport) {
  OneResult programs({.exit = {.code = 7, .signal = {}},
                      .out = R"({"verdict":"pending: no node has that many","mayFitLater":false})",
                      .err = ""});
  const auto explained = Explained(programs);
  ASSERT_OK(explained);
  EXPECT_EQ(explained->text, "pending: no node has that many");
  EXPECT_FALSE(explained->may_fit_later);
  EXPECT_THAT(programs.argv, ElementsAre("/proc/self/exe", "explain", "pod", "fn/hello-1",
                                         "--output=json", "--context=c"));
}

TEST(ExplainChildTest, PassesOnWhatWentWrong) {
  OneResult programs({.exit = {.code = 5, .signal = {}}, .out = "", .err = "forbidden"});
  EXPECT_THAT(Explained(programs), StatusIs(StatusCode::kUnavailable, HasSubstr("forbidden")));
}

TEST(ExplainChildTest, RefusesWhatIsNoReport) {
  for (const char* text : {"", "[]", "{}", R"({"verdict":1,"mayFitLater":true})",
                           R"({"verdict":"x","mayFitLater":"no"})"}) {
    EXPECT_THAT(ParseExplanation(text), StatusIs(StatusCode::kInvalidArgument)) << text;
  }
}

}  // namespace
}  // namespace kgpu::cli
