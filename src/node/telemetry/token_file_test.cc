#include "src/node/telemetry/token_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "testing/fake_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::telemetry {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kFirst = "0123456789abcdef";
constexpr const char* kSecond = "fedcba9876543210";

TEST(TokenFileTest, HasOneTokenALine) {
  const auto list = ParseTokenFile(fmt::format("# who\n\n  {} \r\n{}", kFirst, kSecond));
  ASSERT_OK(list);
  EXPECT_THAT(list->tokens, ElementsAre(kFirst, kSecond));
  EXPECT_EQ(list->problem, "");
}

TEST(TokenFileTest, AWrongLineCostsNoOther) {
  const auto list = ParseTokenFile(fmt::format("{}\nsecret\n{}\n", kFirst, kSecond));
  ASSERT_OK(list);
  EXPECT_THAT(list->tokens, ElementsAre(kFirst, kSecond));
  EXPECT_THAT(list->problem,
              AllOf(HasSubstr("line 2: a token must have 16"), Not(HasSubstr("secret"))));
}

TEST(TokenFileTest, NamesTheLineAndNotWhatItHolds) {
  EXPECT_THAT(ParseTokenFile("# x\nsecret\n"),
              StatusIs(StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("line 2: a token must have 16"), Not(HasSubstr("secret")))));
  EXPECT_THAT(
      ParseTokenFile("secret secret secret"),
      StatusIs(StatusCode::kInvalidArgument,
               AllOf(HasSubstr("line 1: a token must have only ASCII"), Not(HasSubstr("secret")))));
  EXPECT_THAT(ParseTokenFile("# nothing\n"),
              StatusIs(StatusCode::kNotFound, HasSubstr("no token found")));
  std::string many;
  for (int i = 0; i < 65; ++i) {
    many.append(kFirst).append("\n");
  }
  const auto list = ParseTokenFile(many);
  ASSERT_OK(list);
  EXPECT_EQ(list->tokens.size(), kMaxFileTokens);
  EXPECT_THAT(list->problem, HasSubstr("line 65: more than 64 tokens"));
}

class FileTokensTest : public ::testing::Test {
 protected:
  int CodeOf(const std::string& token) {
    int code = 0;
    tokens_->Check(token, [&](const Verdict& verdict) { code = verdict.code; });
    return code;
  }

  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeClock clock_;
  const std::unique_ptr<FileTokens> tokens_ = FileTokens::Open(root_, clock_, "tokens").value();
};

TEST_F(FileTokensTest, LetsThroughTheTokensOfTheFile) {
  dir_.WriteFile("tokens", fmt::format("{}\n{}\n", kFirst, kSecond));
  EXPECT_EQ(CodeOf(kFirst), 200);
  EXPECT_EQ(CodeOf(kSecond), 200);
  EXPECT_EQ(CodeOf("0123456789abcdeF"), 401);
  EXPECT_EQ(CodeOf(""), 401);
}

TEST_F(FileTokensTest, CannotTellWithoutAFile) {
  EXPECT_EQ(CodeOf(kFirst), 503);
  EXPECT_THAT(tokens_->Problem(), HasSubstr("no client is let in"));
  dir_.WriteFile("tokens", kFirst);
  EXPECT_EQ(CodeOf(kFirst), 503) << "the file is not looked for with every request";
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(CodeOf(kFirst), 200) << "it is there now";
}

TEST_F(FileTokensTest, TakesAChangedFileWithinAMinute) {
  dir_.WriteFile("tokens", kFirst);
  EXPECT_EQ(CodeOf(kFirst), 200);
  dir_.WriteFile("tokens", kSecond);
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(CodeOf(kFirst), 401);
  EXPECT_EQ(CodeOf(kSecond), 200);
}

TEST_F(FileTokensTest, AWrongLineIsReportedAndCostsNoOther) {
  dir_.WriteFile("tokens", fmt::format("short\n{}\n", kFirst));
  EXPECT_EQ(CodeOf(kFirst), 200);
  EXPECT_EQ(CodeOf("short"), 401);
  EXPECT_THAT(tokens_->Problem(), HasSubstr("tokens: line 1: a token must have"));
  dir_.WriteFile("tokens", kFirst);
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(tokens_->Problem(), "");
}

TEST_F(FileTokensTest, KeepsWhatItKnowsWhenTheFileTurnsBad) {
  dir_.WriteFile("tokens", kFirst);
  EXPECT_EQ(CodeOf(kFirst), 200);
  dir_.WriteFile("tokens", "short");
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(CodeOf(kFirst), 200);
  EXPECT_EQ(CodeOf("short"), 401);
  EXPECT_THAT(tokens_->Problem(),
              AllOf(HasSubstr("line 1"), HasSubstr("the previous tokens stay valid")));
  clock_.Advance(std::chrono::minutes(57));
  EXPECT_EQ(CodeOf(kFirst), 200);
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(CodeOf(kFirst), 503) << "not for ever";
}

TEST_F(FileTokensTest, LetsNobodyInWhenTheFileIsTakenAway) {
  dir_.WriteFile("tokens", kFirst);
  EXPECT_EQ(CodeOf(kFirst), 200);
  std::filesystem::remove(dir_.At("tokens"));
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(CodeOf(kFirst), 503);
  EXPECT_THAT(tokens_->Problem(), HasSubstr("no client is let in"));
  dir_.WriteFile("tokens", kSecond);
  clock_.Advance(std::chrono::seconds(1));
  EXPECT_EQ(CodeOf(kSecond), 200);
  EXPECT_EQ(CodeOf(kFirst), 401);
  EXPECT_EQ(tokens_->Problem(), "");
}

TEST_F(FileTokensTest, LetsNobodyInWhenTheFileIsEmptied) {
  dir_.WriteFile("tokens", kFirst);
  EXPECT_EQ(CodeOf(kFirst), 200);
  dir_.WriteFile("tokens", "# taken back\n");
  clock_.Advance(std::chrono::seconds(61));
  EXPECT_EQ(CodeOf(kFirst), 503);
  EXPECT_THAT(tokens_->Problem(), HasSubstr("no token found"));
}

}  // namespace
}  // namespace kgpu::telemetry
