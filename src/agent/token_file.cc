#include "src/agent/token_file.h"

#include <algorithm>
#include <utility>

#include "src/base/log.h"
#include "src/base/status_macros.h"
#include "src/base/strings.h"

namespace kgpu::agent {
namespace {

// Fewer could be tried one after another.
constexpr size_t kMinToken = 16;

bool IsTokenByte(char c) {
  return c > 0x20 && c < 0x7f;
}

}  // namespace

StatusOr<std::vector<std::string>> ParseTokenFile(std::string_view text) {
  std::vector<std::string> tokens;
  size_t number = 0;
  for (const std::string_view whole : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(whole);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (line.size() < kMinToken || line.size() > kMaxToken) {
      return InvalidArgument("line {}: a token has {} to {} characters", number, kMinToken,
                             kMaxToken);
    }
    if (!std::ranges::all_of(line, IsTokenByte)) {
      return InvalidArgument("line {}: a token has no blanks and only ASCII characters", number);
    }
    tokens.emplace_back(line);
    if (tokens.size() > kMaxFileTokens) {
      return InvalidArgument("line {}: more than {} tokens", number, kMaxFileTokens);
    }
  }
  if (tokens.empty()) {
    return InvalidArgument("holds no token: write one on a line of its own");
  }
  return tokens;
}

StatusOr<std::unique_ptr<FileTokens>> FileTokens::Open(const sys::Root& root, const Clock& clock,
                                                       std::string path) {
  ASSIGN_OR_RETURN(const tls::KeyedDigest digest, tls::KeyedDigest::Create());
  return std::unique_ptr<FileTokens>(new FileTokens(root, clock, std::move(path), digest));
}

void FileTokens::Check(const std::string& token, Done done) {
  done(Judge(token));
}

Verdict FileTokens::Judge(const std::string& token) {
  Read();
  if (known_.empty()) {
    return {.code = 503, .text = "no tokens are known here: the agent's log says why"};
  }
  const StatusOr<tls::KeyedDigest::Value> value = digest_.Of(token);
  if (!value.ok()) {
    return {.code = 503, .text = std::string(Message(value.status()))};
  }
  // All of them, in the same time whichever it is.
  bool is_known = false;
  for (const tls::KeyedDigest::Value& known : known_) {
    is_known = tls::KeyedDigest::AreEqual(known, *value) || is_known;
  }
  return is_known ? Verdict() : Verdict{.code = 401, .text = "this token is not known here"};
}

// A file that can not be used leaves the tokens that were known.
void FileTokens::Read() {
  const StatusOr<std::string> text = file_.Read(clock_.Now());
  if (text.ok() && *text == text_ && !known_.empty()) {
    return;
  }
  const StatusOr<std::vector<std::string>> tokens =
      text.ok() ? ParseTokenFile(*text) : StatusOr<std::vector<std::string>>(text.status());
  if (!tokens.ok()) {
    std::string problem(Message(tokens.status()));
    if (problem != problem_) {
      KGPU_LOG(kError, "tokens are not read", {"file", file_.path()}, {"reason", problem});
      problem_ = std::move(problem);
    }
    return;
  }
  problem_.clear();
  text_ = *text;
  known_.clear();
  for (const std::string& token : *tokens) {
    if (const auto value = digest_.Of(token); value.ok()) {
      known_.push_back(*value);
    }
  }
}

}  // namespace kgpu::agent
