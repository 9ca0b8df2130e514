#include "src/functions/gateway/tokens.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "src/functions/spec/checks.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/http/message.h"

namespace kgpu::gateway {
namespace {

// Fewer could be tried one after another.
constexpr size_t kMinTokenSize = 16;
constexpr size_t kMaxTokensFile = size_t{1} << 20;
// How soon a token that was removed from the file is refused.
constexpr std::chrono::seconds kTokensPeriod{2};
constexpr std::string_view kBearer = "bearer ";
constexpr std::string_view kNamespace = "namespace=";
constexpr std::array kRoles = {Role::kCall, Role::kRead, Role::kDeploy, Role::kAdmin};

bool IsTokenByte(char c) {
  return c > 0x20 && c < 0x7f;
}

Status CheckToken(std::string_view token, size_t line) {
  if (token.size() < kMinTokenSize || token.size() > kMaxTokenSize) {
    return InvalidArgument("line {}: a token must have {} to {} characters", line, kMinTokenSize,
                           kMaxTokenSize);
  }
  if (!std::ranges::all_of(token, IsTokenByte)) {
    return InvalidArgument("line {}: a token must have only ASCII characters without spaces", line);
  }
  return OkStatus();
}

StatusOr<std::vector<Role>> ParseRoles(std::string_view text, size_t line) {
  std::vector<Role> roles;
  for (const std::string_view word : Split(text, ',')) {
    const auto* const found =
        std::ranges::find_if(kRoles, [word](Role role) { return NameOf(role) == word; });
    if (found == kRoles.end()) {
      // What the word is could be a part of the token.
      return InvalidArgument(
          "line {}: unknown role: use call, read, deploy or admin, separated by commas", line);
    }
    if (std::ranges::find(roles, *found) == roles.end()) {
      roles.push_back(*found);
    }
  }
  return roles;
}

StatusOr<TokenLine> ParseTokenLine(std::string_view text, size_t line) {
  const std::vector<std::string_view> words = Words(text);
  RETURN_IF_ERROR(CheckToken(words.front(), line));
  if (words.size() < 2 || words.size() > 3) {
    return InvalidArgument("line {}: must be TOKEN ROLE[,ROLE] [namespace=NAME]", line);
  }
  TokenLine parsed{.token = std::string(words[0]), .grant = {}};
  ASSIGN_OR_RETURN(parsed.grant.roles, ParseRoles(words[1], line));
  if (words.size() == 3) {
    if (!words[2].starts_with(kNamespace)) {
      return InvalidArgument("line {}: the third word must be namespace=NAME", line);
    }
    const std::string_view space = words[2].substr(kNamespace.size());
    RETURN_IF_ERROR(Annotate(functions::CheckFunctionName(space), "line {}: namespace", line));
    parsed.grant.space = space;
  }
  return parsed;
}

// The token of "Bearer TOKEN"; nothing for other schemes. Source: RFC 6750, section 2.1.
std::optional<std::string_view> BearerToken(std::string_view authorization) {
  if (authorization.size() <= kBearer.size() ||
      !http::EqualsIgnoringCase(authorization.substr(0, kBearer.size()), kBearer)) {
    return std::nullopt;
  }
  return Trim(authorization.substr(kBearer.size()));
}

}  // namespace

bool Grant::Has(Role role) const {
  return role == Role::kNone || std::ranges::any_of(roles, [role](Role given) {
           return given == role || given == Role::kAdmin;
         });
}

StatusOr<std::vector<TokenLine>> ParseTokens(std::string_view text) {
  std::vector<TokenLine> tokens;
  size_t number = 0;
  for (const std::string_view whole : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(whole);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (tokens.size() == kMaxTokens) {
      return InvalidArgument("line {}: more than {} tokens", number, kMaxTokens);
    }
    ASSIGN_OR_RETURN(TokenLine parsed, ParseTokenLine(line, number));
    tokens.push_back(std::move(parsed));
  }
  if (tokens.empty()) {
    return NotFound("no token found: write \"TOKEN ROLE\" on a line of its own");
  }
  return tokens;
}

StatusOr<std::unique_ptr<Tokens>> Tokens::Open(const sys::Root& root, const Clock& clock,
                                               std::string path) {
  ASSIGN_OR_RETURN(const tls::KeyedDigest digest, tls::KeyedDigest::Create());
  std::unique_ptr<Tokens> tokens(new Tokens(root, clock, std::move(path), digest));
  RETURN_IF_ERROR(tokens->Read());
  tokens->freshness_.OnRead(clock.Now());
  tokens->next_read_ = clock.Now() + kTokensPeriod;
  return tokens;
}

Verdict Tokens::Check(std::optional<std::string_view> authorization, Role role,
                      std::optional<std::string_view> space) {
  if (role == Role::kNone) {
    return {};
  }
  Refresh();
  if (known_.empty()) {
    return {.code = 503, .text = "no tokens are loaded: see the gateway's log"};
  }
  const std::optional<std::string_view> token =
      authorization ? BearerToken(*authorization) : std::nullopt;
  if (!token) {
    return {.code = 401, .text = "no token: send the header \"Authorization: Bearer TOKEN\""};
  }
  const StatusOr<tls::KeyedDigest::Value> value = digest_.Of(*token);
  if (!value.ok()) {
    return {.code = 503, .text = std::string(Message(value.status()))};
  }
  // All of them, in the same time whichever it is. A token on two lines has the roles of both.
  std::vector<const Grant*> grants;
  for (const Known& known : known_) {
    if (tls::KeyedDigest::AreEqual(known.digest, *value)) {
      grants.push_back(&known.grant);
    }
  }
  if (grants.empty()) {
    return {.code = 401, .text = "unknown token"};
  }
  std::erase_if(grants, [space](const Grant* grant) {
    return space && !grant->space.empty() && grant->space != *space;
  });
  if (grants.empty()) {
    return {.code = 403,
            .text = space->empty()
                        ? "this token is for one namespace, and the request is about all of them: "
                          "use a token without namespace="
                        : fmt::format("this token is not for the namespace \"{}\"",
                                      Printable(*space, 80))};
  }
  if (std::ranges::none_of(grants, [role](const Grant* grant) { return grant->Has(role); })) {
    return {.code = 403,
            .text = fmt::format("this token lacks the role \"{}\": add it to its line in the "
                                "gateway's file of tokens",
                                NameOf(role))};
  }
  return {};
}

void Tokens::Refresh() {
  const SteadyTime now = clock_.Now();
  if (now < next_read_) {
    return;
  }
  next_read_ = now + kTokensPeriod;
  if (const Status status = Read(); status.ok()) {
    freshness_.OnRead(now);
  } else if (freshness_.OnProblem(status, !known_.empty(), now)) {
    known_.clear();
  }
}

Status Tokens::Read() {
  ASSIGN_OR_RETURN(const std::string text, root_.ReadFile(path_, kMaxTokensFile));
  ASSIGN_OR_RETURN(const tls::KeyedDigest::Value digest, digest_.Of(text));
  if (!known_.empty() && digest == text_) {
    return OkStatus();
  }
  const StatusOr<std::vector<TokenLine>> lines = ParseTokens(text);
  if (!lines.ok()) {
    return Annotate(lines.status(), "{}", path_);
  }
  std::vector<Known> known;
  for (const TokenLine& line : *lines) {
    ASSIGN_OR_RETURN(const tls::KeyedDigest::Value value, digest_.Of(line.token));
    known.push_back({value, line.grant});
  }
  known_ = std::move(known);
  text_ = digest;
  return OkStatus();
}

}  // namespace kgpu::gateway
