#include "src/node/telemetry/token_file.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::telemetry {
namespace {

// Fewer could be tried one after another.
constexpr size_t kMinToken = 16;
constexpr size_t kMaxFile = size_t{1} << 18;
constexpr std::chrono::seconds kPeriod{60};
// While no token is known.
constexpr std::chrono::seconds kTokenRetry{1};

// A file of thousands of bad lines is one problem, not thousands.
constexpr size_t kMaxShown = 5;

bool IsTokenByte(char c) {
  return c > 0x20 && c < 0x7f;
}

// Empty if it is one.
std::string_view WhyNoToken(std::string_view line) {
  static const std::string kLength =
      fmt::format("a token must have {} to {} characters", kMinToken, kMaxToken);
  if (line.size() < kMinToken || line.size() > kMaxToken) {
    return kLength;
  }
  return std::ranges::all_of(line, IsTokenByte)
             ? ""
             : "a token must have only ASCII characters without spaces";
}

}  // namespace

StatusOr<TokenList> ParseTokenFile(std::string_view text) {
  TokenList list;
  std::vector<std::string> problems;
  size_t number = 0;
  for (const std::string_view whole : Split(text, '\n')) {
    ++number;
    const std::string_view line = Trim(whole);
    if (line.empty() || line.starts_with('#')) {
      continue;
    }
    if (const std::string_view why = WhyNoToken(line); !why.empty()) {
      problems.push_back(fmt::format("line {}: {}", number, why));
    } else if (list.tokens.size() == kMaxFileTokens) {
      problems.push_back(fmt::format("line {}: more than {} tokens", number, kMaxFileTokens));
      break;
    } else {
      list.tokens.emplace_back(line);
    }
  }
  if (problems.size() > kMaxShown) {
    const size_t more = problems.size() - kMaxShown;
    problems.resize(kMaxShown);
    problems.push_back(fmt::format("and {} more lines", more));
  }
  list.problem = Join(problems, "; ");
  if (!list.tokens.empty()) {
    return list;
  }
  return problems.empty() ? NotFound("no token found: write one on a line of its own")
                          : InvalidArgument("{}", list.problem);
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
  Refresh();
  if (known_.empty()) {
    return {.code = 503, .text = "no tokens loaded: see the agent's log"};
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
  return is_known ? Verdict() : Verdict{.code = 401, .text = "unknown token"};
}

std::string FileTokens::Problem() {
  Refresh();
  return freshness_.problem().empty() ? line_problem_ : freshness_.problem();
}

void FileTokens::Refresh() {
  const SteadyTime now = clock_.Now();
  if (next_read_ && now < *next_read_) {
    return;
  }
  if (const Status status = Read(); status.ok()) {
    freshness_.OnRead(now);
  } else if (freshness_.OnProblem(status, !known_.empty(), now)) {
    known_.clear();
  }
  next_read_ = now + (known_.empty() ? kTokenRetry : kPeriod);
}

Status FileTokens::Read() {
  ASSIGN_OR_RETURN(const std::string text, root_.ReadFile(path_, kMaxFile));
  const StatusOr<TokenList> list = ParseTokenFile(text);
  if (!list.ok()) {
    return Annotate(list.status(), "{}", path_);
  }
  std::vector<tls::KeyedDigest::Value> known;
  for (const std::string& token : list->tokens) {
    ASSIGN_OR_RETURN(known.emplace_back(), digest_.Of(token));
  }
  known_ = std::move(known);
  SetLineProblem(list->problem.empty() ? "" : fmt::format("{}: {}", path_, list->problem));
  return OkStatus();
}

void FileTokens::SetLineProblem(std::string problem) {
  if (!problem.empty() && problem != line_problem_) {
    KGPU_LOG(kWarning, "tokens left out", {"reason", problem});
  }
  line_problem_ = std::move(problem);
}

}  // namespace kgpu::telemetry
