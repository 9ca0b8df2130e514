// Tokens of a file: for nodes without a cluster, or where its API server must not be needed.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "src/agent/token_check.h"
#include "src/base/clock.h"
#include "src/base/status.h"
#include "src/kube/reread_file.h"
#include "src/sys/root.h"
#include "src/tls/keyed_digest.h"

namespace kgpu::agent {

inline constexpr size_t kMaxFileTokens = 64;
inline constexpr size_t kMaxToken = 4096;

// The tokens of such a file: one a line, blanks around it and lines that are empty or begin with
// "#" left out. Errors: InvalidArgument naming the line, and never what it holds.
StatusOr<std::vector<std::string>> ParseTokenFile(std::string_view text);

class FileTokens final : public TokenCheck {
 public:
  // `root` and `clock` outlive it. The file is read again when it was read a minute ago. Errors:
  // Internal (no random bytes).
  static StatusOr<std::unique_ptr<FileTokens>> Open(const sys::Root& root, const Clock& clock,
                                                    std::string path);

  void Check(const std::string& token, Done done) override;

 private:
  FileTokens(const sys::Root& root, const Clock& clock, std::string path, tls::KeyedDigest digest)
      : clock_(clock), file_(root, std::move(path), size_t{1} << 18), digest_(digest) {}
  Verdict Judge(const std::string& token);
  void Read();

  const Clock& clock_;
  kube::RereadFile file_;
  tls::KeyedDigest digest_;
  std::string text_;  // that known_ was made of
  std::vector<tls::KeyedDigest::Value> known_;
  std::string problem_;  // why known_ is not what the file says; empty: it is
};

}  // namespace kgpu::agent
