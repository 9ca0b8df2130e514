#include "src/functions/build/sources.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <filesystem>

#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::functions {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Function PythonFunction(const std::string& dir = "./src") {
  return {.name = "hello",
          .runtime = "python3",
          .handler = {.dir = dir, .file = "handler.py", .name = "Handler"}};
}

std::vector<std::string> PathsOf(const Sources& sources) {
  std::vector<std::string> paths;
  for (const SourceFile& file : sources.files) {
    paths.push_back(file.path);
  }
  return paths;
}

std::string DigestOf(const Sources& sources) {
  Digest digest;
  EXPECT_OK(AddTo(digest, sources));
  return digest.Hex();
}

class SourcesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_.WriteFile("src/handler.py", "def Handler(req): return req.input\n");
    dir_.WriteFile("requirements.txt", "");
    dir_.WriteFile("config.yaml", "functions: {}\n");
    dir_.WriteFile("Dockerfile", "FROM openfx\n");
    dir_.WriteFile(".git/HEAD", "ref\n");
  }

  TempDir dir_;
};

TEST_F(SourcesTest, TakesTheFolderAboveTheHandlers) {
  const auto sources = FindSources(PythonFunction(), dir_.path());
  ASSERT_OK(sources);
  EXPECT_EQ(sources->folder, dir_.path());
  EXPECT_EQ(sources->handler_dir, "src");
  EXPECT_THAT(PathsOf(*sources), ElementsAre("requirements.txt", "src/handler.py"));
}

TEST_F(SourcesTest, TakesTheFolderItselfIfThatIsTheHandlers) {
  dir_.WriteFile("handler.py", "");
  const auto sources = FindSources(PythonFunction("."), dir_.path());
  ASSERT_OK(sources);
  EXPECT_EQ(sources->handler_dir, "");
  EXPECT_THAT(PathsOf(*sources), ElementsAre("handler.py", "requirements.txt", "src/handler.py"));
}

TEST_F(SourcesTest, FunctionsOfOneFileHaveFoldersOfTheirOwn) {
  dir_.WriteFile("b/src/handler.py", "");
  const auto sources = FindSources(PythonFunction("./b/src/"), dir_.path());
  ASSERT_OK(sources);
  EXPECT_THAT(PathsOf(*sources), ElementsAre("src/handler.py"));
}

TEST_F(SourcesTest, LeavesOutWhatDockerignoreNames) {
  dir_.WriteFile("data/big.bin", "x");
  dir_.WriteFile("src/__pycache__/a.pyc", "x");
  dir_.WriteFile(".dockerignore", "data\n**/__pycache__\n");
  const auto sources = FindSources(PythonFunction(), dir_.path());
  ASSERT_OK(sources);
  EXPECT_THAT(PathsOf(*sources), ElementsAre("requirements.txt", "src/handler.py"));
}

TEST_F(SourcesTest, NamesWhatIsMissingOrTooLarge) {
  EXPECT_THAT(FindSources(PythonFunction("./other/src"), dir_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("functions.hello.handler.dir")));
  Function renamed = PythonFunction();
  renamed.handler.file = "main.py";
  EXPECT_THAT(FindSources(renamed, dir_.path()),
              StatusIs(StatusCode::kNotFound, HasSubstr("src/main.py")));
  EXPECT_THAT(FindSources(PythonFunction(), dir_.path(), {.files = 1}),
              StatusIs(StatusCode::kOutOfRange, HasSubstr(".dockerignore")));
  EXPECT_THAT(FindSources(PythonFunction(), dir_.path(), {.bytes = 10}),
              StatusIs(StatusCode::kOutOfRange));
  ASSERT_EQ(mkfifo(dir_.At("src/pipe").c_str(), 0600), 0);
  EXPECT_THAT(FindSources(PythonFunction(), dir_.path()),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("src/pipe")));
}

TEST_F(SourcesTest, DigestFollowsNamesModesAndContent) {
  const auto sources = FindSources(PythonFunction(), dir_.path());
  ASSERT_OK(sources);
  const std::string before = DigestOf(*sources);
  EXPECT_EQ(DigestOf(*sources), before);
  Sources other = *sources;
  other.files.back().is_executable = true;
  EXPECT_NE(DigestOf(other), before);
  dir_.WriteFile("src/handler.py", "def Handler(req): return b''\n");
  EXPECT_NE(DigestOf(*sources), before);
}

TEST_F(SourcesTest, CopiesFilesModesAndLinks) {
  std::filesystem::permissions(dir_.At("src/handler.py"), std::filesystem::perms(0700));
  dir_.Symlink("handler.py", "src/main.py");
  const auto sources = FindSources(PythonFunction(), dir_.path());
  ASSERT_OK(sources);
  const mode_t old = umask(0077);
  EXPECT_OK(CopySources(*sources, dir_.At("copy")));
  umask(old);
  Sources copied = *sources;
  copied.folder = dir_.At("copy");
  EXPECT_EQ(DigestOf(copied), DigestOf(*sources));
  EXPECT_EQ(std::filesystem::read_symlink(dir_.At("copy/src/main.py")), "handler.py");
  EXPECT_EQ(std::filesystem::status(dir_.At("copy/src")).permissions(),
            std::filesystem::perms(0755));
  EXPECT_EQ(std::filesystem::status(dir_.At("copy/src/handler.py")).permissions(),
            std::filesystem::perms(0755));
  EXPECT_EQ(std::filesystem::status(dir_.At("copy/requirements.txt")).permissions(),
            std::filesystem::perms(0644));
}

}  // namespace
}  // namespace kgpu::functions
