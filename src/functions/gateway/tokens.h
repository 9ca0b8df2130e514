// Tokens and their rights: the file of `kgpu fn gateway --tokens`.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "src/functions/gateway/routes.h"
#include "src/platform/base/clock.h"
#include "src/platform/base/status.h"
#include "src/platform/net/tls/keyed_digest.h"
#include "src/platform/net/tls/token_freshness.h"
#include "src/platform/sys/root.h"

namespace kgpu::gateway {

inline constexpr size_t kMaxTokens = 1'000;
inline constexpr size_t kMaxTokenSize = 8'192;

// The rights of one token.
struct Grant {
  std::vector<Role> roles{};
  std::string space{};  // the only namespace it is for; empty: every one
  bool operator==(const Grant&) const = default;

  bool Has(Role role) const;
};

struct TokenLine {
  std::string token;
  Grant grant;
};

// Parses such a file, a token on each line: "TOKEN ROLE[,ROLE] [namespace=NAME]". Ignores empty
// lines and lines that begin with "#". Errors: InvalidArgument naming the line, but never the
// token; NotFound (no token at all).
StatusOr<std::vector<TokenLine>> ParseTokens(std::string_view text);

// Whether a request may go on.
struct Verdict {
  int code = 200;      // 401: no token, or an unknown one; 403; 503: no token can be checked
  std::string text{};  // for the caller, with the fix
};

// Loop thread only.
class Tokens {
 public:
  // `root` and `clock` must outlive it. Reads the file again, at a request, when it may have
  // changed. Errors: those of the file, so that a start with an invalid one fails.
  static StatusOr<std::unique_ptr<Tokens>> Open(const sys::Root& root, const Clock& clock,
                                                std::string path);

  // Whether `authorization`, the value of a request's header, gives `role` in a namespace; in all
  // of them if `space` is empty, in some namespace if it is nothing. Takes the same time for each
  // token that is not known.
  Verdict Check(std::optional<std::string_view> authorization, Role role,
                std::optional<std::string_view> space);

 private:
  struct Known {
    tls::KeyedDigest::Value digest;
    Grant grant;
  };
  Tokens(const sys::Root& root, const Clock& clock, std::string path, tls::KeyedDigest digest)
      : root_(root), clock_(clock), path_(std::move(path)), digest_(digest) {}
  void Refresh();
  Status Read();

  const sys::Root& root_;
  const Clock& clock_;
  const std::string path_;
  tls::KeyedDigest digest_;
  std::vector<Known> known_;
  tls::KeyedDigest::Value text_{};  // of the file that known_ is from
  tls::TokenFreshness freshness_;   // of known_
  SteadyTime next_read_{};
};

}  // namespace kgpu::gateway
