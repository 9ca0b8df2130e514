#include "src/platform/net/tls/session.h"

#include <arpa/inet.h>
#include <openssl/err.h>

#include <algorithm>
#include <array>
#include <utility>

#include "src/platform/base/status_macros.h"
#include "src/platform/base/strings.h"
#include "src/platform/net/tls/context_impl.h"
#include "src/platform/net/tls/memory_bio.h"
#include "src/platform/net/tls/openssl.h"
#include "src/platform/net/tls/peer_error.h"
#include "src/platform/net/tls/protocols.h"

namespace kgpu::tls {
namespace {

bool IsAddress(const std::string& name) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  return inet_pton(AF_INET, name.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, name.c_str(), bytes.data()) == 1;
}

bool IsDnsName(std::string_view name) {
  return !name.empty() && name.size() <= 253 && name.find("..") == name.npos &&
         name.front() != '.' && std::ranges::all_of(name, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

// Whom the certificate must be for.
Status Expect(SSL* ssl, const std::string& server_name) {
  X509_VERIFY_PARAM* param = SSL_get0_param(ssl);
  X509_VERIFY_PARAM_set_hostflags(
      param, X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  bool is_set = false;
  if (IsAddress(server_name)) {
    is_set = X509_VERIFY_PARAM_set1_ip_asc(param, server_name.c_str()) == 1;
  } else if (IsDnsName(server_name)) {
    // An absolute name ends with a dot; certificates never do.
    std::string name = server_name;
    if (name.ends_with('.')) {
      name.pop_back();
    }
    is_set = X509_VERIFY_PARAM_set1_host(param, name.c_str(), name.size()) == 1 &&
             SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
  }
  return is_set ? OkStatus()
                : InvalidArgument("{}: not a valid server name for a certificate",
                                  Printable(server_name));
}

std::vector<std::string> EntriesOf(const X509_NAME* name, int kind) {
  std::vector<std::string> texts;
  for (int at = X509_NAME_get_index_by_NID(name, kind, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, kind, at)) {
    unsigned char* utf8 = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    if (size >= 0) {
      texts.emplace_back(reinterpret_cast<const char*>(utf8), static_cast<size_t>(size));
      OPENSSL_free(utf8);
    }
  }
  return texts;
}

}  // namespace

struct Session::Impl {
  explicit Impl(std::shared_ptr<const Context> session_context)
      : context(std::move(session_context)) {}

  Status Open() {
    ssl.reset(SSL_new(context->impl_->ssl.get()));
    StatusOr<BioPtr> bio = NewMemoryBio(context->impl_->bio.get(), memory);
    if (ssl == nullptr || !bio.ok()) {
      return ResourceExhausted("out of memory for a TLS connection");
    }
    BIO* both = bio->release();
    SSL_set_bio(ssl.get(), both, both);
    WatchVerification(ssl.get(), verification);
    return OkStatus();
  }

  // As far as it goes with what is there.
  Status Advance() {
    if (!is_open) {
      ERR_clear_error();
      const int result = SSL_do_handshake(ssl.get());
      if (result != 1) {
        return Blocked(result);
      }
      is_open = true;
      RETURN_IF_ERROR(FlushPending());
    }
    return ReadAll();
  }

  // OK when the session only waits for more bytes of the peer.
  Status Blocked(int result) {
    const int error = SSL_get_error(ssl.get(), result);
    if (error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE) {
      return OkStatus();
    }
    if (error == SSL_ERROR_ZERO_RETURN) {
      has_peer_closed = true;
      return OkStatus();
    }
    is_broken = true;
    return SessionError(verification);
  }

  Status ReadAll() {
    std::array<char, size_t{16} << 10>
        bytes;  // NOLINT(cppcoreguidelines-init-variables): SSL_read fills
    while (!has_peer_closed) {
      ERR_clear_error();
      const int count = SSL_read(ssl.get(), bytes.data(), static_cast<int>(bytes.size()));
      if (count <= 0) {
        return Blocked(count);
      }
      input.append(bytes.data(), static_cast<size_t>(count));
    }
    return OkStatus();
  }

  Status WriteNow(std::string_view text) {
    while (!text.empty()) {
      ERR_clear_error();
      const int count = SSL_write(ssl.get(), text.data(),
                                  static_cast<int>(std::min<size_t>(text.size(), 1 << 20)));
      if (count <= 0) {
        is_broken = true;
        return SessionError(verification);
      }
      text.remove_prefix(static_cast<size_t>(count));
    }
    return OkStatus();
  }

  Status FlushPending() { return WriteNow(std::exchange(pending, {})); }

  const std::shared_ptr<const Context> context;
  // These outlive ssl.
  MemoryBio memory;
  Verification verification;
  std::string protocols;  // what a server accepts
  SslPtr ssl;
  std::string input;
  std::string pending;  // written before the handshake was over
  bool is_open = false;
  bool has_peer_closed = false;
  bool is_broken = false;
};

StatusOr<std::unique_ptr<Session>> Session::ForClient(std::shared_ptr<const Context> context,
                                                      const std::string& server_name,
                                                      const std::vector<std::string>& protocols) {
  auto impl = std::make_unique<Impl>(std::move(context));
  RETURN_IF_ERROR(impl->Open());
  RETURN_IF_ERROR(Expect(impl->ssl.get(), server_name));
  impl->verification.server_name = server_name;
  if (!protocols.empty()) {
    ASSIGN_OR_RETURN(const std::string list, ProtocolList(protocols));
    RETURN_IF_ERROR(OfferProtocols(impl->ssl.get(), list));
  }
  SSL_set_connect_state(impl->ssl.get());
  RETURN_IF_ERROR(impl->Advance());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

StatusOr<std::unique_ptr<Session>> Session::ForServer(std::shared_ptr<const Context> context,
                                                      const std::vector<std::string>& protocols) {
  auto impl = std::make_unique<Impl>(std::move(context));
  RETURN_IF_ERROR(impl->Open());
  ASSIGN_OR_RETURN(impl->protocols, ProtocolList(protocols));
  AcceptProtocols(impl->ssl.get(), impl->protocols);
  SSL_set_accept_state(impl->ssl.get());
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {
}
Session::~Session() = default;

Status Session::Feed(std::string_view bytes) {
  if (impl_->is_broken) {
    return Unavailable("the TLS connection failed");
  }
  impl_->memory.input = bytes;
  Status status = impl_->Advance();
  impl_->memory.input = {};
  return status;
}

std::string Session::TakeInput() {
  return std::exchange(impl_->input, {});
}

Status Session::Write(std::string_view text) {
  if (impl_->is_broken) {
    return Unavailable("the TLS connection failed");
  }
  if (!impl_->is_open) {
    impl_->pending += text;
    return OkStatus();
  }
  return impl_->WriteNow(text);
}

void Session::Close() {
  // Within a handshake there is nothing to end.
  if (impl_->is_open && !impl_->is_broken) {
    ERR_clear_error();
    (void)SSL_shutdown(impl_->ssl.get());
    ERR_clear_error();
  }
}

std::string Session::TakeOutput() {
  return std::exchange(impl_->memory.output, {});
}

bool Session::is_open() const {
  return impl_->is_open && !impl_->is_broken;
}

bool Session::has_peer_closed() const {
  return impl_->has_peer_closed;
}

std::string Session::Protocol() const {
  return impl_->is_open ? AgreedProtocol(impl_->ssl.get()) : "";
}

std::optional<PeerName> Session::Peer() const {
  const X509* peer = impl_->is_open ? SSL_get0_peer_certificate(impl_->ssl.get()) : nullptr;
  if (peer == nullptr) {
    return std::nullopt;
  }
  const X509_NAME* subject = X509_get_subject_name(peer);
  std::vector<std::string> names = EntriesOf(subject, NID_commonName);
  return PeerName{.common_name = names.empty() ? "" : names.front(),
                  .organizations = EntriesOf(subject, NID_organizationName)};
}

}  // namespace kgpu::tls
