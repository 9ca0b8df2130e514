#include "src/functions/gateway/tokens.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "testing/fake_clock.h"
#include "testing/status_matchers.h"
#include "testing/temp_dir.h"

namespace kgpu::gateway {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kCaller = "caller-0123456789abcdef";
constexpr const char* kAdministrator = "admin-0123456789abcdef";

TEST(TokenLinesTest, HaveATokenRolesAndANamespace) {
  const auto lines = ParseTokens(fmt::format(
      "# who\n\n {} call,read \r\n{}\tadmin namespace=team-a", kCaller, kAdministrator));
  ASSERT_OK(lines);
  ASSERT_EQ(lines->size(), 2U);
  EXPECT_EQ(lines->at(0).token, kCaller);
  EXPECT_THAT(lines->at(0).grant.roles, ElementsAre(Role::kCall, Role::kRead));
  EXPECT_EQ(lines->at(0).grant.space, "");
  EXPECT_EQ(lines->at(1).grant, (Grant{.roles = {Role::kAdmin}, .space = "team-a"}));
}

TEST(TokenLinesTest, AreNamedByNumberAndNeverShown) {
  const std::string token = kCaller;
  for (const auto& [text, why] : std::map<std::string, std::string>{
           {"secret call", "line 1: a token must have 16"},
           {token, "line 1: must be TOKEN ROLE"},
           {"#\n" + token + " secret", "line 2: unknown role"},
           {token + " call,", "line 1: unknown role"},
           {token + " none", "line 1: unknown role"},
           {token + " call secret", "line 1: the third word must be namespace="},
           {token + " call namespace=", "line 1: namespace"},
           {token + " call namespace=A_b", "line 1: namespace"},
           {token + " call namespace=a more", "line 1: must be TOKEN ROLE"},
           {token + "\x01 call", "line 1: a token must have only ASCII"}}) {
    EXPECT_THAT(ParseTokens(text),
                StatusIs(StatusCode::kInvalidArgument,
                         AllOf(HasSubstr(why), Not(HasSubstr("secret")), Not(HasSubstr(token)))))
        << text;
  }
  EXPECT_THAT(ParseTokens("# none\n"), StatusIs(StatusCode::kNotFound, HasSubstr("no token")));
  std::string many;
  for (size_t i = 0; i <= kMaxTokens; ++i) {
    many.append(kCaller).append(" call\n");
  }
  EXPECT_THAT(ParseTokens(many), StatusIs(StatusCode::kInvalidArgument, HasSubstr("line 1001")));
}

class TokensTest : public ::testing::Test {
 protected:
  void Write(const std::string& text) { dir_.WriteFile("tokens", text); }
  void Open() {
    auto tokens = Tokens::Open(root_, clock_, "tokens");
    ASSERT_OK(tokens);
    tokens_ = *std::move(tokens);
  }
  Verdict Check(const std::string& token, Role role) {
    return tokens_->Check("Bearer " + token, role, "default");
  }

  TempDir dir_;
  const sys::Root root_ = sys::Root::Open(dir_.path()).value();
  FakeClock clock_;
  std::unique_ptr<Tokens> tokens_;
};

TEST_F(TokensTest, GiveTheirRolesAndNoOthers) {
  Write(fmt::format("{} call,read\n{} admin\n", kCaller, kAdministrator));
  Open();
  for (const Role role : {Role::kCall, Role::kRead, Role::kDeploy, Role::kAdmin}) {
    const bool is_callers = role == Role::kCall || role == Role::kRead;
    EXPECT_EQ(Check(kCaller, role).code, is_callers ? 200 : 403) << NameOf(role);
    EXPECT_EQ(Check(kAdministrator, role).code, 200) << NameOf(role);
    EXPECT_EQ(Check("unknown-0123456789abcdef", role).code, 401) << NameOf(role);
    EXPECT_EQ(tokens_->Check(std::nullopt, role, "default").code, 401) << NameOf(role);
  }
  EXPECT_EQ(tokens_->Check(std::nullopt, Role::kNone, "default").code, 200);
  EXPECT_THAT(Check(kCaller, Role::kDeploy).text, HasSubstr("lacks the role \"deploy\""));
}

TEST_F(TokensTest, ComeByTheSchemeBearerInAnyCase) {
  Write(fmt::format("{} call\n", kCaller));
  Open();
  const std::string token = kCaller;
  EXPECT_EQ(tokens_->Check("bEARER  " + token, Role::kCall, "default").code, 200);
  for (const std::string& text :
       {token, "Basic " + token, std::string("Bearer"), std::string("Bearer "), std::string()}) {
    EXPECT_EQ(tokens_->Check(text, Role::kCall, "default").code, 401) << text;
  }
}

TEST_F(TokensTest, AreForTheirNamespaceOnly) {
  Write(fmt::format("{0} call namespace=other\n{1} call namespace=default\n{0} read\n", kCaller,
                    kAdministrator));
  Open();
  EXPECT_EQ(Check(kAdministrator, Role::kCall).code, 200);
  EXPECT_EQ(Check(kCaller, Role::kCall).code, 403) << "its other line gives read alone";
  EXPECT_EQ(Check(kCaller, Role::kRead).code, 200);
  Write(fmt::format("{} call namespace=other\n", kCaller));
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_THAT(Check(kCaller, Role::kCall).text, HasSubstr("not for the namespace \"default\""));
  const std::string bearer = std::string("Bearer ") + kCaller;
  EXPECT_EQ(tokens_->Check(bearer, Role::kCall, "other").code, 200);
  EXPECT_THAT(tokens_->Check(bearer, Role::kCall, "").text, HasSubstr("about all of them"));
}

TEST_F(TokensTest, AreJudgedByTheirRoleBeforeTheNamespaceIsKnown) {
  Write("token-0123456789abcdef call namespace=team-a\n");
  Open();
  constexpr std::string_view kBearer = "Bearer token-0123456789abcdef";
  EXPECT_EQ(tokens_->Check(kBearer, Role::kCall, std::nullopt).code, 200);
  EXPECT_EQ(tokens_->Check(kBearer, Role::kDeploy, std::nullopt).code, 403);
  EXPECT_EQ(tokens_->Check("Bearer another-0123456789-token", Role::kCall, std::nullopt).code, 401);
}

TEST_F(TokensTest, FollowTheFile) {
  Write(fmt::format("{} call\n", kCaller));
  Open();
  Write(fmt::format("{} call\n", kAdministrator));
  EXPECT_EQ(Check(kCaller, Role::kCall).code, 200) << "not read for every request";
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Check(kCaller, Role::kCall).code, 401);
  EXPECT_EQ(Check(kAdministrator, Role::kCall).code, 200);
  Write("not valid\n");
  clock_.Advance(std::chrono::minutes(59));
  EXPECT_EQ(Check(kAdministrator, Role::kCall).code, 200) << "an error must not lock all out";
  clock_.Advance(std::chrono::minutes(2));
  EXPECT_EQ(Check(kAdministrator, Role::kCall).code, 503) << "but not for ever";
  Write(fmt::format("{} call\n", kCaller));
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Check(kCaller, Role::kCall).code, 200);
  std::filesystem::remove(dir_.At("tokens"));
  clock_.Advance(std::chrono::seconds(2));
  EXPECT_EQ(Check(kCaller, Role::kCall).code, 503) << "a file that is gone lets nobody in";
}

TEST_F(TokensTest, StartWithAValidFileOnly) {
  EXPECT_THAT(Tokens::Open(root_, clock_, "tokens"), StatusIs(StatusCode::kNotFound));
  Write("short call\n");
  EXPECT_THAT(Tokens::Open(root_, clock_, "tokens"),
              StatusIs(StatusCode::kInvalidArgument, HasSubstr("tokens: line 1")));
}

}  // namespace
}  // namespace kgpu::gateway
