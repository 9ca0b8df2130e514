#include "src/functions/init/init.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/spec/functions_file.h"
#include "src/functions/spec/load.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::string> PathsOf(const InitPlan& plan) {
  std::vector<std::string> paths;
  std::ranges::transform(plan.files, std::back_inserter(paths), &NewFile::path);
  return paths;
}

std::vector<std::string> NamesIn(const TempDir& dir) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(dir.At(""))) {
    names.push_back(entry.path().filename());
  }
  std::ranges::sort(names);
  return names;
}

TEST(InitTest, ANewFunctionHasItsOwnFile) {
  const auto plan = PlanNewFunction({.name = "hello", .runtime = "python", .gpus = 2});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->folder, "hello");
  EXPECT_EQ(plan->config, "hello/config.yaml");
  EXPECT_EQ(plan->handler, "hello/src/handler.py");
  EXPECT_THAT(PathsOf(*plan), ElementsAre("config.yaml", "requirements.txt", "src/handler.py"));
  const auto file = ParseFunctionsFile(plan->files.front().text, "config.yaml");
  ASSERT_OK(file);
  const Function& function = file->functions.front();
  EXPECT_EQ(function.name, "hello");
  EXPECT_EQ(function.runtime, "python3");
  EXPECT_EQ(function.handler, (Handler{.dir = "./src", .file = "handler.py"}));
  EXPECT_EQ(function.gpu.count, 2);
}

TEST(InitTest, TheHandlersFolderIsChosen) {
  for (const std::string_view dir : {"app/code", "./app/code/", "app//code"}) {
    const auto plan =
        PlanNewFunction({.name = "hello", .runtime = "nodejs", .dir = std::string(dir)});
    ASSERT_OK(plan);
    EXPECT_THAT(PathsOf(*plan),
                ElementsAre("config.yaml", "app/package.json", "app/code/handler.js"));
    EXPECT_THAT(plan->files.front().text, HasSubstr("dir: ./app/code\n"));
  }
}

TEST(InitTest, AGatewayIsWritten) {
  const auto plan = PlanNewFunction({.name = "a", .runtime = "go", .gateway = "10.0.0.5:31113"});
  ASSERT_OK(plan);
  EXPECT_EQ(ParseFunctionsFile(plan->files.front().text, "config.yaml")->gateway, "10.0.0.5:31113");
}

TEST(InitTest, WrongRequestsNameTheFlag) {
  const auto problem = [](const NewFunction& request) {
    const auto plan = PlanNewFunction(request);
    EXPECT_EQ(plan.status().code(), StatusCode::kInvalidArgument);
    return std::string(Message(plan.status()));
  };
  EXPECT_THAT(problem({.name = "Hello", .runtime = "go"}), HasSubstr("NAME: \"Hello\" must be"));
  EXPECT_THAT(problem({.name = "a/b", .runtime = "go"}), HasSubstr("NAME: \"a/b\" must be"));
  EXPECT_THAT(problem({.name = "a", .runtime = "rubi"}), HasSubstr("did you mean \"ruby\"?"));
  EXPECT_THAT(problem({.name = "a", .runtime = "pyton"}), HasSubstr("did you mean \"python\"?"));
  EXPECT_THAT(problem({.name = "a", .runtime = "go", .dir = "../x"}), HasSubstr("--dir: \"../x\""));
  EXPECT_THAT(problem({.name = "a", .runtime = "go", .dir = "."}), HasSubstr("--dir: \".\" must"));
  EXPECT_THAT(problem({.name = "a", .runtime = "go", .gpus = 65}), HasSubstr("--gpus: 65 must be"));
  EXPECT_THAT(problem({.name = "a", .runtime = "go", .gateway = "x"}), HasSubstr("--gateway: "));
}

constexpr char kTwo[] =
    "# ours\n"
    "functions:\n"
    "    # the first\n"
    "    first:\n"
    "        runtime: go  # fast\n"
    "\n"
    "# where it runs\n"
    "openfx:\n"
    "    gateway: a:1\n";

TEST(InitTest, AnExistingFileGetsTheEntryAndKeepsEveryOtherByte) {
  const auto plan = PlanNewFunction(
      {.name = "second", .runtime = "cpp", .config = "dir/fn.yaml", .config_text = kTwo});
  ASSERT_OK(plan);
  EXPECT_EQ(plan->folder, "dir/second");
  EXPECT_EQ(plan->config, "dir/fn.yaml");
  EXPECT_THAT(PathsOf(*plan), ElementsAre("src/handler.cc", "src/handler.h"));
  EXPECT_EQ(plan->config_text.value_or(""),
            "# ours\n"
            "functions:\n"
            "    # the first\n"
            "    first:\n"
            "        runtime: go  # fast\n"
            "    second:\n"
            "      runtime: cpp\n"
            "      handler:\n"
            "        dir: ./second/src\n"
            "        file: handler.cc\n"
            "        name: Handler\n"
            "      requests:\n"
            "        gpu: 0\n"
            "\n"
            "# where it runs\n"
            "openfx:\n"
            "    gateway: a:1\n");
}

TEST(InitTest, AFileWithoutContentGetsTheFirstFunction) {
  for (const std::string_view text : {"", "# ours", "# ours\n\n"}) {
    const auto plan = PlanNewFunction(
        {.name = "a", .runtime = "go", .config = "fn.yaml", .config_text = std::string(text)});
    ASSERT_OK(plan);
    EXPECT_THAT(*plan->config_text, ::testing::StartsWith(std::string(text)));
    const auto file = ParseFunctionsFile(*plan->config_text, "fn.yaml");
    ASSERT_OK(file);
    EXPECT_EQ(file->functions.front().handler.dir, "./a/src");
  }
}

TEST(InitTest, FilesThatCannotBeExtendedStayAndTheErrorShowsTheEntry) {
  for (const std::string_view text :
       {"functions: {a: {runtime: go}}", "{functions: {a: {runtime: go}}}",
        "\"functions\":\n  a: {runtime: go}\n"}) {
    EXPECT_THAT(
        PlanNewFunction(
            {.name = "b", .runtime = "go", .config = "fn.yaml", .config_text = std::string(text)}),
        StatusIs(StatusCode::kFailedPrecondition,
                 HasSubstr("add this to its functions:\n  b:\n    runtime: go\n")))
        << text;
  }
}

TEST(InitTest, TheSameNameAndBrokenFilesAreRefused) {
  EXPECT_THAT(PlanNewFunction({.name = "first",
                               .runtime = "go",
                               .config = "fn.yaml",
                               .config_text = std::string(kTwo)}),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("fn.yaml: it has a function first")));
  EXPECT_THAT(PlanNewFunction({.name = "a",
                               .runtime = "go",
                               .config = "fn.yaml",
                               .config_text = "functions: {b: {runtme: go}}"}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("did you mean \"runtime\"?")));
  EXPECT_THAT(PlanNewFunction({.name = "a",
                               .runtime = "go",
                               .gateway = "b:2",
                               .config = "fn.yaml",
                               .config_text = std::string(kTwo)}),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("has openfx.gateway \"a:1\"")));
}

TEST(InitTest, MakesAFolderThatIsReadBack) {
  const TempDir dir;
  auto plan = PlanNewFunction({.name = "hello", .runtime = "go", .gpus = 1});
  ASSERT_OK(plan);
  plan->folder = dir.At(plan->folder);
  ASSERT_OK(MakeNewFunction(*plan));
  EXPECT_THAT(NamesIn(dir), ElementsAre("hello")) << "nothing temporary is left";
  const auto file = LoadFunctionsFile(dir.At("hello/config.yaml"));
  ASSERT_OK(file);
  EXPECT_EQ(file->functions.front().gpu.count, 1);
  EXPECT_TRUE(std::filesystem::exists(dir.At("hello/src/handler.go")));
}

TEST(InitTest, NothingIsOverwritten) {
  const TempDir dir;
  dir.WriteFile("hello/mine", "x");
  auto plan = PlanNewFunction({.name = "hello", .runtime = "go"});
  ASSERT_OK(plan);
  plan->folder = dir.At(plan->folder);
  EXPECT_THAT(MakeNewFunction(*plan),
              StatusIs(StatusCode::kAlreadyExists, HasSubstr("choose another name")));
  EXPECT_THAT(NamesIn(dir), ElementsAre("hello"));
  EXPECT_FALSE(std::filesystem::exists(dir.At("hello/config.yaml")));
}

TEST(InitTest, AnEntryThatCannotBeWrittenLeavesNoFolder) {
  const TempDir dir;
  dir.WriteFile("fn.yaml/taken", "the file is a folder");
  const auto plan = PlanNewFunction(
      {.name = "hello", .runtime = "go", .config = dir.At("fn.yaml"), .config_text = ""});
  ASSERT_OK(plan);
  EXPECT_FALSE(MakeNewFunction(*plan).ok());
  EXPECT_THAT(NamesIn(dir), ElementsAre("fn.yaml"));
}

}  // namespace
}  // namespace kgpu::functions
