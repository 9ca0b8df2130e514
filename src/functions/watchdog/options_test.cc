#include "src/functions/watchdog/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "testing/status_matchers.h"

namespace kgpu::watchdog {
namespace {

using std::chrono::seconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

StatusOr<Options> Read(const std::vector<std::string>& arguments,
                       const std::map<std::string, std::string>& variables = {}) {
  return ReadOptions(arguments, [&](const std::string& name) -> std::optional<std::string> {
    const auto found = variables.find(name);
    return found == variables.end() ? std::nullopt : std::optional(found->second);
  });
}

TEST(WatchdogOptionsTest, HasDefaults) {
  const auto options = Read({"--", "/bin/true", "-x"});
  ASSERT_OK(options);
  EXPECT_THAT(options->command, ElementsAre("/bin/true", "-x"));
  EXPECT_THAT(options->listen, ElementsAre(":8080"));
  EXPECT_THAT(options->grpc, ElementsAre(":50051"));
  EXPECT_EQ(options->queue_size(), 4U);
  EXPECT_EQ(options->timeout, seconds(60));
}

TEST(WatchdogOptionsTest, ReadsTheEnvironment) {
  const auto options = Read({}, {{"KGPU_FN_COMMAND", R"(["/a","b c"])"},
                                 {"KGPU_FN_LISTEN", ":1, /run/s"},
                                 {"KGPU_FN_GRPC", "off"},
                                 {"KGPU_FN_CONCURRENCY", "8"},
                                 {"KGPU_FN_PROCESSES", "2"},
                                 {"KGPU_FN_QUEUE", "0"},
                                 {"KGPU_FN_TIMEOUT", "90s"},
                                 {"KGPU_FN_GRACE", ""},
                                 {"KGPU_FN_MAX_BODY", "1Mi"},
                                 {"KGPU_FN_MAX_OUTPUT", "1000"}});
  ASSERT_OK(options);
  EXPECT_THAT(options->command, ElementsAre("/a", "b c"));
  EXPECT_THAT(options->listen, ElementsAre(":1", "/run/s"));
  EXPECT_THAT(options->grpc, IsEmpty());
  EXPECT_EQ(options->concurrency, 8U);
  EXPECT_EQ(options->processes, 2U);
  EXPECT_EQ(options->queue_size(), 0U);
  EXPECT_EQ(options->timeout, seconds(90));
  EXPECT_EQ(options->grace, seconds(10));
  EXPECT_EQ(options->max_body, size_t{1} << 20);
  EXPECT_EQ(options->max_output, 1000U);
}

TEST(WatchdogOptionsTest, PrefersFlags) {
  const auto options = Read({"--timeout=5s", "--concurrency", "3", "--", "/bin/true"},
                            {{"KGPU_FN_TIMEOUT", "90s"}, {"KGPU_FN_COMMAND", R"(["/a"])"}});
  ASSERT_OK(options);
  EXPECT_EQ(options->timeout, seconds(5));
  EXPECT_EQ(options->queue_size(), 12U);
  EXPECT_THAT(options->command, ElementsAre("/bin/true"));
}

TEST(WatchdogOptionsTest, NamesWhatIsWrong) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {"--concurrency=0", "--concurrency: \"0\" must be a number from 1"},
      {"--processes=1000", "from 1 to 256"},
      {"--queue=-1", "--queue: \"-1\""},
      {"--timeout=0", "must be more than 0"},
      {"--timeout=5", "--timeout"},
      {"--max-body=2Gi", "up to 1Gi"},
      {"--listen=:1,,:2", "must be a list"},
      {"--command=ls", "must be a JSON array"},
      {"--command=[]", "must be a JSON array"},
      {"--nonsense=1", "unknown flag"},
      {"--queue", "a value is missing"},
  };
  for (const auto& [flag, text] : cases) {
    EXPECT_THAT(Read({flag}), StatusIs(StatusCode::kInvalidArgument, HasSubstr(text))) << flag;
  }
  EXPECT_THAT(Read({}), StatusIs(StatusCode::kInvalidArgument, HasSubstr("KGPU_FN_COMMAND")));
}

TEST(WatchdogOptionsTest, HelpNamesEverySetting) {
  EXPECT_THAT(OptionsHelp(), HasSubstr("KGPU_FN_MAX_OUTPUT"));
  EXPECT_TRUE(Read({"--help"})->wants_help);
}

}  // namespace
}  // namespace kgpu::watchdog
