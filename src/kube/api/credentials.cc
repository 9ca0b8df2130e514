#include "src/kube/api/credentials.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "src/kube/api/exec_plugin.h"
#include "src/kube/api/query.h"
#include "src/kube/api/reread_file.h"
#include "src/platform/base/backoff.h"
#include "src/platform/base/base64.h"
#include "src/platform/base/log.h"
#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"

namespace kgpu::kube {
namespace {

constexpr size_t kMaxToken = size_t{64} << 10;
constexpr size_t kMaxPem = size_t{4} << 20;
// A credential of a plugin is not used in its last seconds: the request has a way to go.
constexpr std::chrono::seconds kExpiryMargin{10};

// Where systems keep the authorities that all programs trust.
constexpr std::array<std::string_view, 5> kSystemAuthorities = {
    "/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem", "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem"};

std::string AuthorityPath(const sys::Root& root, const ClusterSpec& cluster) {
  if (!cluster.ca_pem.empty() || !cluster.ca_file.empty()) {
    return cluster.ca_pem.empty() ? cluster.ca_file : "";
  }
  const auto* found = std::ranges::find_if(
      kSystemAuthorities, [&](std::string_view path) { return root.Exists(path); });
  return std::string(found == kSystemAuthorities.end() ? kSystemAuthorities.front() : *found);
}

// Source: kubernetes.io, "User impersonation".
void AddImpersonation(const UserSpec& user, http::Headers& headers) {
  if (!user.as_user.empty()) {
    headers.Add("Impersonate-User", user.as_user);
  }
  if (!user.as_uid.empty()) {
    headers.Add("Impersonate-Uid", user.as_uid);
  }
  for (const std::string& group : user.as_groups) {
    headers.Add("Impersonate-Group", group);
  }
  for (const auto& [key, values] : user.as_extra) {
    for (const std::string& value : values) {
      headers.Add("Impersonate-Extra-" + Escape(ToLower(key)), value);
    }
  }
}

bool IsToken(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c > 0x20 && c < 0x7f; });
}

}  // namespace

class Credentials::Impl {
 public:
  Impl(EventLoop& loop, Random& random, const sys::Root& root, ClusterSpec cluster, UserSpec user,
       std::vector<std::string> environment)
      : loop_(loop),
        cluster_(std::move(cluster)),
        user_(std::move(user)),
        environment_(std::move(environment)),
        token_file_(root, user_.token_file, kMaxToken),
        ca_file_(root, AuthorityPath(root, cluster_), kMaxPem),
        certificate_file_(root, user_.certificate_pem.empty() ? user_.certificate_file : "",
                          kMaxPem),
        key_file_(root, user_.key_pem.empty() ? user_.key_file : "", kMaxPem),
        backoff_(random, {.first = std::chrono::seconds(2), .longest = std::chrono::minutes(2)}) {}

  void Authenticate(Done done) {
    if (!UsesPlugin() || IsFresh()) {
      return done(Headers());
    }
    if (loop_.clock().Now() < plugin_rests_until_) {
      return done(plugin_status_);
    }
    waiting_.push_back(std::move(done));
    if (run_ == nullptr) {
      RunPlugin();
    }
  }

  void Reject() {
    for (RereadFile* file : {&token_file_, &ca_file_, &certificate_file_, &key_file_}) {
      file->Expire();
    }
    is_credential_rejected_ = true;
  }

  StatusOr<Trust> CurrentTrust() {
    StatusOr<tls::ClientOptions> options = ReadOptions();
    if (options.ok() && trust_.context != nullptr && options->ca_pem == used_.ca_pem &&
        options->certificate_pem == used_.certificate_pem && options->key_pem == used_.key_pem) {
      return trust_;
    }
    Status status = options.status();
    if (options.ok()) {
      StatusOr<std::shared_ptr<const tls::Context>> context = tls::Context::ForClient(*options);
      if (context.ok()) {
        trust_ = {.context = *std::move(context), .generation = trust_.generation + 1};
        used_ = *std::move(options);
        return trust_;
      }
      status = Annotate(context.status(), "{}", SourcesText());
    }
    if (trust_.context == nullptr) {
      return status;
    }
    // Half of a rotation, most likely: the old ones still do.
    if (reported_ != Message(status)) {
      reported_ = Message(status);
      KGPU_LOG(kWarning, "new client certificates not loaded", {"reason", reported_});
    }
    return trust_;
  }

 private:
  bool UsesPlugin() const {
    return user_.exec && user_.token.empty() && user_.token_file.empty() && user_.username.empty();
  }

  bool IsFresh() const {
    return credential_ && !is_credential_rejected_ &&
           (!credential_->expires ||
            loop_.clock().WallNow() + kExpiryMargin < *credential_->expires);
  }

  StatusOr<http::Headers> Headers() {
    http::Headers headers;
    ASSIGN_OR_RETURN(const std::string token, Token());
    if (!token.empty()) {
      headers.Add("Authorization", "Bearer " + token);
    } else if (!user_.username.empty()) {
      headers.Add("Authorization",
                  "Basic " + EncodeBase64(fmt::format("{}:{}", user_.username, user_.password)));
    }
    AddImpersonation(user_, headers);
    return headers;
  }

  StatusOr<std::string> Token() {
    if (!token_file_.path().empty()) {
      const StatusOr<std::string> text = token_file_.Read(loop_.clock().Now());
      if (text.ok() && IsToken(Trim(*text))) {
        return std::string(Trim(*text));
      }
      if (user_.token.empty()) {
        return FailedPrecondition(
            "{}", text.ok() ? fmt::format("{}: contains no token", token_file_.path())
                            : fmt::format("the token: {}", Message(text.status())));
      }
    }
    if (!user_.token.empty() && !IsToken(user_.token)) {
      return FailedPrecondition("the kubeconfig's token contains invalid characters");
    }
    return user_.token.empty() && UsesPlugin() && credential_ ? credential_->token : user_.token;
  }

  void RunPlugin() {
    const StatusOr<std::string> ca = Authority();
    const ExecSpec spec = user_.exec.value_or(ExecSpec{});
    run_ = ExecRun::Start(loop_,
                          {.spec = spec,
                           .info = ExecInfo(spec, cluster_, ca.ok() ? *ca : ""),
                           .environment = environment_},
                          [this](StatusOr<ExecCredential> credential) {
                            const std::unique_ptr<ExecRun> run = std::move(run_);
                            OnPlugin(std::move(credential));
                          });
  }

  void OnPlugin(StatusOr<ExecCredential> credential) {
    if (credential.ok()) {
      credential_ = *std::move(credential);
      is_credential_rejected_ = false;
      backoff_.Reset();
    } else {
      plugin_status_ = credential.status();
      // One that fails is not run for every request.
      const SteadyTime now = loop_.clock().Now();
      plugin_rests_until_ = now + backoff_.Next(now);
    }
    const Status status = credential.status();
    for (const Done& done : std::exchange(waiting_, {})) {
      done(status.ok() ? Headers() : StatusOr<http::Headers>(status));
    }
  }

  StatusOr<std::string> Authority() {
    return cluster_.ca_pem.empty() ? ca_file_.Read(loop_.clock().Now())
                                   : StatusOr<std::string>(cluster_.ca_pem);
  }

  StatusOr<tls::ClientOptions> ReadOptions() {
    const SteadyTime now = loop_.clock().Now();
    tls::ClientOptions options{.certificate_pem = user_.certificate_pem, .key_pem = user_.key_pem};
    ASSIGN_OR_RETURN(options.ca_pem, Authority());
    if (options.certificate_pem.empty()) {
      ASSIGN_OR_RETURN(options.certificate_pem, certificate_file_.Read(now));
    }
    if (options.key_pem.empty()) {
      ASSIGN_OR_RETURN(options.key_pem, key_file_.Read(now));
    }
    if (credential_ && !credential_->certificate_pem.empty()) {
      options.certificate_pem = credential_->certificate_pem;
      options.key_pem = credential_->key_pem;
    }
    return options;
  }

  // For errors: which files it may be.
  std::string SourcesText() const {
    std::vector<std::string> paths;
    for (const RereadFile* file : {&ca_file_, &certificate_file_, &key_file_}) {
      if (!file->path().empty()) {
        paths.push_back(file->path());
      }
    }
    return paths.empty() ? "the kubeconfig" : Join(paths, ", ");
  }

  EventLoop& loop_;
  const ClusterSpec cluster_;
  const UserSpec user_;
  const std::vector<std::string> environment_;
  RereadFile token_file_;
  RereadFile ca_file_;
  RereadFile certificate_file_;
  RereadFile key_file_;

  // Of the exec plugin:
  std::optional<ExecCredential> credential_;
  bool is_credential_rejected_ = false;
  std::unique_ptr<ExecRun> run_;
  std::vector<Done> waiting_;
  Status plugin_status_;
  SteadyTime plugin_rests_until_{};
  Backoff backoff_;

  Trust trust_;
  tls::ClientOptions used_;  // that trust_ was made of
  std::string reported_;     // what was logged last
};

Credentials::Credentials(EventLoop& loop, Random& random, const sys::Root& root,
                         ClusterSpec cluster, UserSpec user, std::vector<std::string> environment)
    : impl_(std::make_unique<Impl>(loop, random, root, std::move(cluster), std::move(user),
                                   std::move(environment))) {
}

Credentials::~Credentials() = default;

void Credentials::Authenticate(Done done) {
  impl_->Authenticate(std::move(done));
}

void Credentials::Reject() {
  impl_->Reject();
}

StatusOr<Trust> Credentials::CurrentTrust() {
  return impl_->CurrentTrust();
}

}  // namespace kgpu::kube
