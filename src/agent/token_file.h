// Tokens of a file: for nodes without a cluster, or where its API server must not be needed.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/token_check.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/sys/root.h"
#include "src/platform/tls/keyed_digest.h"

namespace kgpu::agent {

inline constexpr size_t kMaxFileTokens = 64;

// The tokens of such a file: one a line, blanks around it and lines that are empty or begin with
// "#" left out. Errors: InvalidArgument naming the line, and never what it holds; NotFound (no
// token at all).
StatusOr<std::vector<std::string>> ParseTokenFile(std::string_view text);

// Loop thread only.
class FileTokens final : public TokenCheck {
 public:
  // `root` and `clock` outlive it. The file is read again when it was read a minute ago. Errors:
  // Internal (no random bytes).
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
  void Keep(const Status& problem);

  const sys::Root& root_;
  const Clock& clock_;
  std::string path_;
  tls::KeyedDigest digest_;
  std::vector<tls::KeyedDigest::Value> known_;
  std::string problem_;   // why known_ is not what the file says; empty: it is
  SteadyTime read_at_{};  // when known_ was read
  std::optional<SteadyTime> next_read_;
};

}  // namespace kgpu::agent
