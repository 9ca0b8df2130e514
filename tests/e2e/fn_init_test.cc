// kgpu fn init, check, schema and runtime list: what they print, write and refuse, and how they
// exit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include <filesystem>
#include <string>
#include <vector>

#include "src/platform/doc/doc.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"
#include "tests/e2e/program.h"

namespace kgpu::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

Result Fn(const std::vector<std::string>& words) {
  std::vector<std::string> argv = {"kgpu", "fn"};
  argv.insert(argv.end(), words.begin(), words.end());
  return RunProgram(argv);
}

// A file that gets functions, so that nothing is written to the current folder.
class FnInitTest : public ::testing::Test {
 protected:
  Result Init(const std::string& name, const std::string& runtime) const {
    return Fn({"init", name, "-r", runtime, "-f", file_, "--gpus", "2"});
  }

  TempDir dir_;
  std::string file_ = dir_.At("config.yaml");
};

TEST_F(FnInitTest, EveryRuntimeMakesAFunctionThatIsValid) {
  const Result listed = Fn({"runtime", "list", "--output", "json"});
  EXPECT_EQ(listed.code, 0);
  const auto json = doc::Parse(listed.out, doc::Format::kJson, "runtimes");
  ASSERT_OK(json);
  for (const boost::json::value& runtime : json->at("runtimes").as_array()) {
    const std::string name(runtime.at("name").as_string());
    const Result made = Init("hello-" + name, name);
    EXPECT_EQ(made.code, 0) << made.err;
    EXPECT_THAT(made.err, HasSubstr("then: kgpu fn build -f " + file_));
    const std::string handler(runtime.at("handler").at("file").as_string());
    EXPECT_TRUE(std::filesystem::exists(dir_.At("hello-" + name + "/src/" + handler))) << name;
  }
  const Result checked = Fn({"check", "-f", file_});
  EXPECT_EQ(checked.code, 0) << checked.out;
  EXPECT_THAT(checked.out, AllOf(StartsWith("NAME "), HasSubstr("./hello-go/src/handler.go")));
  const Result yaml = Fn({"check", "-f", file_, "--output", "yaml"});
  EXPECT_THAT(yaml.out, HasSubstr("    limits:\n      gpu: 2\n"));
}

TEST_F(FnInitTest, NothingIsOverwritten) {
  dir_.WriteFile("hello/mine", "x");
  Result result = Init("hello", "go");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("hello: it exists: choose another name, or remove it"));
  EXPECT_FALSE(std::filesystem::exists(file_));
  EXPECT_EQ(Init("other", "go").code, 0);
  result = Init("other", "go");
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err, HasSubstr("it has a function other"));
}

TEST_F(FnInitTest, ADryRunWritesNothing) {
  const Result result = Fn({"init", "hello", "-r", "go", "-f", file_, "--dry-run"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, AllOf(StartsWith("# " + file_ + "\nfunctions:\n  hello:\n"),
                                HasSubstr("func Handler(req sdk.Request) string")));
  EXPECT_TRUE(std::filesystem::is_empty(dir_.path()));
}

TEST_F(FnInitTest, WrongWordsAreUsageErrors) {
  EXPECT_EQ(Init("Hello", "go").code, 2);
  const Result result = Init("hello", "pyton");
  EXPECT_EQ(result.code, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean \"python\"?"));
  EXPECT_EQ(Fn({"init", "hello"}).code, 2) << "--runtime is required";
}

TEST_F(FnInitTest, ErrorsOfAFileAreAllShown) {
  dir_.WriteFile("config.yaml", "functions:\n  a:\n    runtme: go\n    requests: {gpus: 2}\n");
  const Result result = Fn({"check", "-f", file_});
  EXPECT_EQ(result.code, 7);
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr(file_ + ":3:5: functions.a.runtme: unknown key, did you mean \"runtime\"?"),
            HasSubstr(file_ + ":4:16: functions.a.requests.gpus: unknown key, did you mean")));
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_EQ(Fn({"check", "-f", dir_.At("none.yaml")}).code, 2);
}

TEST_F(FnInitTest, TheSchemaIsPrinted) {
  const Result result = RunProgram({"kgpu", "function", "schema"});
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.out, HasSubstr("\"title\": \"Functions of kgpu\""));
}

}  // namespace
}  // namespace kgpu::e2e
