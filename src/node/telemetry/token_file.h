// Tokens from a file: for nodes without a cluster, or that must not depend on its API server.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/node/telemetry/token_check.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/tls/keyed_digest.h"
#include "src/platform/net/tls/token_freshness.h"
#include "src/platform/sys/root.h"

namespace kgpu::telemetry {

inline constexpr size_t kMaxFileTokens = 64;

struct TokenList {
  std::vector<std::string> tokens;
  // Lines that hold no valid token, which cost no other: "line 3: …", but never their content.
  std::string problem{};
};

// Parses such a file: one token per line; ignores surrounding blanks, empty lines and lines that
// begin with "#". Errors: InvalidArgument naming the line (no token is valid), NotFound (there is
// none at all).
StatusOr<TokenList> ParseTokenFile(std::string_view text);

// Loop thread only.
class FileTokens final : public TokenCheck {
 public:
  // `root` and `clock` must outlive it. Re-reads the file after a minute. Errors: Internal (no
  // random bytes).
  static StatusOr<std::unique_ptr<FileTokens>> Open(const sys::Root& root, const Clock& clock,
                                                    std::string path);

  void Check(const std::string& token, Done done) override;
  std::string Problem() override;

 private:
  FileTokens(const sys::Root& root, const Clock& clock, std::string path, tls::KeyedDigest digest)
      : root_(root), clock_(clock), path_(std::move(path)), digest_(digest) {}
  Verdict Judge(const std::string& token);
  void Refresh();
  Status Read();
  void SetLineProblem(std::string problem);

  const sys::Root& root_;
  const Clock& clock_;
  std::string path_;
  tls::KeyedDigest digest_;
  std::vector<tls::KeyedDigest::Value> known_;
  tls::TokenFreshness freshness_;  // of known_
  std::string line_problem_;       // of lines that were left out
  std::optional<SteadyTime> next_read_;
};

}  // namespace kgpu::telemetry
